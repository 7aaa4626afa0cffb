"""The Python files of an exported folder: this package's own modules, side by side in one folder.

transformers loads a folder's code as one flat package. Names of files are unique in this package,
so that an import needs only its folders removed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import tdo_plugin

ROOT = Path(tdo_plugin.__file__).parents[1]
ROOM = "tdo_plugin.export.remote_code"
MAY_IMPORT = (ROOM, "tdo_plugin.modules")  # what an exported file may import of this package
COPIED = "if False:  # transformers loads and saves only those files that this one itself names\n"


class UnexportableError(ValueError):
    """A module imports this package in a form that a flat folder cannot have."""


def code_files(entries: Sequence[str], pipeline: str) -> dict[str, str]:
    """The text of each file by its name: the modules, and all that they import of this package.

    Args:
        entries: modules by full name, whose files transformers loads and saves.
        pipeline: a module that it loads, and saves only with those.

    Raises:
        UnexportableError: an import is not `from tdo_plugin.modules... import ...`.
    """
    closures = {entry: _closure(entry) | _closure(pipeline) for entry in entries}
    sources = {module: text for closure in closures.values() for module, text in closure.items()}
    files = {_name(module): _flattened(module, text) for module, text in sorted(sources.items())}
    if len(files) < len(sources):
        raise UnexportableError(f"two of these modules have the same name: {sorted(sources)}")
    for entry, closure in closures.items():
        files[_name(entry)] += _imports_of_all({*closure} - {entry})
    return {f"{name}.py": text for name, text in files.items()}


def _closure(entry: str) -> dict[str, str]:
    """The text of a module, and of all modules that it imports, directly or not."""
    pending, texts = [entry], dict[str, str]()
    while pending:
        module = pending.pop()
        if module not in texts:
            texts[module] = _path(module).read_text(encoding="utf-8")
            pending += [str(node.module) for node in _own_imports(module, texts[module])]
    return texts


def _own_imports(module: str, text: str) -> Iterator[ast.ImportFrom]:
    """The imports of this package in a module's text.

    Raises:
        UnexportableError: as :func:`code_files`.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["tdo_plugin" if node.level else str(node.module)]
        else:
            continue
        if not any(name.partition(".")[0] == "tdo_plugin" for name in names):
            continue
        exported = any(name.startswith(f"{room}.") for name in names for room in MAY_IMPORT)
        if not (isinstance(node, ast.ImportFrom) and exported and _path(names[0]).is_file()):
            raise UnexportableError(
                f"line {node.lineno} of {module} must import with `from` a file of "
                f"{' or '.join(MAY_IMPORT)}; it is {ast.unparse(node)}"
            )
        yield node


def _flattened(module: str, text: str) -> str:
    """The text with imports of this package made relative, below a line on its origin."""
    lines = text.splitlines(keepends=True)
    for node in _own_imports(module, text):
        line, before = lines[node.lineno - 1], f"from {node.module} "
        place = line.index(before)
        after = f"from .{_name(str(node.module))} "
        lines[node.lineno - 1] = line[:place] + after + line[place + len(before) :]
    path = _path(module).relative_to(ROOT).as_posix()
    return f"# {path} of tdo_plugin {tdo_plugin.__version__}, MIT licence\n{''.join(lines)}"


def _imports_of_all(modules: set[str]) -> str:
    names = sorted(map(_name, modules))
    imports = "".join(f"    from .{name} import __name__ as _\n" for name in names)
    return f"\n\n{COPIED}{imports}"


def _name(module: str) -> str:
    return module.rpartition(".")[2]


def _path(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")
