"""Every configuration composes and names things that exist; faults name the key and the allowed values."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import OmegaConf

from core.configs import CONFIGS
from core.errors import SettingError
from experiments.contracts import Outcome
from experiments.runner.configuration import (
    check_targets,
    complete_experiment,
    compose_run,
    expand_sweep,
    list_files,
)
from experiments.runner.execution import name_recipe
from experiments.runner.words import as_settings, descriptions, group_options

OPTIONS = group_options([CONFIGS])
TOY = Path(__file__).parents[1] / "toy"
SCORE = ["+exp=score", "metric=word_count", "data.path=in.jsonl", "output=out.jsonl"]
AGREE = ["+exp=meta_eval", "data.path=in.jsonl"]
RECIPES = {"fed": "cdm_dialogue", "commongen": "cdm_commongen", "songci": "guided_poetry"}
RECIPES |= {"ctrleval": "ctrleval_sentiment"}
CHECKED = ("data", "metric", "trainer", "logger")  # groups whose options do not depend on one another
POEMS = ("guided_poetry", "oumg_poetry")  # no open model writes Song Ci, so there is no scale=pretrained
SCALED = [
    (e, s) for e, s in itertools.product(OPTIONS["exp"], OPTIONS["scale"]) if (s, e in POEMS) != ("pretrained", True)
]
CHOICES = [
    *([f"+exp={e}", f"scale={s}"] for e, s in SCALED),
    *(
        ["+exp=score", *(f"{group}={name}" for group, name in zip(CHECKED, names, strict=True) if name)]
        for names in itertools.zip_longest(*(OPTIONS[group] for group in CHECKED))
    ),
    *([f"+exp={each}", f"+recipe={name}"] for name, each in RECIPES.items()),
    *(["+exp=score", f"+sweep={name}"] for name in OPTIONS["sweep"]),
]


@pytest.mark.parametrize("choices", CHOICES, ids=" ".join)
def test_every_choice_composes_and_every_target_takes_its_settings(choices: list[str]) -> None:
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = compose("run", choices)
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    complete_experiment({str(key): value for key, value in plain.items()})
    for part in CHECKED:
        check_targets(plain.get(part), part)


def test_the_papers_pair_learns_the_papers_own_file() -> None:
    """Tables 2 to 6 of CDM; small pairs learn the small public parts, or what a recipe names."""
    command = ["+exp=cdm_dialogue", "data=fed", "data.root=FOLDER"]
    assert compose_run([*command, "scale=paper"]).data.training_sets == ["cdm_train"]
    assert compose_run(command).data.training_sets == ["topical_chat", "persona_chat"]
    assert "daily_dialog" in compose_run([*command, "+recipe=fed"]).data.training_sets


def test_the_sweep_of_sizes_has_the_papers_pairs() -> None:
    """Table 4 of CDM: T5-small with four experts, T5-base with three."""
    command = ["+exp=cdm_dialogue", "data=fed", "data.root=FOLDER", "scale=paper", "+sweep=cdm_t5_sizes"]
    base = ["model.amateur.model.name=google-t5/t5-base"]
    base += ["model.expert.model.name=google-t5/t5-large,google-t5/t5-3b,google-t5/t5-11b"]
    jobs = [compose_run(job).model for more in ([], base) for job in expand_sweep([*command, *more])]
    pairs = [(job.amateur.model.name, job.expert.model.name) for job in jobs]
    sizes = [(amateur.removeprefix("google-t5/t5-"), expert.removeprefix("google-t5/t5-")) for amateur, expert in pairs]
    assert sizes[:4] == [("small", expert) for expert in ("base", "large", "3b", "11b")]
    assert set(sizes[4:]) == {("base", expert) for expert in ("large", "3b", "11b")}
    assert all(job.expert.schedule.lora is not None for job in jobs)


def test_lora_learns_faster_than_all_weights() -> None:
    """Its matrices begin at 0: at 1e-5 and 552 steps none of their entries could pass .0055."""
    config = compose_run(["+exp=cdm_dialogue", "data=fed", "data.root=FOLDER", "scale=paper", "model=cdm/paper_3b"])
    assert config.model.amateur.schedule.learning_rate == 1e-5
    assert config.model.expert.schedule.learning_rate == 2e-4


@pytest.mark.parametrize("scale", OPTIONS["scale"])
@pytest.mark.parametrize(
    "choices",
    [["+exp=mars_story", "data=roc_stories"], ["+exp=mars_qa"], ["+exp=mars_qa", "data=mocha"], ["+exp=mars_news"]],
)
def test_plain_stories_are_read_for_small_models_alone(choices: list[str], scale: str) -> None:
    """A pretrained model learns nothing, so it must not ask for a file that is placed by hand."""
    config = compose_run([*choices, "data.root=FOLDER", f"scale={scale}"])
    assert config.data.plain_stories is (scale == "tiny")


@pytest.mark.parametrize(
    ("choices", "signature", "notes"),
    [
        (["+recipe=fed"], "toy|recipe=fed", ["recipe fed: settings chosen: windows of negatives", "other"]),
        ([], "toy", ["other"]),
    ],
)
def test_results_name_their_recipe(choices: list[str], signature: str, notes: list[str]) -> None:
    config = compose_run(["+exp=cdm_dialogue", "data=fed", "data.root=x", *choices])
    found = name_recipe(Outcome("toy", notes=["other"]), config)
    assert found.signature == signature
    assert [note[: len(start)] for note, start in zip(found.notes, notes, strict=True)] == notes
    assert (config.model.negatives.turns == 6) == bool(choices)  # FED's windows are nobody else's


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["+exp=scor"], ["exp=scor", "did you mean score", "allowed: audit, "]),
        ([*SCORE, "scale=huge"], ["scale=huge", "paper, pretrained, tiny"]),
        (["+exp=oumg_poetry", "scale=pretrained"], ["model=poetry/pretrained", "poetry/paper", "poetry/tiny"]),
        ([*SCORE, "sede=3"], ["sede is not a setting", "did you mean seed?", "outputs"]),
        (["+exp=[score,audit]"], ["exp must be one name, as in +exp=score"]),
        (["+exp=score", "metric=[bleu,rouge_l]", *SCORE[2:]], ["metric must be one name", "metrics=bleu,rouge_l"]),
        ([*SCORE, "data.rooot=x"], ["data.rooot is not a setting", "allowed there: data.columns"]),
        ([*AGREE, "scores.mine=out.jsonl"], ["scores.mine is not a setting", "(+scores.mine=VALUE adds one)"]),
        ([*AGREE, "metric.order=2"], ["metric must be given: metric=NAME, one of bartscore, "]),
        (["+exp=score"], ["metric=NAME, one of", "word_count", "output=VALUE"]),
        ([*SCORE, "seed=1,2"], ["seed=1,2 needs -m", "seed=[1,2]"]),
        ([*SCORE, "model=cdm/huge"], ["model=cdm/huge", "did you mean cdm/", "ctrleval/tiny"]),
        ([*SCORE, "hydra.run.dir=there"], ["hydra.run.dir=there", "run_dir=FOLDER"]),
        ([*SCORE, "hydra.mode=MULTIRUN"], ["hydra/launcher alone can be set"]),
        ([*SCORE, "hydra.launcher._target_=os.system"], ["hydra.launcher._target_=os.system is refused"]),
        ([*SCORE, "+sede=3"], ["sede is not a setting", "did you mean seed?"]),
        (["+exp=mars_story", "metrics=[bleu]"], ["metrics is not a setting", "judge score, compare and agree take"]),
        ([*SCORE, "hydra/launcher=nope_local"], ["there is no such hydra/launcher", "allowed: basic"]),
    ],
)
def test_faults_name_the_key_and_what_is_allowed(overrides: list[str], words: list[str]) -> None:
    with pytest.raises(SettingError) as caught:
        compose_run(as_settings(overrides, descriptions([CONFIGS])))
    message = str(caught.value)
    assert all(word in message for word in words), message


def test_targets_are_checked_against_their_signatures() -> None:
    word_count = {"_target_": "baselines.word_count.WordCount"}
    check_targets({"a": [word_count]})
    with pytest.raises(SettingError, match=r"a\[0\]\.language is not a setting"):
        check_targets({"a": [{**word_count, "language": "en"}]})
    with pytest.raises(SettingError, match=r"a\._target_=baselines\.nothing\.X cannot be imported: No module"):
        check_targets({"_target_": "baselines.nothing.X"}, "a")
    with pytest.raises(SettingError, match="data needs path"):
        check_targets({"_target_": "data.scored.read_score_rows"}, "data")
    check_targets({"_target_": "data.scored.read_score_rows", "_partial_": True}, "data")


@dataclass(frozen=True)
class Inner:
    """Settings inside settings."""

    low: int
    high: int = 9


@dataclass(frozen=True)
class Outer:
    """Settings with a field of each kind."""

    inner: Inner
    device: str
    usual: Inner = Inner(0)


def study(run: object, data: object, outer: Outer, seed: int, steps: int = 3) -> None:
    """An experiment."""


STUDY = {"_target_": f"{__name__}.study"}
SETTINGS = {"experiment": STUDY, "data": None, "seed": 1, "low": 4, "device": None}
SETTINGS["model"] = {"device": "cuda", "seed": 2}


def test_an_argument_is_the_setting_of_its_name_and_a_dataclass_is_built_of_its_fields() -> None:
    found = complete_experiment(SETTINGS)
    inner = {"_target_": f"{__name__}.Inner", "low": 4}
    outer = {"_target_": f"{__name__}.Outer", "inner": inner, "device": "cuda"}
    assert {k: v for k, v in found.items() if k[0] != "_"} == {"data": None, "outer": outer, "seed": 1}
    assert list(found)[:3] == ["data", "outer", "seed"]
    assert instantiate(found).keywords["outer"] == Outer(Inner(4), "cuda")


def test_the_experiment_node_gives_an_argument_what_no_setting_of_its_name_has() -> None:
    given = {"outer": {"inner": {"high": 5}}, "seed": 7, "steps": 4}
    found = complete_experiment({**SETTINGS, "experiment": {**STUDY, **given}})
    assert instantiate(found).keywords == {"data": None, "outer": Outer(Inner(4, 5), "cuda"), "seed": 7, "steps": 4}
    whole = {"_target_": f"{__name__}.Inner", "low": 1}
    found = complete_experiment({**SETTINGS, "experiment": {**STUDY, "outer": {"inner": whole}}})
    assert instantiate(found).keywords["outer"].inner == Inner(1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experiment": {**STUDY, "sede": 1}}, r"experiment\.sede is not a setting \(did you mean experiment\.seed "),
        ({"experiment": {**STUDY, "outer": {"inner": {"lou": 1}}}}, r"outer\.inner\.lou is not a setting"),
        ({"experiment": {"_target_": f"{__name__}.nothing"}}, "experiment._target_=.* cannot be imported"),
        ({"experiment": "study"}, "experiment._target_ must name a function"),
        ({"model": 1}, "model must hold settings, but is 1"),
        ({"data": ...}, r"experiment needs data \("),
        ({"low": ...}, r"experiment\.outer\.inner needs low \("),
    ],
)
def test_what_does_not_fit_the_function_is_a_fault(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        complete_experiment({key: value for key, value in {**SETTINGS, **changes}.items() if value is not ...})


LATE = """
from __future__ import annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from experiments.contracts import Outcome, Run

@dataclass
class Plan:
    number: int

def study(run: Run, plan: Plan) -> Outcome: ...
"""


def test_a_module_may_lack_the_names_of_its_annotations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late.py").write_text(LATE)
    monkeypatch.syspath_prepend(tmp_path)
    found = complete_experiment({"experiment": {"_target_": "late.study"}, "number": 4})
    assert found["plan"] == {"_target_": "late.Plan", "number": 4}


def test_a_sweep_is_all_combinations_the_last_fastest_and_the_command_line_wins() -> None:
    jobs = expand_sweep(["+exp=toy", "+sweep=toy_gamma", "seed=range(0,2)"], [CONFIGS, TOY])
    expected = [(f"gamma={gamma}", f"seed={seed}") for gamma in (0.25, 0.75) for seed in (0, 1)]
    assert [(job[0], job[-1]) for job in jobs] == expected
    assert compose_run(jobs[-1], [CONFIGS, TOY], ["toy"]).gamma == 0.75
    jobs = expand_sweep(["+exp=toy", "+sweep=toy_gamma", "gamma=0.1"], [CONFIGS, TOY])
    assert [job[0] for job in jobs] == ["gamma=0.1"]


@pytest.mark.parametrize("setting", ["seed=interval(0,2)", "hydra.sweeper._target_=hydra_plugins.optuna.Sweeper"])
def test_another_sweeper_is_refused(setting: str) -> None:
    with pytest.raises(SettingError, match=r"does not support sweep type|is refused"):
        expand_sweep([*SCORE, setting])


@pytest.mark.parametrize("read", [compose_run, expand_sweep])
def test_thousands_of_brackets_are_a_fault_of_one_line(read: Callable[[list[str]], object]) -> None:
    with pytest.raises(SettingError) as found:
        read([*SCORE, f"chunk={'[' * 3000}"])
    assert len(str(found.value)) < 500
    assert "\n" not in str(found.value)


def test_the_files_of_an_experiment_are_listed_with_the_place_of_their_settings() -> None:
    found = list_files(["+exp=audit", "+metric@metrics.bleu=bleu", "seed=3"], [CONFIGS])
    assert found[0] == ("exp/audit", "", (CONFIGS / "exp" / "audit.yaml").read_text("utf-8"))
    assert ("metric/bleu", "metrics.bleu") in [each[:2] for each in found]
    assert found[-1][0] == "run"
