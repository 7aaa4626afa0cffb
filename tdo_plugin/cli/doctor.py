"""``tdo doctor``: what is installed, what is wrong, and the exact line that fixes it."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib import import_module, metadata
from xml.parsers import expat

from tdo_compat import registry
from tdo_plugin import __version__, installation
from tdo_plugin.installation import COMET, FAIRSEQ, STARTUP
from tdo_plugin.runtime.log_lines import without_log_lines

HELP = "say what is installed, what is wrong, and the exact line that fixes it"
EXAMPLE = "tdo doctor"

# what the list of the extra `eval` does not name: COMET, which comes without its pins, and what
# SacreBLEU's extras bring for Japanese and Korean
BESIDE_EVAL = (COMET, "mecab-python3", "mecab-ko")
# The first without a known fault, as of November 2026: CVE-2026-82049 (tarfile), CVE-2025-8291
# (zipfile) and older ones; CVE-2026-56403 to CVE-2026-56408 (expat).
SAFE_PATCH_LEVELS = {
    (3, minor): (3, minor, patch) for minor, patch in ((10, 22), (11, 17), (12, 15), (13, 16))
}
SAFE_EXPAT = (2, 8, 2)
EXTENSIONS = ("fairseq.data.data_utils_fast", "fairseq.data.token_block_utils_fast")


@dataclass
class Check:
    """One finding. ``status``: ``ok``, ``warn`` (usable) or ``wrong``; ``fix``: a command line."""

    name: str
    status: str
    detail: str
    fix: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tdo doctor``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def check_python(version: tuple[int, int] = sys.version_info[:2]) -> Check:
    """Whether this Python version is supported."""
    detail = f"{sys.version.split()[0]} ({sys.executable})"
    if (3, 10) <= version <= (3, 13):
        return Check("python", "ok", detail)
    return Check("python", "wrong", f"{detail}; it must be one from 3.10 to 3.13")


def check_parsers(
    version: tuple[int, int, int] = sys.version_info[:3],
    xml: tuple[int, int, int] = expat.version_info,
) -> Check:
    """Whether Python's parsers of archives and XML, which `tdo prepare` uses, have known faults."""
    least = SAFE_PATCH_LEVELS.get(version[:2], version)
    faults = [
        f"{name} below {'.'.join(map(str, safe))}"
        for name, found, safe in (
            (f"tarfile and zipfile of Python {version[0]}.{version[1]}", version, least),
            ("expat", xml, SAFE_EXPAT),
        )
        if found < safe
    ]
    if not faults:
        return Check("archives and XML", "ok", f"expat {'.'.join(map(str, xml))}")
    detail = f"known security faults, unless your system has mended them: {'; '.join(faults)}"
    return Check("archives and XML", "warn", f"{detail} (`tdo prepare` reads archives and TMX)")


def check_plugin() -> Check:
    """How this package is installed, and where the files are that it carries."""
    place = f"{installation.kind()}, files in {installation.FILES}"
    again = installation.install_again()
    try:
        version = metadata.version("tdo_plugin")
    except metadata.PackageNotFoundError:
        return Check("tdo_plugin", "wrong", f"is not installed ({place})", again)
    if version == __version__:
        return Check("tdo_plugin", "ok", f"{version} ({place})")
    detail = f"{__version__}, installed as {version}, whose requirements may differ ({place})"
    return Check("tdo_plugin", "warn", detail, again)


def check_requirements() -> list[Check]:
    """One check for each package that ``pyproject.toml`` requires, without extras."""
    return [check_requirement(line) for line in _requirements() if _applies(line)]


def requirements_of(extra: str) -> list[str]:
    """What an extra of this package requires."""
    pattern = re.compile(rf"extra == .{extra}\b")
    return [line.split(";")[0].strip() for line in _requirements() if pattern.search(line)]


def _requirements() -> list[str]:
    try:
        return metadata.requires("tdo_plugin") or []
    except metadata.PackageNotFoundError:
        return []


def _applies(line: str) -> bool:
    """Whether a requirement applies to this Python and does not belong to an extra."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return "extra ==" not in line  # `check_requirement` reports that packaging is missing
    marker = Requirement(line).marker
    return marker is None or marker.evaluate({"extra": ""})


def check_requirement(line: str) -> Check:
    """Whether the installed version of one package is in the range of its requirement."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        fix = installation.line("pip", "install", "packaging")
        return Check("packaging", "wrong", "is not installed", fix)
    requirement = Requirement(line)
    fix = installation.line("pip", "install", f"{requirement.name}{requirement.specifier}")
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Check(requirement.name, "wrong", "is not installed", fix)
    if requirement.specifier.contains(version, prereleases=True):
        return Check(requirement.name, "ok", version)
    detail = f"{version} is installed, it must be {requirement.specifier}"
    return Check(requirement.name, "wrong", detail, fix)


def missing_of_evaluation() -> list[Check]:
    """The packages of the evaluation that are not installed in a version that is required."""
    checks = map(check_requirement, (*requirements_of("eval"), *BESIDE_EVAL))
    return [check for check in checks if check.status != "ok"]


def check_evaluation() -> Check:
    """Whether the packages for BERTScore, COMET and the language detectors are installed.

    Training, decoding, BLEU, chrF++ and TER work without them, so the status is never `wrong`.
    """
    faults = [f"{check.name} {check.detail}" for check in missing_of_evaluation()]
    if not faults:
        count = len(requirements_of("eval")) + len(BESIDE_EVAL)
        return Check("evaluation", "ok", f"complete: {count} packages, {COMET}")
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    fix = installation.line("tdo", "setup", "--eval")
    return Check("evaluation", "warn", f"incomplete: {faults[0]}{more}", fix)


def check_device() -> Check:
    """The device, its number formats, and torch's fused attention kernels on it."""
    try:
        import torch
    except ImportError as error:
        fix = installation.line("pip", "install", "torch")
        return Check("device", "wrong", f"torch cannot be imported: {error}", fix)
    if not torch.cuda.is_available():
        kernels = "fused attention: flash, without attention dropout; bf16: yes; fp16: slow"
        return Check("device", "ok", f"CPU, {torch.get_num_threads()} threads; {kernels}")
    capability = torch.cuda.get_device_capability()
    fused = ["memory-efficient"] if capability >= (5, 0) else []
    fused += ["flash"] if capability >= (8, 0) else []
    bf16 = "yes" if capability >= (8, 0) else "no"
    fp16 = "yes" if capability >= (7, 0) else "slow"
    name = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}"
    attention = " and ".join(fused) or "none"
    return Check(
        "device", "ok", f"{name}; fused attention: {attention}; bf16: {bf16}; fp16: {fp16}"
    )


def check_patches() -> Check:
    """Whether a fresh Python loads the patches by itself, as ``fairseq-train`` needs."""
    code = "import sys; sys.exit('tdo_compat.patches' not in sys.modules)"
    fresh = subprocess.run([sys.executable, "-c", code], cwd="/", check=False)
    if fresh.returncode == 0:
        return Check("patches at start-up", "ok", f"{STARTUP} is active")
    detail = f"{STARTUP} is not in site-packages (a folder on PYTHONPATH runs no .pth)"
    return Check("patches at start-up", "wrong", detail, installation.line("tdo", "setup"))


def check_compiler() -> Check:
    """Whether a C++ compiler is installed, which building fairseq requires."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler:
        return Check("C++ compiler", "ok", compiler)
    detail = "not found; fairseq is compiled with one (the line is for Debian and Ubuntu)"
    return Check("C++ compiler", "warn", detail, "apt-get install g++")


def is_pinned(requirement: str) -> bool:
    """Whether a package is installed in the one version that a requirement names."""
    name, _, version = requirement.partition("==")
    try:
        return metadata.version(name) == version
    except metadata.PackageNotFoundError:
        return False


def check_fairseq() -> list[Check]:
    """Whether fairseq 0.12.2 is installed, can be imported, and has its compiled modules."""
    fix = installation.line("tdo", "setup")
    try:
        version = metadata.version("fairseq")
    except metadata.PackageNotFoundError:
        return [Check("fairseq", "wrong", "is not installed", fix)]
    if not is_pinned(FAIRSEQ):
        detail = f"{version} is installed, it must be {FAIRSEQ}"
        return [Check("fairseq", "wrong", detail, fix)]
    named = {module for patch in registry.PATCHES for module in patch.modules}
    try:
        with without_log_lines(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # hydra, of fairseq-hydra-train
            for module in ("fairseq", *sorted(named - {registry.EVERYWHERE})):
                import_module(module)
    except Exception as error:
        detail = f"{version} cannot be imported: {type(error).__name__}: {error}"
        # a package that fairseq imports has a finding of its own
        foreign = isinstance(error, ModuleNotFoundError) and not str(error.name).startswith(
            "fairseq"
        )
        return [Check("fairseq", "wrong", detail, "" if foreign else fix)]
    checks = [Check("fairseq", "ok", version)]
    for name in EXTENSIONS:
        try:
            import_module(name)
            checks.append(Check(name, "ok", "compiled"))
        except ImportError as error:
            checks.append(Check(name, "wrong", str(error), fix))
    return checks


def examine() -> list[Check]:
    """All checks, in the order in which they should be fixed."""
    fairseq = check_fairseq()
    compiler = [check_compiler()] if any(check.fix for check in fairseq) else []
    checks = [
        check_python(),
        check_parsers(),
        check_plugin(),
        *check_requirements(),
        *compiler,
        *fairseq,
    ]
    checks += [check_evaluation(), check_device(), check_patches()]
    return [*_in_an_image(checks)] if installation.kind() == installation.DOCKER else checks


def _in_an_image(checks: list[Check]) -> Iterator[Check]:
    """The same findings; what is installed in a container goes with it, so the image is built."""
    for check in checks:
        build = installation.build_image(evaluation=check.name == "evaluation")
        yield replace(check, fix=build if check.fix else "")


def show(check: Check) -> None:
    """Print a finding."""
    print(f"{check.status:5}  {check.name:30}  {check.detail}")
    if check.fix:
        print(f"{'':5}  {'':30}  fix it with: {check.fix}")


def run(args: argparse.Namespace) -> int:
    """Print all findings; returns 0 if nothing is wrong, else 1."""
    checks, rows = examine(), registry.overview()
    fine = all(check.status != "wrong" for check in checks)
    if args.json:
        report = {"ok": fine, "checks": [asdict(check) for check in checks], "patches": rows}
        print(json.dumps(report, indent=2))
        return 0 if fine else 1
    for check in checks:
        show(check)
    print("\npatches of fairseq (what breaks, since when):")
    for patch in rows:
        print(f"{patch['status']:10}  {patch['name']:20}  {patch['breaks']} ({patch['since']})")
    print("\nall is well" if fine else "\nsomething is wrong: see the lines marked above")
    return 0 if fine else 1
