"""MARS's experiments, +exp=augment and +exp=score metric=mars through the command line, at toy size."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.example import Example
from core.scores import Scores
from data.corpus import RatedSet
from experiments.mars.findings import (
    MarsFindings,
    count_shared_texts,
    find_errors,
    mean_deviations,
    measure_altered,
    measure_fall,
    measure_gain,
    measure_lengths,
    measure_within_systems,
    to_raw_perplexity,
)
from experiments.mars.tables import make_system_table
from experiments.report.plots import scores_against_ratings
from experiments.tools.augment import list_lines
from mars.cloze import Augmented
from mars.masking import Blank
from mars.metric import MARS, Compared
from mars.references import AugmentedReference
from meta_eval.scored_set import ScoredSet
from models.tiny import TinyGPT2

ROOT = Path(__file__).parents[3]
TOY = (
    "model.language_model.model.n_embd=16",
    "model.language_model.model.n_layer=1",
    "model.language_model.model.n_head=2",
    "model.language_model.model.n_inner=32",
    "model.language_model.schedule.epochs=1",
    "model.masked.model.hidden_size=16",
    "model.masked.model.num_attention_heads=2",
    "model.masked.model.num_hidden_layers=1",
    "model.masked.model.intermediate_size=32",
    "model.masked.schedule.epochs=1",
    "logger=none",
)
ABLATIONS = ("mars", "mars_without_planning", "mars_without_context", "mars_without_both", "mars_naive", "mars_static")
RATIOS = tuple(f"mars_to_{ratio}" for ratio in (0, 20, 40, 60, 80))
BASELINES = (
    "bleu1",
    "rouge_l",
    "meteor",
    "bertscore",
    "sentence_mover",
    "mover_score",
    "perplexity",
    "perplexity_raw",
    "word_count",
)


def test_every_row_and_figure_is_there_and_references_are_found_again(run: Callable[..., Any], tmp_path: Path) -> None:
    toy = (*TOY, "data.train=200", "data.held_out=20", "data.rated=24")
    command = ("+exp=mars_story", *toy, f"outputs={tmp_path}")
    first = run(*command, f"run_dir={tmp_path}/first")
    assert first.returncode == 0, first.stderr
    results = json.loads((tmp_path / "first/results.json").read_text("utf-8"))
    sets = ("builtin_stories", "builtin_stories_reorder", "builtin_stories_retrieve")
    rows = {(row["metric"], row["set"]): row for row in results["table"] if "synthetic" in row}
    assert set(rows) == {(metric, name) for metric in (*ABLATIONS, *RATIOS, *BASELINES) for name in sets}
    assert rows["mars", "builtin_stories"]["spearman"] == rows["mars_to_60", "builtin_stories"]["spearman"]
    assert {row["synthetic"] for row in rows.values()} == {True}
    falls = {(row["metric"], row["adversary"]): row for row in results["table"] if "adversary" in row}
    assert set(falls) == {(row, kind) for row in (*ABLATIONS, *RATIOS, *BASELINES) for kind in ("reorder", "retrieve")}
    assert falls["bleu1", "reorder"]["below"] == 0  # the words are the same
    assert falls["bleu1", "reorder"]["fall"] == 0
    assert falls["bleu1", "reorder"]["fall_interval"] == [None, None]  # too few stories
    assert falls["mars", "retrieve"]["n"] == 24
    gains = {row["mars against"]: row for row in results["table"] if "mars against" in row}
    assert set(gains) == {*ABLATIONS[1:], *BASELINES, "mars_to_0"}
    difference = rows["mars", sets[0]]["spearman"] - rows["mars_without_planning", sets[0]]["spearman"]
    assert gains["mars_without_planning"]["spearman gain"] == pytest.approx(difference)
    assert len(gains["mars_without_planning"]["spearman gain_interval"]) == 2
    [lengths] = [row for row in results["table"] if "omega" in row]
    assert lengths["texts"] == 24
    assert lengths["omega"] > 1
    assert len([row for row in results["table"] if "copied" in row]) == 6
    assert results["notes"][0].startswith("builtin_stories: planning ")
    ratios = {row["largest ratio"]: row["mean deviation"] for row in results["table"] if "mean deviation" in row}
    assert list(ratios) == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert ratios[0.0] is None
    assert ratios[0.8] > 0
    assert ratios[0.2] > 0
    own_tables = [row for row in results["table"] if "synthetic" not in row]
    assert {row["altered"] for row in own_tables if "largest ratio" not in row} == {1}
    assert [row["altered"] for row in own_tables if "largest ratio" in row] == [0, 1, 1, 1, 1]
    assert "builtin_stories: references with a blank: 100 % at .2, 100 % at .4, 100 % at .6" in results["notes"]
    assert rows["bleu1", sets[1]]["spearman"] == pytest.approx(rows["bleu1", sets[0]]["spearman"])  # Reorder
    assert {path.stem for path in (tmp_path / "first/plots").iterdir()} == {
        *("scores_builtin_stories", "adversaries_builtin_stories", "training_curves")
    }
    stages = tmp_path / "stages"
    kept = {path: path.read_bytes() for path in stages.glob("augmented_references-*/values.tsv")}
    assert len(kept) == 5
    second = run(*command, f"run_dir={tmp_path}/second")
    assert second.returncode == 0, second.stderr
    assert json.loads((tmp_path / "second/results.json").read_text("utf-8"))["table"] == results["table"]
    assert {path: path.read_bytes() for path in stages.glob("augmented_references-*/values.tsv")} == kept


def test_wrong_settings_are_reported_before_a_model_is_trained(run: Callable[..., Any], tmp_path: Path) -> None:
    toy = ("+exp=mars_story", *TOY, "data.train=200", "data.held_out=20", "data.rated=24", f"outputs={tmp_path}")
    found = run(*toy, "model.metric.q=0")
    assert found.returncode != 0
    assert "q must be greater than 0, but is 0" in found.stderr
    assert not (tmp_path / "stages").exists()


def scored_texts(ratings: list[float], systems: list[str | None], **values: list[float]) -> ScoredSet:
    """Texts `x`, two of each input."""
    examples = tuple(
        Example(
            str(i), "x", references=("y",), system=system, group=str(i // 2), ratings={"mean": rating, "other": 0.0}
        )
        for i, (system, rating) in enumerate(zip(systems, ratings, strict=True))
    )
    scores = {
        metric: Scores({"quality": np.array(column)}, "s", [None if v == v else "no" for v in column])
        for metric, column in values.items()
    }
    return ScoredSet("news", examples, scores)


def test_agreement_within_each_system() -> None:
    """b rates its own texts upside down; one text of a has no score, c has one text only."""
    ratings, values = [1.0, 2.0, 3.0, 9.0, 1.0, 2.0, 4.0, 3.0], [0.1, 0.2, 0.3, math.nan, 0.8, 0.6, 0.2, 0.5]
    texts = scored_texts(ratings, [*"aaaabbbc"], mars=values)
    found = measure_within_systems(texts)
    lengths = measure_lengths(texts)
    table = make_system_table(MarsFindings(lengths, [], texts, {}, found, {}, {}, {}, (0.0, 0.2), {0.2: 1.0}, None))
    assert table.title == "Within systems: news"
    assert "(mean)" in table.caption
    assert [(row["metric"], row["system"], row["n"]) for row in table.rows] == [
        *(("mars", "a", 3), ("mars", "b", 3), ("mars", "c", 1))
    ]
    assert [row["pearson"].value for row in table.rows] == pytest.approx([1.0, -1.0, math.nan], nan_ok=True)
    assert measure_within_systems(scored_texts(ratings, [None, *"aaabbbc"], mars=values)) == {}
    assert measure_within_systems(scored_texts(ratings, [*"aaaaaaaa"], mars=values)) == {}


def test_gains_and_falls_are_paired_differences() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=200)
    good, bad = ratings + rng.normal(size=200), rng.normal(size=200)
    bad[0] = math.nan
    originals = scored_texts([*ratings], [None] * 200, mars=[*good], plain=[*bad])
    gain = measure_gain(originals, "plain")
    assert gain.n == 199
    expected = np.corrcoef(good[1:], ratings[1:])[0, 1] - np.corrcoef(bad[1:], ratings[1:])[0, 1]
    assert gain.pearson.value == pytest.approx(expected)
    assert gain.pearson.low > 0
    worse = scored_texts([*ratings], [None] * 200, mars=[*(good - 1 + (np.arange(200) < 50) * 2)])
    fall = measure_fall(originals, worse, "mars")
    assert fall.n == 200
    assert fall.below.value == pytest.approx(0.75)
    assert fall.below.low < 0.75 < fall.below.high
    assert fall.fall.value == pytest.approx(
        np.corrcoef(good, ratings)[0, 1] - np.corrcoef(worse.values("mars", "mean"), ratings)[0, 1]
    )
    assert measure_fall(originals, originals, "mars").fall.value == 0


def test_deviations_are_sample_deviations_of_all_references() -> None:
    """Of the human one too: Table 5 has a deviation at 20 %, where there is one augmented reference, and none at 0."""
    compared = [Compared((0.0, 0.2, 0.4), np.array([[0.5, 0.1, 0.3], [0.5, 0.5, 0.5], [0.9, np.nan, 0.5]]), "x")]
    found = mean_deviations(compared, (0.0, 0.2, 0.4))
    assert [found[0.0], found[0.2], found[0.4]] == pytest.approx([math.nan, 0.08**0.5 / 2, 0.1], nan_ok=True)


def altered(reference: str, blanks: Sequence[int]) -> tuple[AugmentedReference, ...]:
    """A reference at the ratios 0, .2, .4 with so many blanks each."""
    templates = [tuple(Blank(1) for _ in range(count)) for count in blanks]
    return tuple(
        AugmentedReference("", reference, ratio, template, Augmented("", (), 0.0, 0))
        for ratio, template in zip((0.0, 0.2, 0.4), templates, strict=True)
    )


def test_the_share_of_references_with_a_blank_counts_each_reference_once() -> None:
    rows = altered("a", [0, 0, 1]), altered("b", [0, 1, 2]), altered("c", [0, 0, 0])
    ratios, nothing = (0.0, 0.2, 0.4), np.zeros((1, 3))
    compared = [Compared(ratios, nothing, "x", (row,)) for row in (*rows, rows[1], rows[1])]
    assert measure_altered(compared, ratios) == pytest.approx({0.0: 0, 0.2: 1 / 3, 0.4: 2 / 3})
    assert measure_altered([], (0.2,)) == pytest.approx({0.2: math.nan}, nan_ok=True)
    texts = scored_texts([1.0, 2.0], ["a", "b"], mars=[0.1, 0.2])
    found = MarsFindings(
        measure_lengths(texts),
        *([], texts, {}, measure_within_systems(texts), {}, {}, {}, ratios, measure_altered(compared, ratios), None),
    )
    assert found.share_altered == pytest.approx(1 / 2)
    assert {row["altered"] for row in make_system_table(found).rows} == {found.share_altered}


def test_lengths_are_those_of_inputs() -> None:
    one = Example("a", "x", context="a b c d", references=("a.", "a b c d"), group="g")
    other = Example("c", "x", context="a b", references=("a b c",))
    found = measure_lengths(RatedSet("r", (one, replace(one, id="b"), other), synthetic=False))
    assert (found.texts, found.inputs, found.context, found.reference) == (3, 2, 3, 3)
    assert found.omega == 1


def test_disagreements_are_the_largest_differences_of_ranks() -> None:
    texts = scored_texts([1.0, 4.0, 2.0, 3.0, 5.0], [None] * 5, mars=[0.9, 0.5, 0.1, 0.7, math.nan])
    copied = replace(texts.examples[0], text="a cat", context="It was a cat .")
    unknown = replace(texts.examples[1], text="an UNK token")
    examples = (copied, unknown, *texts.examples[2:])
    first, second = find_errors(replace(texts, examples=examples), count=2)
    worst, other = first.disagreement, second.disagreement
    assert (worst.example, worst.rating, worst.score) == (copied, 1.0, 0.9)
    assert (worst.rating_rank, worst.score_rank) == (0.0, 1.0)
    assert (first.is_copied, first.has_unknown, second.is_copied, second.has_unknown) == (True, False, False, True)
    assert other.score_rank - other.rating_rank == pytest.approx(-2 / 3)


def test_raw_perplexity_and_shared_texts() -> None:
    scores = Scores({"quality": np.array([-math.log(75.0), math.nan])}, "perplexity", [None, "blank"])
    raw = to_raw_perplexity(scores)
    assert raw.values["quality"] == pytest.approx([75.0, math.nan], nan_ok=True)
    assert raw.reasons == (None, "blank")
    examples = scored_texts([1.0] * 6, [None] * 6, mars=[1.0] * 6).examples
    other = (replace(examples[0], text="y"), *examples[1:])
    assert count_shared_texts(other) == (2, 3)


def test_figure_3_has_a_colour_for_each_system_and_means_of_many_texts_only() -> None:
    def drawn(ratings: list[float], systems: list[str | None]) -> tuple[int, int]:
        """How many clouds of points and how many lines."""
        examples = tuple(
            Example(str(i), text="x", system=system, ratings={"mean": rating})
            for i, (system, rating) in enumerate(zip(systems, ratings, strict=True))
        )
        scores = Scores({"quality": np.linspace(0, 1, len(examples))}, "s")
        [panel] = scores_against_ratings(ScoredSet("a", examples, {"mars": scores})).axes
        return len(panel.collections), len(panel.lines)

    assert drawn([1.0, 2.0] * 5, ["a", "b"] * 5) == (2, 1)
    assert drawn([1.0, 2.0] * 4, [None] * 8) == (1, 0)
    assert drawn([1 / 3, 1 - 2 / 3] * 5, [str(i) for i in range(10)]) == (1, 1)  # one rating, many systems


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "data", "sets"),
    [
        ("mars_story", "roc_stories", ("mans_roc", "mans_roc_reorder", "mans_roc_retrieve")),
        ("mars_news", "newsroom", ("newsroom", "newsroom_reorder", "newsroom_retrieve")),
        ("mars_qa", "qa_ratings", ("semeval_mhpg", "semeval_mhpg_reorder", "semeval_mhpg_retrieve")),
    ],
)
def test_public_sets_run_to_the_end(
    run: Callable[..., Any], shared_data: Path, tmp_path: Path, experiment: str, data: str, sets: tuple[str, ...]
) -> None:
    found = run(
        f"+exp={experiment}",
        f"data={data}",
        f"data.root={shared_data}",
        *TOY,
        *(["data.sets=[semeval_mhpg]"] if data == "qa_ratings" else []),
        f"run_dir={tmp_path}/run",
        f"outputs={tmp_path}",
    )
    assert found.returncode == 0, found.stderr
    results = json.loads((tmp_path / "run/results.json").read_text("utf-8"))
    rows = [row for row in results["table"] if "synthetic" in row]
    assert {row["set"] for row in rows} == set(sets)
    by_ratio = [row for row in results["table"] if "mean deviation" in row]
    assert {row["aspect"] for row in by_ratio} == {"mean" if data == "newsroom" else next(iter(rows))["aspect"]}
    assert {row["synthetic"] for row in rows} == {False}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    TinyGPT2(300, 16, 2, 1, 32).build(["the old dog ran after a red ball."], (), 0).save_pretrained(tmp_path / "lm")
    return tmp_path / "lm"


def examples(path: Path) -> Path:
    lines = [
        {
            "id": "a",
            "text": "a dog ran",
            "context": "In the park.",
            "references": ["the old dog ran after a red ball ."],
        },
        {
            "id": "b",
            "text": "a cat sat",
            "context": "In the park.",
            "references": ["the old dog ran after a red ball ."],
        },
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return path


def test_augmented_references_are_written_for_reading(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    data, out = examples(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    long = {"id": "c", "text": "a dog", "references": ["the old dog ran . " * 400]}
    data.write_text(data.read_text("utf-8") + json.dumps(long) + "\n", encoding="utf-8")
    found = run(
        *("+exp=augment", f"data.path={data}", f"output={out}", f"metric.language_model={model}"),
        *(f"run_dir={tmp_path}/run", f"outputs={tmp_path}/o"),
    )
    assert found.returncode == 0, found.stderr
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line.get("ratio") for line in lines] == [0.0, 0.2, 0.4, 0.6, None]  # one reference, though two candidates
    assert lines[0]["text"] == lines[0]["template"] == lines[0]["reference"]
    assert {line["context"] for line in lines[:4]} == {"In the park."}
    assert "[" in lines[1]["template"]
    assert lines[3]["fills"]
    assert lines[3]["kl"] > 0
    assert "the model reads" in lines[4]["reason"]
    results = json.loads((tmp_path / "run/results.json").read_text("utf-8"))
    assert results["notes"] == [f"1 of 2 references could not be augmented; {out} says why"]
    assert results["figures"]["references"] == 2
    assert results["figures"]["augmented references"] == 3


def test_what_is_written_for_reading_is_the_same_in_any_batch(model: Path) -> None:
    reference = "the old dog ran after a red ball ."
    few = [Example(str(i), text="x", references=(reference[:n],), context="a dog") for i, n in enumerate((20, 27, 34))]
    written = [
        [line for row in metric.augment(few) for line in list_lines(row)]
        for metric in (MARS.from_pretrained(str(model), token_budget=budget) for budget in (1, 8192))
    ]
    assert written[0] == written[1]
    assert any(len(fill["perplexities"]) > 1 for line in written[0] for fill in line["fills"])


def test_scores_of_a_file(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    data, out = examples(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    found = run(
        *("+exp=score", "metric=mars", f"data.path={data}", f"output={out}"),
        *(f"metric.language_model={model}", f"outputs={tmp_path}/o"),
    )
    assert found.returncode == 0, found.stderr
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == ["a", "b"]
    assert all(-1 <= line["scores"]["quality"] <= 1 for line in lines)
    assert lines[0]["scores"]["quality"] > lines[1]["scores"]["quality"]
    assert "mars|" in json.loads((tmp_path / "out.jsonl.meta.json").read_text("utf-8"))["signature"]


def test_a_counted_corpus_decides_what_is_masked_and_is_named(
    run: Callable[..., Any], model: Path, tmp_path: Path
) -> None:
    data, corpus, table = examples(tmp_path / "in.jsonl"), tmp_path / "corpus.txt", tmp_path / "idf.json"
    corpus.write_text("a dog\na cat ran\n", encoding="utf-8")
    counted = run("+exp=idf", f"corpus={corpus}", f"output={table}", f"outputs={tmp_path}/o")
    assert counted.returncode == 0, counted.stderr
    name = json.loads(table.read_text("utf-8"))["corpus"]
    for documents in ([], [f"metric.documents={table}"], [f"metric.documents={corpus}"]):
        found = run(
            *("+exp=score", "metric=mars", f"data.path={data}", f"output={tmp_path}/out.jsonl"),
            *(f"metric.language_model={model}", f"outputs={tmp_path}/o", *documents),
        )
        assert found.returncode == 0, found.stderr
        signature = json.loads((tmp_path / "out.jsonl.meta.json").read_text("utf-8"))["signature"]
        assert (f"|documents={name}|" in signature) == bool(documents)
        assert "|documents=references|" not in signature


def test_data_without_references_is_reported_by_line(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    data = tmp_path / "in.jsonl"
    data.write_text('{"id": "a", "text": "a dog ran"}\n', encoding="utf-8")
    found = run(
        *("+exp=score", "metric=mars", f"data.path={data}", f"output={tmp_path}/out.jsonl"),
        *(f"metric.language_model={model}", f"outputs={tmp_path}/o"),
    )
    assert found.returncode == 2
    assert "in.jsonl:1:" in found.stderr
    assert "references" in found.stderr
