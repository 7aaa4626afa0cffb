"""The scripts of the TLM paper's tables: rows, commands, refusals, a few updates of all."""

import re
from pathlib import Path

import pytest
from integration.table_scripts import make_clone, script, shown, trained

from tdo_plugin.evaluation.published import published

ROWS = {"tlm_table6.sh": "6", "tlm_table8.sh": "8"}
SCALES = ("toy", "multi30k", "full")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clone(tmp_path_factory.mktemp("a clone"))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ROWS)
def test_rows_are_those_of_the_paper_in_its_order(clone: Path, name: str, scale: str) -> None:
    table = next(one for one in published("tlm").tables if one.table == ROWS[name])
    commands = shown(clone, name, scale)
    (score,) = (words for words in commands if words[0] == "score")
    named = [word.partition("=")[0] for word in score[1 : score.index("--data")]]
    assert named == [row.name for row in table.rows]
    assert score[score.index("--protocol") + 1] == "tlm"
    assert score[score.index("--baseline") + 1] == named[0]
    (report,) = (words for words in commands if words[0] == "report")
    assert report[-1] == f"tlm:{ROWS[name]}"


def test_configs_are_rows(clone: Path) -> None:
    folder = clone / "configs" / "tlm-tables"
    configs = {path.relative_to(folder).as_posix() for path in folder.rglob("*.conf")}
    found = set()
    for name in ROWS:
        for flags in trained(clone, shown(clone, name, "toy")).values():
            found.add(flags["config"].removeprefix("tlm-tables/"))
    left = {name for name in configs - found if not name.startswith("scales/")}
    # tables 7 and 9
    assert left == {"tlm.conf", "mono/encoder-decoder.conf", "mono/encoder-only.conf"}


@pytest.mark.parametrize("scale", ["toy", "multi30k"])
def test_small_scales_keep_the_paper_s_ratios(clone: Path, scale: str) -> None:
    """As many parameters in the encoder-decoder as in the TLM of 15 layers; others in order."""
    systems = trained(clone, shown(clone, "tlm_table6.sh", scale))
    layers = {name: flags.get("--tdo-layers") for name, flags in systems.items()}
    assert list(layers.values()) == [None, "2", "3", "5", "7"]
    base = systems["de-en/encoder-decoder"]
    assert (base["--tdo-encoder-layers"], base["--tdo-decoder-layers"]) == ("2", "2")
    for flags in systems.values():
        assert int(flags["--tdo-ffn-dim"]) == 2 * int(flags["--tdo-model-dim"])
        assert flags["--lang-pairs"] == "de-en"
        updates = int(flags["--max-update"])
        assert updates % int(flags["--validate-interval-updates"]) == 0


def test_the_paper_s_sizes(clone: Path) -> None:
    output = script(clone, "tlm_table6.sh", "full", "--dry-run").stdout
    counts = re.findall(r"tlm-tables/\S+ +([\d.]+)M", output)
    wanted = [row.values[0] for row in published("tlm").tables[4].rows]
    # of a vocabulary of 10,000, to which the paper's adds some (notes of its table)
    assert [float(one) for one in counts] == pytest.approx(wanted, abs=0.35)
    growth = [b - a for a, b in zip(map(float, counts[1:]), map(float, counts[2:]), strict=False)]
    assert growth == pytest.approx([10.5] * 3, abs=0.11)
    assert float(counts[0]) == float(counts[3])


@pytest.mark.parametrize("name", ROWS)
def test_smoke(clone: Path, name: str) -> None:
    """Two updates of every row; then nothing is left to do."""
    script(clone, name, "--smoke")
    again = script(clone, name, "--smoke").stdout
    assert again.count("is trained already") == len(trained(clone, shown(clone, name, "--smoke")))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["huge"], "the scale must be toy, multi30k or full; it is huge"),
        (["--rows", "de-en/6-layers"], "`--rows` must be of de-en/encoder-decoder"),
        (["--updates", "100"], "`--updates` must be a multiple of 250; it is 100"),
        (["--seeds", "3"], "`--seeds` is not an option of this script"),
        (["full", "--smoke"], "`--smoke` must come with the scale toy; it is full"),
    ],
)
def test_refused(clone: Path, words: list[str], message: str) -> None:
    said = script(clone, "tlm_table6.sh", *words, code=1).stderr
    assert message in said
