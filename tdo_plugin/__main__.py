"""``python -m tdo_plugin`` runs ``tdo``."""

import sys

from tdo_plugin.cli import main

if __name__ == "__main__":  # worker processes import this file under another name
    sys.exit(main())
