"""Opening the models that are served, with the data folders that they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tdo_compat.errors import tell
from tdo_plugin.checkpoints import read
from tdo_plugin.data.databin import DataFolder, read_data_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import resolve_one
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.loading import recorded_data
from tdo_plugin.evaluation.decoding.worker import Work
from tdo_plugin.metrics.language_id import Identifier, identifier
from tdo_plugin.serve.explained_translation import check_explicable
from tdo_plugin.serve.served_model import ServedModel
from tdo_plugin.text_settings import pairs_of

AUTOMATIC = ("fasttext", "corpus", "langdetect")  # detectors in the order in which they are tried
NONE = "none"


def open_models(
    paths: Mapping[str, str],
    data: Path | None,
    options: DecodingOptions,
    device: str,
    lid: str = "auto",
    average: str | None = None,
    user_dir: Path | None = None,
) -> list[ServedModel]:
    """Load models.

    Args:
        paths: by name, a checkpoint, or the folder of a training.
        data: the data folder of all models; None: the one that each checkpoint was trained on.
        options: how to decode; its checkpoints are ignored.
        device: such as `cpu` or `cuda:0`.
        lid: the detector: `auto`, `none`, or a specification of `identifier`.
        average: which checkpoints of a folder to average, such as `best-5`; see `resolve`.
        user_dir: a further package to import.

    Raises:
        UserError: a missing checkpoint or data folder, or a model that cannot be explained.
    """
    checkpoints = {name: resolve_one(path, average, tell, "MODEL") for name, path in paths.items()}
    states = {name: read(path, "MODEL") for name, path in checkpoints.items()}
    folders = {
        name: data or recorded_data(path, states[name]) for name, path in checkpoints.items()
    }
    opened = {root: read_data_folder(root.resolve()) for root in set(folders.values())}
    detectors = {root: detector_of(lid, folder) for root, folder in opened.items()}
    models = []
    for name, checkpoint in checkpoints.items():
        folder = opened[folders[name]]
        work = Work(replace(options, checkpoints=(checkpoint,)), folder, folder.root, user_dir)
        translator = work.load(device).usual
        check_explicable(translator)
        trained = frozenset(pairs_of(states[name]))
        models.append(ServedModel(name, translator, trained, detectors[folders[name]]))
    return models


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
