"""Plans of CDM's stages: what they refuse, and what the classifier pooler learns from."""

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from cdm.discriminative import Steps
from cdm.pair import SEPARATOR, Pair
from cdm.rules import Rule, rule_negatives
from cdm.sampling import Sampling
from core.faults import InputFaults, SettingFault
from core.stages import Stages
from data.builtin.dialogues import generate_dialogues
from experiments.cdm.stages import NegativesPlan, PoolerPlan, TrainedPair, kept_pooler, windows
from experiments.contracts import Run
from experiments.training import Trained
from models.tiny import TinyT5

DIALOGUES = [example.turns for example in generate_dialogues(12, seed=5)]
SAMPLED = NegativesPlan("mixed-multi", Sampling(gamma=0.0, longest=6), 10)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    @contextmanager
    def progress(what: str, total: int):  # type: ignore[no-untyped-def]
        yield lambda rows: None

    return Run("toy", tmp_path, Stages(tmp_path / "stages"), 0, None, lambda name: [], progress)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def trained() -> TrainedPair:
    texts = [turn for turns in DIALOGUES for turn in turns]
    amateur, expert = (TinyT5(400, 16, 32, 2, 1, 1).build(texts, (SEPARATOR,), seed) for seed in (1, 2))
    return TrainedPair(Trained("a"), Trained("e"), Pair(amateur, expert, max_length=60))


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, ...]]]:
    """The texts whose steps the pooler learns: dialogues, then their negatives, for each fit."""
    seen: list[list[tuple[str, ...]]] = []

    def draw(_: Pair, texts: list[tuple[str, ...]]) -> list[Steps]:
        seen.append([*texts])
        values = np.random.default_rng(len(seen)).normal(size=(len(texts), 2, 9))
        return [Steps(amateur, expert, np.arange(9) // 3, dropped=0) for amateur, expert in values]

    monkeypatch.setattr("experiments.cdm.stages.dialogue_steps", draw)
    return seen


@pytest.mark.parametrize("rule", get_args(Rule))
def test_the_pooler_learns_negatives_of_a_rule_whatever_the_discriminators_learn(
    run: Run, trained: TrainedPair, scored: list[list[tuple[str, ...]]], rule: Rule
) -> None:
    first = kept_pooler(run, trained, DIALOGUES, PoolerPlan(10, negatives=rule), SAMPLED)
    expected = rule_negatives(windows(DIALOGUES, None, 0)[:10], rule, 0)
    assert scored == [[*expected.positives], [*expected.negatives]]
    for other in (replace(SAMPLED, sampling=Sampling(gamma=1.0)), replace(SAMPLED, mixture=("mesgar",))):
        assert kept_pooler(run, trained, DIALOGUES, PoolerPlan(10, negatives=rule), other) == first


def test_the_pooler_may_learn_sampled_negatives(
    run: Run, trained: TrainedPair, scored: list[list[tuple[str, ...]]]
) -> None:
    plan = PoolerPlan(10, negatives="sampled")
    folders = {
        kept_pooler(run, trained, DIALOGUES, plan, replace(SAMPLED, sampling=s))
        for s in (Sampling(gamma=0.0, longest=6), Sampling(gamma=-1.0, longest=6))
    }
    assert len(folders) == 2
    assert scored[1] != scored[3]
    assert all({*a} != {*b} for a, b in zip(scored[0], scored[1], strict=True))


def test_the_features_of_the_pooler_are_a_setting(
    run: Run, trained: TrainedPair, scored: list[list[tuple[str, ...]]]
) -> None:
    for features, names in (("momentum", 24), ("momentum_and_expert", 46)):
        folder = kept_pooler(run, trained, DIALOGUES, PoolerPlan(10, features=features), SAMPLED)  # type: ignore[arg-type]
        assert len(json.loads((folder / "pooler.json").read_text("utf-8"))["features"]) == names
    assert len(scored) == 4
    assert PoolerPlan(10).negatives == "deam_like"


def test_amr_multi_needs_a_file_of_graphs_and_no_other_strategy_reads_one() -> None:
    with pytest.raises(SettingFault, match=r"a parser such as amrlib .* the strategy is amr-multi and graphs is None"):
        NegativesPlan("amr-multi", Sampling(), 10)
    with pytest.raises(SettingFault, match=r"the strategy is mixed-multi and graphs is graphs\.amr"):
        NegativesPlan("mixed-multi", Sampling(), 10, graphs="graphs.amr")
    with pytest.raises(InputFaults, match=r"missing: model\.negatives.graphs must name a file, but there is none"):
        NegativesPlan("amr-multi", Sampling(), 10, graphs="missing").read_graphs()
