"""Commands that take a config take a system of experiments."""

from support.configs import ROOT
from support.prepared import prepared

from tdo_plugin.cli import main


def flags(capsys, *words):
    assert main(["flags", *words]) == 0
    return set(capsys.readouterr().out.splitlines())


def test_the_flags_of_a_system(capsys):
    shown = flags(capsys, "quickstart/tdo-instrucl+M=1", "--scale", "smoke")
    assert {"# gpus 1", "--tdo-target-layer 1", "--instrucl-temperature 0.1"} <= shown


def test_it_is_trained_and_inspected_with(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = str(prepared().root)
    words = [data, "--cpu", "--dry-run", "--scale", "toy"]
    assert main(["train", "quickstart/tdo-instrucl", *words, "--lr", "0.5"]) == 0
    command = capsys.readouterr().out.splitlines()[-1]
    assert command.endswith("--lr 0.5") and "--instrucl-weight 0.3" in command
    assert f"--save-dir {tmp_path}/checkpoints/quickstart-tdo-instrucl " in command
    assert main(["inspect", data, "--config", "quickstart/tdo", "--batches", "1"]) == 0


def test_under_slurm_the_system_has_its_place_and_its_scale(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "configs" / "experiments")
    words = ["--slurm", "--cpu", "--dry-run", "--save-dir", str(tmp_path)]
    assert main(["train", "quickstart.toml/tdo", str(prepared().root), *words]) == 0
    script = capsys.readouterr().out
    assert f"train {ROOT}/configs/experiments/quickstart.toml/tdo " in script
    assert "--scale toy" in script and "#SBATCH --job-name=quickstart-tdo\n" in script


def test_what_only_a_run_makes_is_to_be_given(capsys):
    name = "tdo/m2m-418m/tdo+adaptation"
    why = "has {made.converted}/model.pt, which tdo reproduce tdo makes"
    assert f"# --finetune-from-model must be given: it {why}" in flags(capsys, name)
    for system in (name, "neurons/many-to-many/multilingual+continued"):
        words = ["train", system, str(prepared().root), "--cpu", "--dry-run"]
        assert main([*words, "--finetune-from-model=model.pt"]) == 0
    assert main(["estimate", name]) == 0
    assert f" {name} " in capsys.readouterr().out


def test_what_is_refused(refused):
    refused.rows(
        """
        train tdo/m2m-418m/tdo+adaptation {data} --cpu --dry-run :: --finetune-from-model
        train neurons/many-to-many/multilingual+continued {data} --cpu --dry-run
            --restore-file model.pt         :: --finetune-from-model
        flags quickstart/x                  :: x
        train quickstart/x data --cpu       :: x
        estimate quickstart/x               :: x
        """,
        data=prepared().root,
    )


def test_estimates_know_what_the_corpus_says(capsys):
    assert main(["estimate", "neurons/many-to-many/multilingual"]) == 0
    words = capsys.readouterr().out.splitlines()[1].split()
    assert words == ["1", "neurons/many-to-many/multilingual", "64.7M", "15,636", "0.8", "2.4"]
    assert main(["estimate", "neurons/many-to-many/multilingual", "--vocab-size", "64000"]) == 0
    assert " 76.9M " in capsys.readouterr().out
