"""What systems of experiment files come to."""

from support.experiments import TEXT, document, plan

from tdo_plugin.experiments.library import setting_of


def flags(folder, name, scale="toy", **given):
    config = plan(folder, scale, **given).system(name).config(lambda expression, scope: None)
    return {flag.removeprefix("--"): " ".join(values) for flag, values in config.flags.items()}


def test_parts_come_one_after_the_other_and_then_the_scale(tmp_path):
    full = flags(tmp_path, "tdo", "full")
    assert full == {
        "task": "tdo_translation", "lr": "0.0005", "tdo-layers": "12", "tdo-target-layer": "6",
    }  # fmt: skip
    toy = flags(tmp_path, "tdo")
    assert (toy["tdo-layers"], toy["lr"], toy["max-update"]) == ("6", "0.01", "100")
    assert flags(tmp_path, "tdo", "smoke")["max-update"] == "2"  # the nearer scale


def test_conditions_come_last(tmp_path):
    assert flags(tmp_path, "tdo+instrucl")["lr"] == "0.02"
    assert flags(tmp_path, "tdo+instrucl", "smoke")["lr"] == "0.02"  # which is based on toy
    assert flags(tmp_path, "tdo+instrucl", "full")["lr"] == "0.0005"
    assert flags(tmp_path, "tdo+robt")["max-update"] == "200"
    assert flags(tmp_path, "tdo+robt", "full")["max-update"] == "600000"


def test_a_part_may_set_a_name_an_option_or_an_axis(tmp_path):
    assert flags(tmp_path, "tdo+N=5")["tdo-layers"] == "10"
    assert flags(tmp_path, "tdo+size=wide")["tdo-ffn-dim"] == "16"
    assert "instrucl-weighting" not in flags(tmp_path, "tdo+instrucl+losses=paper")
    assert flags(tmp_path, "tdo+instrucl+losses=authors", "full")["instrucl-weighting"]
    assert flags(tmp_path, "tdo+seed=7")["seed"] == "7"
    assert flags(tmp_path, "one+direction=en-de")["lang-pairs"] == "en-de"


def test_what_the_launcher_wants_is_no_flag(tmp_path):
    config = plan(tmp_path).system("base").config(lambda expression, scope: None)
    assert (config.gpus, config.precision, config.directions) == (8, "fp16", "*")


def test_what_is_gone_on_with_has_the_same_seed_and_options(tmp_path):
    setting = setting_of(document(tmp_path), "toy", {})
    assert setting.resolve("tdo+robt").before == "tdo"
    assert setting.resolve("tdo+instrucl+robt+N=4+seed=2").before == "tdo+instrucl+seed=2"
    name = "tdo+instrucl+masked+threshold=0.1+losses=paper"
    assert setting.resolve(name).before == "tdo+instrucl+losses=paper"
    assert setting.resolve("tdo").before is None


def test_names_that_every_system_has(tmp_path):
    setting = setting_of(document(tmp_path), "toy", {})
    template = "{scale} {system} {corpus} {seed} {before}"
    assert setting.resolve("tdo").scope.text(template) == "toy tdo text 1 None"
    name = "tdo+robt+seed=3"
    assert setting.resolve(name).scope.text(template) == f"toy {name} text 3 tdo+seed=3"


def test_updates(tmp_path):
    setting = setting_of(document(tmp_path), "toy", {})
    config = setting.with_updates(150).resolve("tdo").config(lambda *_: None)
    assert config.flags["--max-update"] == ["150"]


def test_what_is_refused(tmp_path, refused):
    setting = setting_of(document(tmp_path), "toy", {})
    with refused.raised("a name that there is not", names="unknown name each; known: "):
        setting.resolve("one").scope.text("{way}")
    for name in ("instruct", "size=huge", "depth=4"):
        with refused.raised(name, names=name.partition("=4")[0]):
            plan(tmp_path).system(f"tdo+{name}")
    for scale, form in (("full", "shared"), ("toy", "other")):
        with refused.raised(f"{form} at {scale}", names="--form"):
            setting_of(document(tmp_path), scale, {"form": form})
    with refused.raised("updates", names="50"):
        setting.with_updates(70)
    with refused.raised("updates at full", names="full"):
        setting_of(document(tmp_path), "full", {}).with_updates(50)
    for key, value, names in (  # none imports code, none ends a line
        ("user-dir", "evil", "--user-dir"),
        ("user-dir=evil", "x", "--user-dir"),
        ("clip-norm", "1\\r--user-dir evil", "--clip-norm"),
    ):
        text = TEXT.replace("[systems.base]", f'[systems.base]\nflags."{key}" = "{value}"')
        with refused.raised(key, names):
            setting_of(document(tmp_path, text), "toy", {}).resolve("tdo").config(lambda *_: None)
