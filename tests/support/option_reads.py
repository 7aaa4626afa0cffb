"""Which settings fairseq's commands read, by the source of what they reach."""

import ast
import functools
from pathlib import Path

import fairseq
import fairseq_cli
from support.data import PACKAGE

FAIRSEQ, COMMANDS = Path(fairseq.__file__).parent, Path(fairseq_cli.__file__).parent
# what all four commands reach of fairseq with this package's task and models
SHARED = (
    *("checkpoint_utils.py", "utils.py", "registry.py", "scoring/__init__.py"),
    *("tasks/__init__.py", "tasks/fairseq_task.py", "tasks/translation_multi_simple_epoch.py"),
    *("data/multilingual/*.py", "data/iterators.py", "data/data_utils.py"),
    *("distributed/utils.py", "models/__init__.py", "models/fairseq_model.py"),
    *("logging/progress_bar.py", "file_io.py", "file_utils.py", "quantization_utils.py"),
)
TRAINING = (
    *("trainer.py", "optim/*.py", "optim/lr_scheduler/*.py", "models/ema/*.py"),
    *("models/distributed_fairseq_model.py", "distributed/*.py", "criterions/fairseq_criterion.py"),
    *("criterions/label_smoothed_cross_entropy.py", "nan_detector.py"),
)
SEARCH = ("sequence_generator.py", "search.py", "sequence_scorer.py")
REACHED = {
    "train": (*SHARED, *TRAINING),
    "generate": (*SHARED, *SEARCH),
    "interactive": (*SHARED, *SEARCH),
    "validate": (*SHARED, "criterions/fairseq_criterion.py"),
}


@functools.cache
def reads_of(path: Path) -> frozenset[str]:
    """Names that a file reads of an object, by attribute, `getattr`, `get` or an index."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(attr=str(name), ctx=ast.Load()):
                names.add(name)
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, word, *_]):
                names |= _text(word)
            case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[word, *_]):
                names |= _text(word)
            case ast.Subscript(slice=word, ctx=ast.Load()):
                names |= _text(word)
            case ast.Compare(left=word, ops=[ast.In()]):
                names |= _text(word)
    return frozenset(names)


def _text(node: ast.expr) -> set[str]:
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


@functools.cache
def read_by(command: str) -> frozenset[str]:
    """Names that a command reads, in its own file, fairseq's or this package's."""
    files = [COMMANDS / f"{command}.py"]
    for pattern in REACHED[command]:
        matched = sorted(FAIRSEQ.glob(pattern))
        assert matched, pattern
        files += matched
    files += [*sorted(PACKAGE.rglob("*.py")), *sorted((PACKAGE.parent / "tdo_compat").glob("*.py"))]
    return frozenset().union(*map(reads_of, files))


def parsers() -> dict:
    """Each command's parser with all options of this package's task, models and criterions."""
    from fairseq import options

    names = ("training", "generation", "interactive_generation", "validation")
    made = [getattr(options, f"get_{name}_parser")() for name in names]
    by_command = dict(zip(REACHED, made, strict=True))
    task = ("data", "--task", "tdo_translation", "--max-tokens", "90")
    model = ("--arch", "tdo_transformer", "--optimizer", "adam", "--lr-scheduler", "inverse_sqrt")
    criterion = ("--criterion", "label_smoothed_cross_entropy_terms")
    for command, parser in by_command.items():
        more = (*model, *criterion) if command == "train" else ()
        options.parse_args_and_arch(parser, [*task, *more])
    return by_command


def strings_of(path: Path) -> list[str]:
    """The strings of a Python file, docstrings aside."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body for node in nodes if isinstance(node, kinds)]
    docs = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docs]
    return [node.value for node in constants if isinstance(node.value, str)]
