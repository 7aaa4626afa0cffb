"""A folder is made again when the code that made it changes, and not when other code does."""

from support.made import ROOT, code_of


def test_code_of_a_training() -> None:
    code = {str(path.relative_to(ROOT)) for path in code_of(ROOT / "tests/support/data.py")}
    for name in (
        "tdo_plugin/registration.py",
        "tdo_plugin/models/tdo_transformer.py",
        "tdo_plugin/tasks/robt/hook.py",  # imported in a function
        "tdo_compat/patches.py",
        "tests/support/made.py",
        "scripts/setup.sh",
    ):
        assert name in code
    assert not any(name.startswith(("tdo_plugin/serve", "tdo_plugin/start")) for name in code)
    of_a_command = code_of(ROOT / "tests/support/prepared.py")  # says "preprocess" to `tdo`
    assert ROOT / "tdo_plugin/cli/preprocess.py" in of_a_command
    assert ROOT / "tdo_plugin/data/grammar/de.py" in of_a_command  # imported by its name
