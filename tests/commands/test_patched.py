"""fairseq is patched in processes that Python or torch starts, and by a package's name."""

import pytest

from tdo_compat import registry

WORKERS = """
import sys
import torch

class Status(torch.utils.data.Dataset):
    def __len__(self):
        return 1
    def __getitem__(self, index):
        import fairseq.trainer, fairseq_cli.eval_lm, fairseq_cli.hydra_train, fairseq_cli.train
        from tdo_compat import registry
        from fairseq.models.transformer import TransformerConfig
        applied = {row["name"] for row in registry.overview() if row["status"] == "applied"}
        return len(applied)

if __name__ == "__main__":
    for context in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(
            Status(), num_workers=1, multiprocessing_context=context
        )
        print(context, int(next(iter(loader))))
"""


def test_spawned_and_data_loader_workers_are_patched(run, tmp_path):
    (tmp_path / "workers.py").write_text(WORKERS)
    done = run("python", tmp_path / "workers.py", cwd=tmp_path)
    here = [patch for patch in registry.PATCHES if patch.name != "torchrun-ending"]
    applied = str(sum(patch.needed() for patch in here))
    expected = [f"{kind} {applied}" for kind in ("fork", "spawn")]
    assert done.stdout.splitlines() == expected, done.stderr


def test_the_user_dir_may_be_a_packages_name(run, tmp_path):
    words = ["--user-dir", "tdo_plugin", "--arch", "tdo_transformer", "--tdo-layers", "x"]
    done = run("fairseq-train", "data", *words, cwd=tmp_path)
    assert "argument --tdo-layers: invalid int value: 'x'" in done.stderr
    done = run("fairseq-train", "--user-dir", "no_such_plugin", cwd=tmp_path)
    expected = "`--user-dir` must be a folder or an installed package; no_such_plugin is neither"
    assert done.stderr == f"error: {expected}\n"


@pytest.mark.full
def test_a_second_package_of_the_name_is_one_line(run, tmp_path):
    (tmp_path / "tdo_plugin").mkdir()
    (tmp_path / "tdo_plugin" / "__init__.py").write_text("")
    code = "import tdo_plugin, argparse, fairseq.utils as utils; "
    package = str(tmp_path / "tdo_plugin")
    code += f"utils.import_user_module(argparse.Namespace(user_dir={package!r}))"
    done = run("python", "-c", code, cwd=tmp_path.parent)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "`--user-dir` must be the tdo_plugin that is already imported, " in lines[0]
    assert lines[0].endswith(f"it is {tmp_path / 'tdo_plugin'}")
