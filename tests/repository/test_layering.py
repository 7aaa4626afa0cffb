"""Imports go down only, and the models' parts know nothing of fairseq."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "tdo_plugin"
# a room may import from the rooms named, and from itself
ALLOWED = {
    "modules": "",
    "optim": "",
    "analysis": "modules neuron_files validation_file errors names",
    "models": "modules neuron_files errors names",
    "criterions": "models modules errors names",
    "tasks": "costs models modules metrics data runtime checkpoints text_settings errors names",
    "runtime": "typed errors names",
    "data": "runtime typed errors names",
    "metrics": "data runtime typed errors names",
    "corpora": "metrics data runtime typed errors names",
    "evaluation": "models modules metrics launch data runtime checkpoints text_settings "
    "neuron_files validation_file typed errors names",
    "pretrained": "tasks models modules metrics data runtime checkpoints text_settings typed "
    "errors names",
    "export": "corpora evaluation pretrained models modules metrics data runtime checkpoints "
    "text_settings typed errors",
    "launch": "data runtime typed errors names",
    "costs": "analysis criterions models modules launch runtime errors",
    "start": "corpora metrics costs launch data runtime typed errors names",
    "recording": "evaluation analysis launch data runtime checkpoints validation_file typed errors",
    "serve": "evaluation analysis models modules metrics data checkpoints text_settings errors",
    "experiments": "costs evaluation metrics launch data runtime installation typed errors names",
}


def imported(path):
    """Every module that a file names in an import, wherever in the file it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_imports_go_down(room):
    files = sorted((PACKAGE / room).rglob("*.py"))
    assert files
    for path in files:
        for name in imported(path):
            parts = name.split(".")
            if parts[0] == "tdo_plugin" and len(parts) > 1:
                allowed = {*ALLOWED[room].split(), room}
                assert parts[1] in allowed, f"{path.name} imports {name}"
            assert parts[0] != "fairseq" or room not in ("modules", "analysis"), path.name


def test_importing_the_package_leaves_fairseq_alone(run):
    """What is imported for the help of `tdo` is checked in cli/test_main.py."""
    code = (
        "import sys, tdo_plugin.modules.builder, tdo_plugin.data, tdo_plugin.evaluation; "
        "print('fairseq' in sys.modules)"
    )
    assert run("python", "-c", code).stdout == "False\n"


def test_tests_share_what_is_in_support():
    """No test depends on another's file, so that each kind runs, and is moved, alone."""
    tests = Path(__file__).parents[1]
    others = {"support", "data", "__pycache__"}
    kinds = {path.name for path in tests.iterdir() if path.is_dir()} - others
    assert kinds == {"unit", "parity", "rehearsal", "repository", "commands", "tables"}
    for path in sorted(tests.rglob("*.py")):
        assert not kinds & {name.split(".")[0] for name in imported(path)}, path


def modules_of(*packages):
    """Every module of packages beside the tests, by name, with its file."""
    for package in packages:
        for path in sorted((PACKAGE.parent / package).rglob("*.py")):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def run_imports(path):
    """As :func:`imported`, each name of a package in full, but for what types alone need."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types = [
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if node not in types)
        elif isinstance(node, ast.ImportFrom) and node.module and node not in types:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module


def test_no_circle():
    """Whoever follows imports, those inside of functions too, never comes back."""
    files = dict(modules_of("tdo_plugin", "tdo_compat"))
    graph = {}
    for name, path in files.items():
        # a package's own file is entered with each of its modules, which says nothing
        names = {module for module in run_imports(path) if module in files and module != name}
        packages = {module for module in names if files[module].name == "__init__.py"}
        inner = {module.rpartition(".")[0] for module in names}
        graph[name] = names - (packages & inner)
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_what_stands_beside_the_package_needs_nothing_of_it():
    for name, path in modules_of("tdo_compat"):
        above = [module for module in run_imports(path) if module.split(".")[0] == "tdo_plugin"]
        assert not above, f"{name} imports {above}"
