"""The Python files of an exported folder: the package's own modules with relative imports."""

import ast
import sys

import pytest

from tdo_plugin.export.remote_code import code_files as module
from tdo_plugin.export.remote_code.code_files import ROOM, UnexportableError, code_files

PIPELINE = f"{ROOM}.pipeline_tdo"
KINDS = ("configuration", "modeling", "m2m100", "tokenization")
FILES = code_files([f"{ROOM}.{kind}_tdo" for kind in KINDS], PIPELINE)
OUTSIDE = {"torch", "transformers", "sentencepiece", *sys.stdlib_module_names}


def imports(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (("", alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level, node.module.partition(".")[0]


@pytest.mark.parametrize("name", FILES)
def test_a_file_imports_only_others_and_public_libraries(name):
    compile(FILES[name], name, "exec")
    for dots, imported in imports(FILES[name]):
        if dots:
            assert dots == "." and f"{imported}.py" in FILES
        else:
            assert imported in OUTSIDE


def test_nothing_but_imports_is_changed():
    text = (module.ROOT / "tdo_plugin/modules/methods/adapters.py").read_text(encoding="utf-8")
    header, _, exported = FILES["adapters.py"].partition("\n")
    assert header.startswith("# tdo_plugin/modules/methods/adapters.py of tdo_plugin ")
    lines = zip(text.splitlines(), exported.splitlines(), strict=True)
    changed = {old: new for old, new in lines if old != new}
    residual = "from tdo_plugin.modules.layer import Residual"
    assert changed[residual] == "from .layer import Residual"
    assert all(old.startswith("from tdo_plugin.") for old in changed)


def test_entries_name_all_that_they_need():
    """transformers copies only what an entry itself names."""
    assert "position_generator.py" not in FILES
    others = {name.removesuffix(".py") for name in FILES}
    for entry, expected in (
        ("modeling_tdo", others - {"modeling_tdo", "tokenization_tdo", "m2m100_tdo"}),
        ("m2m100_tdo", {"generation_tdo", "pipeline_tdo"}),
    ):
        assert {name for dots, name in imports(FILES[f"{entry}.py"]) if dots} == expected


def test_other_imports_are_refused(tmp_path, monkeypatch):
    entry, path = tmp_path / "entry.py", module._path
    monkeypatch.setattr(module, "_path", lambda name: entry if name == "entry" else path(name))
    for line in (
        "import tdo_plugin.modules.spec",
        "from tdo_plugin.errors import UserError",
        "from tdo_plugin.modules import spec",
        "from .spec import ModelSpec",
    ):
        entry.write_text(f"{line}\n", encoding="utf-8")
        with pytest.raises(UnexportableError, match="line 1 of entry must import"):
            code_files(["entry"], PIPELINE)
