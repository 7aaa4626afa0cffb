"""Opening the models that are served, with the data folders that they need."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tdo_compat.errors import tell
from tdo_plugin.checkpoints import read
from tdo_plugin.data.databin import MARK, DataFolder, read_data_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.worker import Work
from tdo_plugin.metrics.language_id import Identifier, identifier
from tdo_plugin.serve.explained_translation import check_explicable
from tdo_plugin.serve.served_model import ServedModel
from tdo_plugin.text_settings import is_multilingual, pairs_of, task_options

AUTOMATIC = ("fasttext", "corpus", "langdetect")  # detectors in the order in which they are tried
NONE = "none"
OF_FOLDER = ("checkpoint_best.pt", "checkpoint_last.pt")  # of a training, in this order


def open_models(
    paths: Mapping[str, str],
    data: Path | None,
    options: DecodingOptions,
    device: str,
    lid: str = "auto",
    user_dir: Path | None = None,
) -> list[ServedModel]:
    """Load models.

    Args:
        paths: by name, a checkpoint, or the folder of a training, whose best one is taken.
        data: the data folder of all models; None: the one that each checkpoint was trained on.
        options: how to decode; its checkpoints are ignored.
        device: such as `cpu` or `cuda:0`.
        lid: the detector: `auto`, `none`, or a specification of `identifier`.
        user_dir: a further package to import.

    Raises:
        UserError: a missing checkpoint or data folder, or a model that cannot be explained.
    """
    checkpoints = {name: _checkpoint(path) for name, path in paths.items()}
    folders = {name: data or recorded_data(path) for name, path in checkpoints.items()}
    opened = {root: read_data_folder(root.resolve()) for root in set(folders.values())}
    detectors = {root: detector_of(lid, folder) for root, folder in opened.items()}
    models = []
    for name, checkpoint in checkpoints.items():
        folder = opened[folders[name]]
        work = Work(replace(options, checkpoints=(checkpoint,)), folder, folder.root, user_dir)
        translator = work.load(device).usual
        check_explicable(translator)
        trained = frozenset(pairs_of(read(checkpoint, "MODEL")))
        models.append(ServedModel(name, translator, trained, detectors[folders[name]]))
    return models


def recorded_data(checkpoint: Path) -> Path:
    """The data folder that a checkpoint was trained on, as it records.

    Raises:
        UserError: it is not of a multilingual task, or the folder is not there.
    """
    state = read(checkpoint, "MODEL")
    if not is_multilingual(state):
        raise UserError(f"`MODEL` must be of a multilingual task; {checkpoint} is not")
    recorded = str(getattr(task_options(state), "data", None) or "")
    root = Path(recorded.split(os.pathsep)[0])
    if not recorded or not (root / MARK).is_file():
        raise UserError(
            f"`--data` must name the data folder of {checkpoint}; it was trained on "
            f"{recorded or 'an unknown folder'}, which is not a data folder here"
        )
    return root


def detector_of(lid: str, data: DataFolder) -> Identifier | None:
    """The language detector, without any download; None if there is none.

    Raises:
        UserError: a named detector is not available.
    """
    if lid == NONE:
        return None
    if lid != "auto":
        return identifier(lid, data)
    for spec in AUTOMATIC:
        try:
            return identifier(spec, data)
        except UserError:
            continue
    return None


def _checkpoint(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        if not path.is_file():
            raise UserError(f"`MODEL` must be a checkpoint or a training's folder; {text} is not")
        return path.resolve()
    for name in OF_FOLDER:
        if (path / name).is_file():
            tell(f"{path}: {name}")
            return (path / name).resolve()
    raise UserError(f"`MODEL` must be a folder with {' or '.join(OF_FOLDER)}; {text} has neither")
