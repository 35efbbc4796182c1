"""Metrics by name without Hydra, and plain functions as metrics."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import OmegaConf

from baselines.sacrebleu_metrics import Bleu
from core.configs import CONFIGS
from core.errors import SettingError
from core.example import Example
from judge.function_metric import MetricFunction
from judge.metrics import load_metric
from judge.registry import build, complete, find_config, read_config

TEXTS = [Example("a", "one two"), Example("b", "three")]


def count_letters(examples: Sequence[Example]) -> list[int]:
    return [example.text.count("e") for example in examples]


@pytest.fixture(scope="session")
def composed() -> dict[str, Any]:
    """The configuration of each metric as Hydra composes it, in which nothing is kept."""
    with initialize_config_dir(str(CONFIGS / "metric"), version_base="1.3"):
        found = {name: compose(name) for name in NAMES}
    for config in found.values():
        for key in ("kept", "cache"):
            if key in config:
                config[key] = None
    return found


NAMES = sorted(file.stem for file in (CONFIGS / "metric").glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_those_that_hydra_reads(name: str, composed: dict[str, Any]) -> None:
    assert read_config(find_config(name)) == OmegaConf.to_container(composed[name])


BUILT = ("bertscore", "bleu", "chrf", "meteor", "mover_score", "rouge_1", "rouge_2", "rouge_l", "sentence_mover", "ter")
SETTINGS = {"llm_judge": {"model": "m", "base_url": "http://localhost:1/v1", "logprobs": False}}


@pytest.mark.parametrize("name", [*BUILT, "word_count", "llm_judge"])
def test_what_a_file_names_is_what_hydra_builds(name: str, composed: dict[str, Any]) -> None:
    """The metrics whose models, if they have any, are here."""
    settings = SETTINGS.get(name, {})
    made = build(complete(name, read_config(find_config(name)), settings))
    assert made.signature == instantiate(composed[name], **settings).signature


def test_one_word_is_a_list_of_one_where_a_setting_is_a_list() -> None:
    """`--metric.aspects coherence` gives a word, and a word is a sequence of letters."""
    given = {"model": "m", "aspects": "coherence"}
    assert complete("ctrleval", read_config(find_config("ctrleval")), given)["aspects"] == ["coherence"]
    metric: Any = load_metric("llm_judge", model="m", base_url="http://localhost:1/v1", aspects="overall")
    assert [*metric.asked] == ["overall"]


def test_settings_of_inner_objects_change_one_by_one() -> None:
    given = {"q": 0.5, "augmentation": {"kl": 0.5}}
    own = read_config(find_config("mars"))
    config = complete("mars", own, given)
    assert config["q"] == 0.5
    assert config["augmentation"] == {**own["augmentation"], "kl": 0.5}
    assert config["kept"] is None
    assert own["augmentation"]["kl"] == 0.2


def returns(value: Any) -> MetricFunction:
    def wrong(examples: Sequence[Example]) -> Any:
        return value

    return wrong


@pytest.mark.parametrize(
    ("metric", "settings", "said"),
    [
        ("blue", {}, "did you mean bleu"),
        ("bleu", {"ordre": 2}, "ordre is not a setting of bleu (did you mean order?); allowed: order"),
        (
            "mars",
            {"augmentation": {"lk": 2}},
            "augmentation.lk is not a setting of mars (did you mean augmentation.kl?)",
        ),
        ("bleu", {"order": 0}, "order must be greater than or equal to 1, but is 0"),
        ("cdm_generative", {}, "cdm_generative needs folder: pass folder=VALUE"),
        (Bleu(), {"order": 2}, "built metrics take no settings, but got order"),
        (3, {}, "is a name, a metric or a function, but got 3"),
        (count_letters, {"n": 2}, "functions and built metrics take no settings, but got n"),
        ("no_such_module.f", {}, "No module named 'no_such_module'"),
        ("core.example.UNSPACED", {}, "is a name, a metric or a function, but got "),
        ("builtins.len", {}, "cannot be read"),
        (returns([1.0]), {}, "an array of shape (2,), but returned the shape (1,)"),
        (returns(["good", "bad"]), {}, "wrong must return one number per example, but returned ['good', 'bad']"),
    ],
)
def test_wrong_metrics_settings_and_results_are_refused(metric: Any, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as fault:
        load_metric(metric, **settings).score(TEXTS)
    assert said in str(fault.value)


def test_a_function_is_a_metric() -> None:
    metric = load_metric(count_letters)
    assert metric.score(TEXTS).values["score"].tolist() == [1, 2]
    assert metric.requires == ()
    assert metric.signature.startswith(f"{__name__}.count_letters|source=")


def test_the_signature_changes_with_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    signatures = set()
    for module, number in (("first_metric", 1), ("second_metric", 1), ("third_metric", 2)):
        (tmp_path / f"{module}.py").write_text(f"def f(examples):\n    return [{number}] * len(examples)\n")
        metric = load_metric(f"{module}.f")
        assert metric.score(TEXTS).values["score"].tolist() == [number, number]
        signatures.add(metric.signature.partition("|")[2])
    assert len(signatures) == 2


def test_nan_and_infinity_are_missing_with_a_reason() -> None:
    def halves(examples: Sequence[Example]) -> list[float]:
        return [np.inf, np.nan]

    found = load_metric(halves).score(TEXTS)
    np.testing.assert_array_equal(found.values["score"], [np.nan, np.nan])
    assert [str(reason).rpartition(" ")[2] for reason in found.reasons] == ["inf", "nan"]
