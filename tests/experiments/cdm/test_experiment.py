"""CDM through the command line, at toy size: what it leaves, refuses and learns; its tables."""

import json
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdm.discriminative import ClassifierPooler, DiscriminativeCDM, Steps
from cdm.infilling import Gaps, Pair, PartialOrder, TokenisedDialogues, held_out_nll
from cdm.rules import make_rule_negatives
from core.errors import SettingError
from core.example import Example
from core.scores import Scores
from core.source import hash_sources
from data.builtin.dialogues import generate_dialogues, rated_dialogues
from data.corpus import Corpus
from discriminators.metric import DiscriminatorScore
from experiments.cdm.experiment import (
    PoolerPlan,
    TrainedPair,
    cut_dialogues,
    fit_pooler,
    get_pooler,
    get_steps,
    load_discriminators,
    make_by_rule,
    make_discriminative,
    score_dialogues,
    split_held_out,
    train_pair,
)
from experiments.cdm.sentences import cdm_sentences
from experiments.cdm.tables import rank_dialogue_systems
from experiments.contracts import Run
from experiments.presentation import score_sets
from experiments.training import LanguageModelPlan, Trained
from judge.metrics import load_metric
from meta_eval.scored_set import ScoredSet
from models.conditional import load_conditional
from models.tiny import TinyT5
from models.training import LanguageModelSchedule
from tests.experiments.conftest import list_stages
from tests.toy_models import QUIET, toy_pair

pytestmark = pytest.mark.usefixtures("plain_page")
TOY = """
data.train=30 data.held_out=9 data.rated=12 logger=none
model.vocabulary=300 model.width.amateur=16 model.width.expert=32 model.expert.schedule.epochs=1
model.negatives.dialogues=12 model.negatives.sampling.longest=8 model.negatives.sampling.candidates=2
+model.discriminators.bilstm.build.hidden_dim=16 ~model.discriminators.bert model.baseline=[bilstm]
"""
DISCRIMINATIVE = [f"cdm_discriminative_{pooling}" for pooling in ("average", "sum", "max", "min", "classifier")]
GENERATIVE = ["cdm_generative_bilstm", "baseline_amateur_alone_bilstm"]
BASELINES = ["amateur_likelihood", "expert_likelihood", "word_count"]


EXAMPLES = generate_dialogues(15, seed=5)
DIALOGUES = [example.turns for example in EXAMPLES]
CORPUS = Corpus("toy", EXAMPLES, EXAMPLES, (), synthetic=True)


def test_main_job_leaves_results_and_is_found_again(finish: Callable[..., Any], tmp_path: Path) -> None:
    command = ("+exp=cdm_dialogue", *TOY.split(), f"outputs={tmp_path}")
    results = finish(*command, folder="first", plots=False)
    agreement = [row for row in results["table"] if row["table"] == "agreement"]
    shown = {row["metric"] for row in agreement}
    assert shown | {"cdm_discriminative_classifier"} == {*GENERATIVE, *DISCRIMINATIVE, *BASELINES}
    assert ("cdm_discriminative_classifier" in shown) != any("classifier pooling" in note for note in results["notes"])
    about = {(row["set"], row["aspect"], row["n"], row["synthetic"]) for row in agreement}
    assert about == {("builtin", "quality", 12, True)}
    cues = [row for row in results["table"] if row["table"] == "Surface features of negatives"]
    assert [(row["negatives"], row["n"], row["turns"]) for row in cues] == [
        ("cdm_generative", 12, 0.5),
        ("baseline_amateur_alone", 11, 0.5),  # one draw left its dialogue as it was
    ]
    stages = list_stages(tmp_path)
    kinds = {"amateur", "expert", "negatives", "momentum", "discriminator_bilstm", "pooler", "pooler_fit"}
    kinds.add("discriminator_baseline_amateur_alone_bilstm")
    assert {name.rsplit("-", 1)[0] for name in stages} == kinds
    assert finish(*command, folder="second", plots=False)["table"] == results["table"]
    assert list_stages(tmp_path) == stages

    rated = rated_dialogues(12, seed=0)
    stored = [json.loads(line) for line in (tmp_path / "first/scores.jsonl").read_text("utf-8").splitlines()]
    by_id = {line["id"]: line["scores"] for line in stored}
    models = tmp_path / "first" / "models"
    loaded = {
        "cdm_discriminative_average": load_metric("cdm_discriminative", models=str(models)),
        "cdm_generative_bilstm": load_metric("cdm_generative", folder=str(models / "discriminator_bilstm")),
    }
    for row, metric in loaded.items():
        found = metric.score(rated).values["quality"]
        expected = [by_id[example.id][row]["quality"] for example in rated]
        assert found.tolist() == pytest.approx(expected, abs=1e-5)


def test_sentences_keep_their_concepts(finish: Callable[..., Any], tmp_path: Path) -> None:
    chosen = ("model.rules=[mesgar]", "model.baseline=null")
    results = finish("+exp=cdm_commongen", *TOY.split(), *chosen, f"outputs={tmp_path}", plots=False)
    agreement = [row for row in results["table"] if row["table"] == "agreement"]
    shown = {row["metric"] for row in agreement}
    assert {"mesgar_bilstm", "cdm_generative_bilstm"} < shown
    assert "baseline_amateur_alone_bilstm" not in shown
    (folder,) = (tmp_path / "stages").glob("negatives-????????????????")
    negatives = json.loads((folder / "negatives.json").read_text("utf-8"))
    pairs = list(zip(negatives["positives"], negatives["negatives"], strict=True))
    assert all(good[0] == bad[0] and good[1] != bad[1] for good, bad in pairs)  # the concepts are given


def test_every_held_out_dialogue_has_one_purpose() -> None:
    examples = rated_dialogues(9, seed=0)
    parts = split_held_out(Corpus("mine", examples[:2], examples[2:], (), synthetic=True))
    assert [len(part) for part in parts] == [3, 2, 2]
    assert {turns for part in parts for turns in part} == {example.turns for example in examples[2:]}


def test_windows_are_consecutive_turns_of_their_dialogue() -> None:
    dialogues = [tuple(f"{d}-{t}" for t in range(9)) for d in range(30)]
    windows = cut_dialogues(dialogues, 4, seed=1)
    origins = [dialogues[int(turns[0].partition("-")[0])] for turns in windows]
    assert sorted(origins) == sorted(dialogues)
    for turns, dialogue in zip(windows, origins, strict=True):
        start = dialogue.index(turns[0])
        assert turns == dialogue[start : start + len(turns)]
        assert 2 <= len(turns) <= 4


@pytest.fixture(scope="module")
def trained() -> TrainedPair:
    pair = toy_pair([turn for turns in DIALOGUES for turn in turns])
    return TrainedPair(Trained("a"), Trained("e"), pair, PartialOrder(2.0, 1.0))


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, ...]]]:
    """The texts whose steps the pooler learns: dialogues, then their negatives, for each fit."""
    seen: list[list[tuple[str, ...]]] = []

    def draw(pair: Pair, tokenised: TokenisedDialogues) -> list[Steps]:
        seen.append(pair.decode(tokenised.dialogues))
        values = np.random.default_rng(len(seen)).normal(size=(len(tokenised.dialogues), 2, 9))
        return [Steps(amateur, expert, np.arange(9) // 3, dropped=0) for amateur, expert in values]

    monkeypatch.setattr("experiments.cdm.experiment.find_steps", draw)
    return seen


def test_the_pooler_learns_negatives_of_a_rule(
    kept: Run, trained: TrainedPair, scored: list[list[tuple[str, ...]]]
) -> None:
    get_pooler(kept, trained, CORPUS, PoolerPlan(10, negatives="vakulenko"))
    expected = make_rule_negatives(cut_dialogues([*DIALOGUES[::3], *DIALOGUES[1::3]], None, 0)[:10], "vakulenko", 0)
    assert scored[:2] == [[*expected.positives], [*expected.negatives]]
    assert set(scored[2]) <= set(DIALOGUES[2::3])  # human dialogues against machine turns show its sign
    assert len(scored[3]) == len(scored[2]) > 0
    assert not set(scored[3]) & {*scored[2], *scored[1]}


def test_the_pooler_is_not_fitted_anew_where_the_draw_of_segments_changes() -> None:
    assert "cdm/sampling.py" in hash_sources([get_pooler])
    assert "cdm/sampling.py" not in hash_sources([fit_pooler])


@pytest.mark.filterwarnings("ignore::UserWarning")  # Lightning's, on the trainer
def test_a_row_is_the_metric_that_users_load_and_all_share_the_steps(
    kept: Run, trained: TrainedPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = replace(kept, trainer=QUIET)
    pooler = get_pooler(kept, trained, CORPUS, PoolerPlan(6))
    fitted = replace(ClassifierPooler.load(pooler / "pooler.json"), auc=0.51)
    rows = make_discriminative(trained.pair, fitted)
    refused = make_discriminative(trained.pair, replace(fitted, auc=0.5))
    assert rows.keys() - refused.keys() == {"cdm_discriminative_classifier"}
    alone = {
        "cdm_discriminative_average": DiscriminativeCDM(trained.pair, "average"),
        "cdm_discriminative_classifier": DiscriminativeCDM(trained.pair, "classifier", fitted),
    }
    expected = {name: metric.score(EXAMPLES[:3]) for name, metric in alone.items()}
    read = get_steps(kept, trained, trained.pair.tokenise(DIALOGUES[:3]))
    for function in ("cdm.discriminative.find_steps", "cdm.discriminative.load_steps"):
        monkeypatch.setattr(function, lambda *_: pytest.fail("the steps are known"))
    texts = ScoredSet("toy", EXAMPLES[:3])
    found = score_dialogues(texts, trained.pair.tokenise(DIALOGUES[:3]), read, trained.pair, rows)
    for name, scores in expected.items():
        assert found[name].signature == scores.signature
        assert trained.pair.amateur.identity in found[name].signature
        np.testing.assert_array_equal(found[name].values["quality"], scores.values["quality"])
        assert found[name].explanations == scores.explanations
    assert len([*kept.stages.root.glob("momentum-*")]) == 2  # with its lock: kept once for all poolings


def test_one_discriminator_at_a_time_is_loaded(kept: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: weakref.WeakSet[Any] = weakref.WeakSet()

    class Loaded:
        def __init__(self, *_: Any, **__: Any) -> None:
            assert not loaded
            loaded.add(self)

        def score(self, examples: Sequence[Example]) -> Scores:
            return Scores({"quality": np.zeros(len(examples))}, "toy")

    monkeypatch.setattr(DiscriminatorScore, "from_pretrained", Loaded)
    makers = load_discriminators({name: Trained(name) for name in ("mesgar_bert", "deam_like_bert")}, "cpu")
    texts = ScoredSet("toy", EXAMPLES[:3])
    assert [list(scores) for scores in score_sets(kept, [texts, texts], makers)] == [list(makers)] * 2


LEARNS = LanguageModelSchedule(epochs=3, batch_size=4, learning_rate=0.05)


def train(run: Run, keep: str, amateur: LanguageModelSchedule = LEARNS) -> TrainedPair:
    learns, small, large = Gaps(max_length=200), TinyT5(300, 16, 32, 2, 1, 1), TinyT5(300, 32, 64, 2, 1, 1)
    models = LanguageModelPlan(small, amateur, learns), LanguageModelPlan(large, LEARNS, learns)
    return train_pair(run, CORPUS, *models, keep)


@pytest.mark.filterwarnings("ignore::UserWarning")  # Lightning's, on the trainer
def test_both_models_of_a_pair_keep_the_epoch_of_the_largest_discrepancy(kept: Run) -> None:
    run = replace(kept, trainer=QUIET)
    own = train(run, "loss")
    chosen = train(run, "discrepancy")
    losses = [[point["val/loss"] for point in each.curve if "val/loss" in point] for each in (own.amateur, own.expert)]
    expected = [amateur - expert for amateur, expert in zip(*losses, strict=True)]
    best = int(np.argmax(expected))
    for trained, of_epochs in zip((chosen.amateur, chosen.expert), losses, strict=True):
        found = [point["val/discrepancy"] for point in trained.curve if "val/discrepancy" in point]
        assert found == pytest.approx(expected, abs=1e-6)
        assert trained.held_out_nll == pytest.approx(of_epochs[best], abs=1e-6)
        lm, texts = load_conditional(trained.source), split_held_out(CORPUS)[0]
        held_out = Gaps(200).tokenise(lm, texts)
        assert held_out_nll(lm, held_out.infilling, held_out.tasks(run.seed)) == pytest.approx(
            of_epochs[best], abs=1e-4
        )
    with pytest.raises(SettingError, match="as many epochs"):
        train(run, "discrepancy", replace(LEARNS, epochs=2))


def test_a_rule_that_changes_no_dialogue_is_refused(kept: Run, trained: TrainedPair) -> None:
    turns = ("oh", "no", "so"), ("no", "oh", "so")
    short = tuple(Example(str(i), turns=turns[i % 2]) for i in range(12))
    data = Corpus("short", short, short, (), synthetic=True)
    unchanged = "is deam_like, but this changes none of the 6 dialogues; rules that change some: mesgar, vakulenko$"
    with pytest.raises(SettingError, match=rf"^model\.pooler\.negatives {unchanged}"):
        get_pooler(kept, trained, data, PoolerPlan(6))
    with pytest.raises(SettingError, match=rf"^model\.rules {unchanged}"):
        make_by_rule("model.rules", "deam_like", [each.turns for each in short[:6]], 0, trained.pair)


def steps(*momentum: float) -> Steps:
    return Steps(np.zeros(len(momentum)), np.array(momentum), np.zeros(len(momentum), dtype=np.int64), 0)


def example(name: str, system: str | None, rating: float) -> Example:
    return Example(name, turns=("a",), system=system, ratings={"coherence": rating})


def test_systems_are_ranked_by_the_mean_momentum_of_their_texts() -> None:
    texts = ScoredSet("toy", tuple(map(example, "abcd", "xyxy", (0.5, 1.0, 0.0, 0.5))))
    found = [steps(1.0, -2.0), steps(3.0), steps(-3.0), steps(1.0, 1.0, 2.0)]
    (table,) = rank_dialogue_systems(texts, found)
    assert [(row["system"], row["n"]) for row in table.rows] == [("y", 2), ("x", 2)]
    columns = {name: [row[name].value for row in table.rows] for name in ("E(p)", "per token", "rated coherence")}
    assert columns["E(p)"] == pytest.approx([3.5, -2.0])
    assert columns["per token"] == pytest.approx([7 / 4, -4 / 3])
    assert columns["rated coherence"] == pytest.approx([0.75, 0.25])
    assert table.rows[0]["E(p)"].reason == "an interval needs at least 10 inputs, but there are 2"


def test_sentences_for_an_amr_parser_are_those_of_training_dialogues(kept: Run) -> None:
    examples = (Example("a", turns=("Hi. I am Ann.", "Hi. Who?")), Example("b", turns=("I am Ann.",)))
    outcome = cdm_sentences(kept, Corpus("toy", examples, examples[:1], (), synthetic=True))
    (path,) = outcome.files
    assert path.read_text("utf-8").splitlines() == ["Hi.", "I am Ann.", "Who?"]
    assert outcome.figures == {"dialogues": 2, "turns": 3, "sentences": 3}
    with pytest.raises(SettingError, match="sentences come from training dialogues, but none has none"):
        cdm_sentences(kept, Corpus("none", (), (), (), synthetic=True))
