"""Which files of the package a call enters, and how often it goes from one to another.

A reader who follows an update has as many files open, and turns as many pages.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import tdo_plugin

PACKAGE = str(Path(tdo_plugin.__file__).parent)


@dataclass
class Entered:
    """What a call has entered.

    Attributes:
        files: of the package.
        functions: each as file and name.
        switches: calls from one file of the package into another; what lies between, such as
            torch's own calls of modules, does not count.
    """

    files: set[str] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    switches: int = 0


def entered(call: Callable[[], object]) -> Entered:
    """Run ``call`` and look at every function of the package that is entered in this thread."""
    seen = Entered()

    def caller(frame: FrameType | None) -> str | None:
        while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        return None if frame is None else frame.f_code.co_filename

    def look(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(PACKAGE):
            return
        seen.files.add(file.removeprefix(PACKAGE))
        seen.functions.add(
            (
                file,
                frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name,
            )
        )
        above = caller(frame.f_back)
        seen.switches += above is not None and above != file

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen
