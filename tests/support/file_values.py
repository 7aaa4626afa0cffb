"""Calls by which a value of a file could become code, a program or a place, in source text."""

import ast
from collections.abc import Iterator
from pathlib import Path

# What a call's last name says, by kind; names that are too common count with their owner alone.
KINDS = {
    "code execution": {"eval", "exec", "literal_eval", "builtins.compile"},
    "imports": {"__import__", "import_module", "import_user_module", "hub.load", "run_path"},
    "unpickling": {
        "torch.load", "pickle.load", "pickle.loads", "yaml.load", "np.load", "numpy.load",
        "dill.load", "joblib.load", "safe_load", "torch.jit.load",
    },
    "subprocesses": {"subprocess.run", "subprocess.call", "subprocess.check_output", "os.system",
                 "Popen", "os.popen", "os.execv"},
    "attribute lookup": {"getattr", "attrgetter", "methodcaller"},
    "file writes": {
        "makedirs", "mkdirs", "torch.save", "np.save", "SummaryWriter", "FileHandler",
        "torch_persistent_save", "copyfile", "shutil.move", "rmtree", "os.remove", "os.rename",
        "copy_from_local", "PathManager.copy", "PathManager.rm", "PathManager.rename",
    },
}  # fmt: skip
LAST = {listed.rpartition(".")[2] for names in KINDS.values() for listed in names} | {"open"}
WRITING = set("wax+")


def found(root: Path, but: Path | None = None) -> Iterator[tuple[str, str]]:
    """(kind, file below the package's parent) of each such call in a package, one folder aside."""
    for path in sorted(root.rglob("*.py")):
        if but in path.parents:
            continue
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        modules = {"cls"}  # names that import statements bind, and classes by way of ``cls``
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                modules |= {alias.asname or alias.name for alias in node.names}
        for node in nodes:
            if isinstance(node, ast.Call) and (kind := _kind(node, modules)):
                yield kind, path.relative_to(root.parent).as_posix()


def _kind(call: ast.Call, modules: set[str]) -> str | None:
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    if name not in LAST:
        return None
    if name == "open":
        return "file writes" if _writes(call) else None
    called = ast.unparse(call.func)
    for kind, names in KINDS.items():
        if any(called == listed or called.endswith(f".{listed}") for listed in names):
            return kind if _computed(kind, name, call, modules) else None
    return None


def _computed(kind: str, name: str, call: ast.Call, modules: set[str]) -> bool:
    """Whether the call takes what is not written out in the code."""
    if name == "eval":
        return isinstance(call.func, ast.Name)  # a model's eval() is its mode
    if name == "getattr":  # of a module or class; of other values it is a field
        owner = ast.unparse(call.args[0]) in modules
        return owner and not isinstance(call.args[1], ast.Constant)
    if kind == "imports" or name == "attrgetter":
        return not isinstance(call.args[0], ast.Constant)
    return True


def _writes(call: ast.Call) -> bool:
    mode = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    if not mode:
        return False
    return not isinstance(mode[0], ast.Constant) or bool(WRITING & set(str(mode[0].value)))
