"""+exp=audit through the command line, and its findings on planted metrics."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.word_count import WordCount
from core.configs import CONFIGS
from core.example import Example
from core.faults import ExampleFaults
from core.scores import Scores
from core.stages import Stages
from data.corpus import RatedSet
from data.damage import DAMAGES, EDITS
from experiments.contracts import Run
from experiments.runner.configuration import compose_run
from experiments.runner.listing import group_options
from experiments.tools.audit import damage_table, note_weaknesses
from experiments.tools.metric_audit import (
    MetricAudit,
    audit_aspect,
    audit_metric,
    damage_all,
    draw,
    score_accepted,
    share_in_context,
    share_repeated,
)
from meta_eval.intervals import Resampling

Here = Callable[..., int]
WORDS = ("tea", "cake", "river", "met", "saw", "Ann", "Bob", "Rome", "is", "was", "can", "the", "dog", "12", "1999")


def texts(count: int = 40, seed: int = 0) -> list[Example]:
    """Texts of three to six sentences, with ratings that know nothing of their length."""
    rng = random.Random(seed)
    return [
        Example(
            f"t{i}",
            text=" ".join(" ".join(rng.choices(WORDS, k=6)).capitalize() + "." for _ in range(rng.randint(3, 6))),
            ratings={"quality": rng.random()},
        )
        for i in range(count)
    ]


def test_the_tables_of_a_run(run_here: Here, tmp_path: Path) -> None:
    with (tmp_path / "in.jsonl").open("w") as file:
        file.writelines(json.dumps({"id": e.id, "text": e.text, "ratings": dict(e.ratings)}) + "\n" for e in texts())
    settings = ("metric=word_count", "data.path=in.jsonl", "resamples=50", "card=card.md", "run_dir=here")
    done = run_here("+exp=audit", *settings)
    assert done == 0
    results = json.loads((tmp_path / "here" / "results.json").read_text())
    rows = results["table"]
    (length,) = [row for row in rows if row.get("property") == "word count"]
    assert (length["n"], length["spearman"]) == (40, pytest.approx(1.0))
    damages = {row["damage"]: row for row in rows if "damage" in row}
    assert set(damages) >= {"drop", "repeat", "negate", "retrieve"}
    assert damages["drop"]["fall_1"] > damages["drop"]["fall_0.25"] > 0
    assert damages["repeat"]["fall_1"] < 0  # a repeated text has more words, and word count likes it
    assert damages["repeat"]["monotone"] == "no"
    edits = {row["edit"]: row for row in rows if "edit" in row}
    assert edits["case"]["changed"] == 0.0
    assert any("follow the number of words" in note for note in results["notes"])
    assert (tmp_path / "here" / "plots" / "damage_quality.png").is_file()
    card = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert card.startswith(
        "# word_count\n\nScores a text by its number of words; longer is better.\n\nNeeds beside the text: nothing."
    )
    assert "- quality: scores follow" in card
    assert "## Audit on 40 texts (in.jsonl), seed 0" in card
    assert "| aspect | damage | n | fall_0.25 |" in card


def test_a_file_for_meta_eval_can_be_audited(run_here: Here, tmp_path: Path) -> None:
    with (tmp_path / "in.jsonl").open("w") as file:
        for i, example in enumerate(texts(6)):
            line = {"id": example.id, "text": example.text, "ratings": {"q": [i, None, i % 2]}, "scores": {"m": i}}
            file.write(json.dumps(line) + "\n")
    settings = ("metric=word_count", "data.path=in.jsonl", "resamples=50", "run_dir=here")
    assert run_here("+exp=audit", *settings) == 0
    table = json.loads((tmp_path / "here" / "results.json").read_text())["table"]
    (length,) = [row for row in table if "rated" in row]
    assert (length["rated"], length["n"]) == ("q", 6)


def test_without_ratings_the_table_says_so(run_here: Here, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": e.text}) + "\n" for e in texts(30)))
    assert run_here("+exp=audit", "metric=word_count", "data.path=in.jsonl", "resamples=50", "run_dir=here") == 0
    table = json.loads((tmp_path / "here" / "results.json").read_text())["table"]
    (length,) = [row for row in table if "rated" in row]
    assert (length["with_ratings"], length["reason"]) == (None, "the texts have no ratings")


@pytest.mark.parametrize("seed", range(20))
def test_a_metric_that_counts_words_is_flagged_and_a_clean_one_is_not(seed: int) -> None:
    examples = texts(100, seed)
    rng = np.random.default_rng(seed)
    counts = np.array([len(example.text.split()) for example in examples], dtype=float)
    clean = np.array([example.ratings["quality"] for example in examples]) + 0.3 * rng.normal(size=100)
    resampling = Resampling(resamples=200)
    flagged = [
        audit_aspect(examples, scores, {}, {}, resampling).length["quality"].counts_words
        for scores in (counts + 0.1 * rng.normal(size=100), clean)
    ]
    assert flagged == [True, False]


def test_only_texts_that_a_damage_changes_count() -> None:
    examples = [*texts(10), Example("one", text="Only one sentence here")]
    levels = damage_all(examples, "reorder", [0.5, 1.0], seed=0)
    scores = np.arange(11.0)
    damaged = {"reorder": (levels, [scores - 1, scores - 2])}
    found = audit_aspect(examples, scores, damaged, {}, Resampling(resamples=50))
    assert found.damages["reorder"].n == 10
    spread = np.arange(10.0).std(ddof=1)
    assert [fall.value for fall in found.damages["reorder"].falls] == pytest.approx([1 / spread, 2 / spread])
    assert not any("reliably fall" in note for note in note_weaknesses({"quality": found}))


def test_texts_that_the_metric_refuses_after_damage_are_left_out() -> None:
    class Careful:
        requires = ()
        signature = "careful"

        def score(self, examples: Sequence[Example]) -> Scores:
            if faults := [(i, "must not begin with b") for i, each in enumerate(examples) if each.text[:1] == "b"]:
                raise ExampleFaults(faults)
            return Scores({"quality": np.array([len(each.text) for each in examples], dtype=float)}, self.signature)

    examples = [Example(str(i), text=text) for i, text in enumerate(("aa", "b", "cccc"))]
    np.testing.assert_array_equal(score_accepted(Careful(), examples)["quality"], [2, np.nan, 4])
    assert score_accepted(Careful(), examples[1:2])["quality"] == pytest.approx([np.nan], nan_ok=True)


def test_perturbed_texts_that_are_scored_are_not_scored_again(tmp_path: Path) -> None:
    class Once(WordCount):
        def score(self, examples: Sequence[Example]) -> Scores:
            asked.append(len(examples))
            return super().score(examples)

    asked: list[int] = []

    def audit_again() -> MetricAudit:
        nothing: Any = None
        run = Run("audit", tmp_path, Stages(tmp_path), 0, nothing, nothing, nothing)
        return audit_metric(run, RatedSet("set", tuple(texts(4)), False), Once(), 4, [1.0], resamples=50)

    first = audit_again()
    assert len(asked) == 1 + len(DAMAGES) + len(EDITS)
    again = audit_again()
    assert len(asked) == 2 + len(DAMAGES) + len(EDITS)  # only the texts as they are
    assert str(again.aspects) == str(first.aspects)


def test_damage_that_was_not_measured_is_no_weakness() -> None:
    examples, scores = texts(30), np.arange(30.0)
    levels = damage_all(examples, "drop", [1.0], seed=0)
    damaged = {"drop": (levels, [np.full(30, np.nan)]), "repeat": (levels, [scores + 1])}
    found = {"quality": audit_aspect(examples, scores, damaged, {}, Resampling(resamples=50))}
    assert note_weaknesses(found)[-1] == "quality: scores do not reliably fall under: repeat"
    rows = {row["damage"]: row for row in damage_table(found, [1.0]).rows}
    assert {name: row["monotone"] for name, row in rows.items()} == {"drop": "–", "repeat": "no"}


def test_few_texts_show_no_weakness() -> None:
    """Below the number that intervals need, neither a fall nor its absence is known, and the table says so."""
    examples, scores = texts(29), np.arange(29.0)
    levels = damage_all(examples, "drop", [1.0], seed=0)
    found = {"quality": audit_aspect(examples, scores, {"drop": (levels, [scores])}, {}, Resampling(resamples=50))}
    assert not [note for note in note_weaknesses(found) if "fall" in note]
    (row,) = damage_table(found, [1.0]).rows
    assert (row["monotone"], row["reason"]) == (
        "–",
        "an interval over inputs needs at least 30 of them, but there are 29",
    )


def test_outputs_for_one_input_are_damaged_together() -> None:
    """Four outputs per input that fall alike: the interval is that of the inputs."""
    once = texts(40)
    often = [Example(f"{e.id} {k}", text=e.text, group=e.id) for e in once for k in range(4)]
    alone = [Example(e.id, text=e.text) for e in often]
    rng = np.random.default_rng(0)
    scores, after = (np.repeat(values, 4) for values in rng.normal(size=(2, 40)))
    widths = []
    for examples in (often, alone):
        damaged = {"drop": (damage_all(examples, "drop", [1.0], seed=0), [after])}
        edited = {"case": ([Example(e.id, text=e.text.upper()) for e in examples], after)}
        found = audit_aspect(examples, scores, damaged, edited, Resampling(resamples=50))
        fall, shift = found.damages["drop"].falls[0], found.edits["case"].shift
        widths.append((fall.high - fall.low, shift.high - shift.low))
    assert widths[0] == pytest.approx(tuple(2 * width for width in widths[1]), rel=0.1)


def test_properties_by_hand() -> None:
    assert share_repeated(Example("a", text="a b a A")) == pytest.approx(0.5)
    assert share_in_context(Example("a", text="a b c d", context="A b x")) == pytest.approx(0.5)
    assert np.isnan(share_in_context(Example("a", text="a")))


def test_texts_are_drawn_in_their_order() -> None:
    examples = texts(30)
    drawn = draw(examples, 10, seed=1)
    assert [e.id for e in drawn] == [e.id for e in examples if e in drawn]
    assert draw(examples, 99, seed=1) == examples


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("texts=0", "texts must be greater than or equal to 1"),
        ("resamples=0", "resamples must be greater"),
        ("strengths=[0.5,0.5]", "without duplicates"),
    ],
)
def test_bad_settings(run_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str], setting: str, message: str):
    (tmp_path / "in.jsonl").write_text('{"text": "a b."}\n')
    assert run_here("+exp=audit", "metric=word_count", "data.path=in.jsonl", setting) == 2
    assert message in capsys.readouterr().err


def test_every_metric_has_a_card() -> None:
    config = compose_run(["+exp=audit_all"])
    assert {*config.metrics, *config.unaudited} == {*group_options([CONFIGS])["metric"]} - {"function"}
    assert not {*config.metrics} & {*config.unaudited}


def test_each_metric_is_audited_or_says_what_it_needs(run_here: Here, tmp_path: Path) -> None:
    (tmp_path / "cards").mkdir()
    small = [f"sets.{name}.rated=20" for name in ("reviews", "stories", "dialogues")]
    unaudited = (
        "+metric@unaudited.bleurt.metric=bleurt",
        "+unaudited.bleurt._target_=experiments.tools.audit.Unaudited",
        "+unaudited.bleurt.metric._partial_=true",
        "+unaudited.bleurt.needs=a model that learned human ratings",
    )
    more = ("metrics=[word_count,rouge_1]", "resamples=20", "texts=6", "cards=cards", "run_dir=here")
    assert run_here("+exp=audit_table", *small, *unaudited, *more) == 0
    *rows, last = json.loads((tmp_path / "here" / "results.json").read_text())["table"]
    assert last == {"metric": "bleurt", "needs": "a model that learned human ratings", "table": "Not audited"}
    card = (tmp_path / "cards" / "bleurt.md").read_text(encoding="utf-8")
    assert card.startswith("# bleurt\n\nThe output of the model for (reference, text)")
    assert card.endswith("\n\nNot audited: it needs a model that learned human ratings.\n")
    assert "| [bleurt](bleurt.md) | a model that" in (tmp_path / "cards" / "README.md").read_text(encoding="utf-8")
    assert [(row["metric"], row["set"], row["n"]) for row in rows] == [
        ("word_count", "builtin_reviews", 6),
        ("rouge_1", "builtin_stories", 6),
    ]
    assert rows[0]["length"] == 1
    assert rows[0]["drop"] > 0 > rows[0]["repeat"]
    assert (tmp_path / "cards" / "rouge_1.md").read_text(encoding="utf-8").startswith("# rouge_1\n")
    table = (tmp_path / "cards" / "README.md").read_text(encoding="utf-8")
    assert "The texts, the damage and the small models are synthetic" in table
    assert "| [word_count](word_count.md) | quality | builtin_reviews | 6 |" in table


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((), "metrics must name the metrics to audit"),
        (("metrics=[word_count]", "cards=nowhere"), "cards must be an existing folder, but there is no nowhere"),
    ],
)
def test_bad_settings_of_a_table(
    run_here: Here, capsys: pytest.CaptureFixture[str], settings: tuple, message: str
) -> None:
    small = [f"sets.{name}.rated=20" for name in ("reviews", "stories", "dialogues")]
    assert run_here("+exp=audit_table", *small, *settings) == 2
    assert message in capsys.readouterr().err
