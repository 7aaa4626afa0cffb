"""The comparison of kernels for 8-bit integers."""

import runpy
import sys

import pytest
from support.configs import ROOT

from tdo_plugin.modules import int8_products


@pytest.mark.skipif(not int8_products.is_available(), reason="torch lacks FBGEMM here")
def test_the_table(monkeypatch, capsys):
    words = ["int8_kernels.py", "--outputs", "8", "16", "--tokens", "1", "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", words)
    runpy.run_path(str(ROOT / "benchmarks/int8_kernels.py"), run_name="__main__")
    head, line, *rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[:2] for row in rows] == [["| 8", "1"], ["| 16", "1"]]
    assert {text.count("|") for text in (head, line, *rows)} == {6}
