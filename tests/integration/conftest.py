"""Fixtures of the tests that need no training."""

import pytest
from integration.configs import data_folder

from tdo_plugin.data.databin import DataFolder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """What a command's text needs of a data folder."""
    return data_folder(tmp_path_factory.mktemp("data"))
