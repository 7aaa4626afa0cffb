"""Files of exported folders: JSON, weights, truecasing models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from tdo_plugin.pretrained.hugging_face import CONFIG, WEIGHTS
from tdo_plugin.runtime.files import replaced, write_text


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object."""
    write_text(path, [json.dumps(content, indent=1, ensure_ascii=False)])


def write_model_files(
    folder: Path, configuration: Mapping[str, Any], parameters: Mapping[str, Tensor]
) -> None:
    """Write configuration and weights to an existing folder."""
    from safetensors.torch import save_file

    write_json(folder / CONFIG, configuration)
    with replaced(folder / WEIGHTS) as unfinished:
        save_file(dict(parameters), unfinished, {"format": "pt"})
        shutil.copymode(folder / CONFIG, unfinished)  # safetensors lets only the owner read
