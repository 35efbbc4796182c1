"""Every configuration composes and names things that exist; faults name the whole key."""

import inspect
import itertools
from typing import Any

import pytest
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from core.configs import CONFIGS
from core.errors import SettingError
from core.objects import walk
from experiments.contracts import Study
from experiments.runner.configuration import build_experiment, list_faults, resolve
from experiments.runner.experiment import name_recipe
from tests.composing import compose_all, compose_run, expand_sweep, list_misfits

EXPERIMENTS = sorted(file.stem for file in (CONFIGS / "exp").glob("*.yaml"))
SCALES = ("tiny", "pretrained", "paper")
RECIPES = {"fed": "cdm_dialogue", "commongen": "cdm_commongen", "songci": "guided_poetry"}
RECIPES |= {"ctrleval": "ctrleval_sentiment"}
SWEEPS = sorted(file.stem for file in (CONFIGS / "sweep").glob("*.yaml"))
POEMS = ("guided_poetry", "oumg_poetry")  # no open model writes Song Ci, so there is no scale=pretrained
SCALED = [pair for pair in itertools.product(EXPERIMENTS, SCALES) if pair[0] not in POEMS or pair[1] != "pretrained"]
CHOICES = [
    *([f"+exp={name}", f"scale={scale}"] for name, scale in SCALED),
    *([f"+exp={name}", f"+recipe={recipe}"] for recipe, name in RECIPES.items()),
    *(["+exp=cdm_dialogue", f"+sweep={name}"] for name in SWEEPS),
    *(["+exp=cdm_dialogue", f"data={file.stem}"] for file in sorted((CONFIGS / "data").glob("*.yaml"))),
    *(["+exp=cdm_dialogue", f"trainer={name}", f"logger={kind}"] for name, kind in (("cpu", "csv"), ("gpu", "none"))),
]


@pytest.mark.parametrize("choices", CHOICES, ids=" ".join)
def test_every_choice_composes_and_every_target_takes_its_settings(choices: list[str]) -> None:
    plain: Any = OmegaConf.to_container(compose_run(choices))
    assert list_misfits(plain) == []
    targets = [node for _, node in walk(plain["experiment"]) if isinstance(node, dict) and "_target_" in node]
    assert [fault for node in targets for fault in list_faults(node)] == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_every_argument_of_its_function_but_the_run(name: str) -> None:
    node = compose_all([f"+exp={name}"]).experiment
    run, *parameters = inspect.signature(get_object(node["_target_"])).parameters
    assert run == "run"
    assert {str(key) for key in node} == {*parameters, "_target_"}


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


@pytest.mark.parametrize("scale", ["tiny", "paper"])
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
    found = name_recipe(Study(signature="toy", notes=["other"]), config)
    assert found.signature == signature
    assert [note[: len(start)] for note, start in zip(found.notes, notes, strict=True)] == notes
    assert (config.model.negatives.turns == 6) == bool(choices)  # FED's windows are nobody else's


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["+exp=oumg"], "data.g1 must be given: data.g1=VALUE\ndata.g2 must be given: data.g2=VALUE\n"),
        (["+exp=cdm_dialogue", "seed=-1"], "seed must be greater than or equal to 0, but is -1"),
        (["+exp=cdm_dialogue", "cues=lasso"], "cues must be 'ridge' or 'none', but is 'lasso'"),
        (["+exp=cdm_dialogue", "plots=[gif]"], "plots[0] must be 'png', 'svg' or 'pdf', but is 'gif'"),
    ],
)
def test_a_fault_of_a_common_setting_names_it(settings: list[str], message: str) -> None:
    run, _ = compose_few(settings)
    with pytest.raises(SettingError) as caught:
        resolve(run)
    assert str(caught.value).startswith(message)


SAID_BEFORE = [
    (
        ["+exp=cdm_dialogue", "+model.negatives.sampling.gama=1"],
        "model.negatives.sampling.gama is no setting of Sampling (did you mean gamma?)",
    ),
    (["+exp=oumg_poetry", "+experiment.plan.seed=1"], "experiment.plan.seed is no setting of "),
]
SAID_LATER = [
    (["+exp=cdm_dialogue", "model.negatives.dialogues=1"], "model.negatives.dialogues must be greater than or"),
    (["+exp=cdm_dialogue", "model.pooler.strength=0"], "model.pooler.strength must be greater than 0, but is 0"),
    (["+exp=cdm_dialogue", "model.rules=[deam]"], "model.rules[0] must be 'mesgar', 'vakulenko' or 'deam_like', but"),
    (["+exp=oumg_poetry", "g1_k=null"], "g1_k must be a valid integer, but is None"),
    (["+exp=oumg_poetry", "poems=all"], "poems must be 'held_out' or 'train', but is 'all'"),
    (["+exp=guided_poetry", "alpha=-1"], "alpha must be greater than or equal to 0, but is -1"),
    (["+exp=mars_story", "model.metric.q=x"], "model.metric.q must be a valid number, but is 'x'"),
    (["+exp=mars_story", "largest_ratios=[0.2]"], "largest_ratios must ascend from 0, but is [0.2]"),
    (
        ["+exp=guided_text", "data=builtin_reviews", "model.generator.schedule.epochs=0"],
        "model.generator.schedule.epochs must be greater than or equal to 1, but is 0",
    ),
    (
        ["+exp=guided_text", "data=builtin_reviews", "strengths=[1,2]"],
        "strengths must begin with 0, the generator alone",
    ),
    (["+exp=guided_text", "data=builtin_reviews", "ks=[0]"], "ks[0] must be greater than or equal to 1, but is 0"),
    (["+exp=oumg_poetry", "seeds=[0,0]"], "seeds must be non-empty and without duplicates, but is [0, 0]"),
]


FEW = ("data.train=40", "data.held_out=8", "data.rated=4")
FEWER = {"+exp=oumg": (), "+exp=oumg_poetry": FEW[:2], "+exp=guided_poetry": FEW[:2]}  # whose data lack such sizes


def compose_few(settings: list[str]) -> tuple[DictConfig, Any]:
    """A configuration with few texts, and its values before they are resolved."""
    few = FEWER.get(settings[0], FEW)
    config = compose_all([*settings, *few, "name=toy"])
    run = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    return run, OmegaConf.to_container(run, resolve=False)


@pytest.mark.parametrize(("settings", "message"), SAID_BEFORE)
def test_a_wrong_name_is_found_without_importing_what_takes_it(settings: list[str], message: str) -> None:
    run, _ = compose_few(settings)
    with pytest.raises(SettingError) as caught:
        resolve(run)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("settings", "message"), SAID_LATER)
def test_a_fault_of_an_argument_names_the_setting_that_is_typed(settings: list[str], message: str) -> None:
    run, unresolved = compose_few(settings)
    OmegaConf.resolve(run)
    with pytest.raises(SettingError) as caught:
        build_experiment(run, unresolved)
    assert str(caught.value).startswith(message)


def test_the_sweep_of_wandbs_agent_varies_settings_that_there_are() -> None:
    sweep: Any = OmegaConf.to_container(OmegaConf.load(CONFIGS / "wandb_sweep.yaml"))
    words = [word for word in sweep["command"] if "=" in word]
    config = compose_run([*words, *(f"{name}=0" for name in sweep["parameters"])])
    assert config.model.negatives.sampling.gamma == 0
