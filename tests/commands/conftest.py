"""Fixtures that several files share."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def translate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """`tdo translate` on the prepared folder, the model's workers in processes of their own."""
    from support.commands import told
    from support.prepared import prepared

    def run(*words: object, stdin: str = "", code: int = 0) -> tuple[str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        return told(capsys, "translate", prepared().root, "--cpu", *words, code=code)

    return run


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """All directions, translated by two workers; the folder, and what the command said."""
    from support.translating import started

    out = tmp_path_factory.mktemp("translated")
    process = started("--out", out, "--workers", "2")
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return out, errors


@pytest.fixture(scope="module")
def models() -> list[Any]:
    """Two models to serve."""
    from support.served import two_models

    return two_models()


@pytest.fixture(scope="module")
def server(models: list[Any]) -> Iterator[Any]:
    """A server of them, without limits that a test would reach."""
    from support.served import served

    with served(models) as running:
        yield running


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The config of a small training."""
    path = tmp_path / "small.conf"
    path.write_text("--task tdo_translation\n", encoding="utf-8")
    return path
