"""``python -m tdo_plugin`` is ``tdo``."""

import sys

from tdo_plugin.cli import main

sys.exit(main())
