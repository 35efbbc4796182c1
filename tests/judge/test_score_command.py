import io
import json
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from baselines.word_count import WordCount
from core.example import Example
from core.scores import Scores, require
from core.stages import Stages
from data.files import write_examples
from data.input_file import InputFile
from data.scored import read_scored
from data.scoring import score_set
from data.text_files import standard_input
from judge.chunks import decode_chunk, read_chunks
from judge.metrics import plan_metric
from tests.data.sets.small_files import write
from tests.judge.tables import read_lines

Here = Callable[..., int]
Call = Callable[..., Any]
pytestmark = pytest.mark.filterwarnings("default")
TEN = [{"id": str(i), "text": "word " * (1 + i % 5)} for i in range(10)]


def test_a_file_without_the_required_field_is_refused_before_a_model_is_loaded(run: Call, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": "x", "context": "c"}\n{"id": "b", "text": "y"}\n')
    settings = ["score", "in.jsonl", "--output", "out.jsonl", "--metric.model"]
    ended = run(*settings, ".", "--metric", "bertscore")
    assert ended.stderr.splitlines() == [f"in.jsonl:{i}: the metric needs references, found none" for i in (1, 2)]
    ended = run(*settings, ".", "--metric", "bartscore")
    assert ".: a model's folder has config.json" in ended.stderr  # one example has a context, so the model is read
    ended = run(*settings[:4], "--metrics", "ctrleval", "--metrics.ctrleval.model", ".")
    assert ended.returncode == 2
    assert "in.jsonl:1: the metric needs prefix and label, found none" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@dataclass
class Killed:
    """Counts words, and dies at a call."""

    at: int
    calls: int = 0
    signature: str = "killed"
    notes: tuple[str, ...] = ()
    requires = require()

    def score(self, examples: Sequence[Example]) -> Scores:
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return replace(WordCount().score(examples), notes=self.notes)


@pytest.fixture
def stages(tmp_path: Path) -> Stages:
    return Stages(tmp_path / "stages")


def test_notes_are_kept_with_the_scores(tmp_path: Path, stages: Stages) -> None:
    """Five chunks note the same; a second run and another command score nothing, and show the note too."""
    write(tmp_path / "in.jsonl", *TEN)
    metric = Killed(at=6, notes=("ours, not theirs",))
    for _ in range(2):
        found = judge.score(tmp_path / "in.jsonl", metric, output=tmp_path / "out.jsonl", stages=stages.root, chunk=2)
        assert found.notes == ["ours, not theirs"]
    assert json.loads((tmp_path / "out.jsonl.meta.json").read_text())["notes"] == ["ours, not theirs"]
    rated = read_scored(tmp_path / "in.jsonl")
    assert score_set(rated, {"m": metric}, stages).scores["m"].notes == metric.notes
    assert metric.calls == 5
    fresh = replace(metric, signature="fresh", calls=0)
    assert score_set(rated, {"m": fresh}, stages).scores["m"].notes == metric.notes


SCORE = ("score", "in.jsonl", "--output", "out.jsonl")
REFERENCED = (
    '{"id": "a", "text": "one two", "references": ["one"]}\n{"id": "b", "text": "x"}\n'
    '{"id": "c", "text": "three", "references": ["three"]}\n'
)


def test_several_metrics_score_a_file_in_one_run(run_here: Here, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(REFERENCED)
    settings = ("--metrics", "bleu,word_count", "--metrics.bleu.order=1", "--metric", "rouge_1", "--chunk", "1")
    assert run_here(*SCORE, *settings) == 0
    rows = read_lines(tmp_path / "out.jsonl")
    assert [row["scores"] for row in rows] == [
        {"rouge_1": pytest.approx(2 / 3), "bleu": pytest.approx(0.5), "word_count": 2},
        {"rouge_1": None, "bleu": None, "word_count": 1},
        {"rouge_1": pytest.approx(1), "bleu": pytest.approx(1), "word_count": 1},
    ]
    assert rows[1]["reason"].startswith("rouge_1: rouge_1 needs references, found none; bleu: bleu1 needs")
    signatures = json.loads((tmp_path / "out.jsonl.meta.json").read_text())["signatures"]
    assert [each.partition("|")[0] for each in signatures.values()] == ["rouge_1", "bleu1", "word_count"]
    assert list(signatures) == ["rouge_1", "bleu", "word_count"]
    found = read_scored(tmp_path / "in.jsonl", {"all": tmp_path / "out.jsonl"})
    assert list(found.scores) == ["all/rouge_1", "all/bleu", "all/word_count"]
    metrics = [judge.load_metric("rouge_1"), judge.load_metric("bleu", order=1), "word_count"]
    written = judge.score(tmp_path / "in.jsonl", metrics, output=tmp_path / "python.jsonl", chunk=1)
    assert [list(row["scores"].values()) for row in read_lines(tmp_path / "python.jsonl")] == [
        list(row["scores"].values()) for row in rows
    ]
    assert (len(written.found), written.found.unscored, len(written.notes)) == (3, 1, 1)


@pytest.mark.parametrize("at", [1, 3])
def test_the_finished_chunks_of_each_metric_survive_a_kill(tmp_path: Path, at: int) -> None:
    """Ten texts in chunks of two; of a and b the second dies, after a run of b alone that died at another chunk."""
    write(tmp_path / "in.jsonl", *TEN)

    def run(folder: str, **metrics: Killed) -> Path:
        output = tmp_path / f"{folder}.jsonl"
        kept = tmp_path / folder / "stages"
        kept.mkdir(parents=True, exist_ok=True)
        judge.score(tmp_path / "in.jsonl", metrics, output=output, stages=kept, chunk=2)
        return output

    undisturbed = run("a", a=Killed(99, signature="a"), b=Killed(99, signature="b"))
    with pytest.raises(KeyboardInterrupt):
        run("b", b=Killed(2, signature="b"))  # one chunk of b is finished
    (rows,) = (tmp_path / "b").glob("stages/scores-*.values")
    with rows.open("ab") as broken:
        broken.write(b'{"id": "cut o')
    with pytest.raises(KeyboardInterrupt):
        run("b", a=Killed(at, signature="a"), b=Killed(99, signature="b"))
    first, second = Killed(99, signature="a"), Killed(99, signature="b")
    output = run("b", a=first, b=second)
    assert output.read_bytes() == undisturbed.read_bytes()
    assert first.calls == 5 - (at - 1)
    assert second.calls == 5 - max(1, at - 1)
    assert [row["scores"] for row in read_lines(output)][:2] == [{"a": 1, "b": 1}, {"a": 2, "b": 2}]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_every_chunk_has_an_example_that_can_be_scored(tmp_path: Path, size: int) -> None:
    complete = [1, 4, 5, 11]
    examples = [Example(str(i), text="t", references=("r",) if i in complete else ()) for i in range(15)]
    write_examples(tmp_path / "in.jsonl", examples)
    file = read_chunks(InputFile(tmp_path / "in.jsonl"), {"m": plan_metric("bleu")}, size)
    chunks = [*map(decode_chunk, file)]
    assert [example for chunk in chunks for _, example in chunk] == examples
    assert file.first == tuple(examples)  # the page shows them
    assert np.cumsum([len(chunk) for chunk in chunks]).tolist() == [end for _, end in file.bounds]
    assert all(any(example.references for _, example in chunk) for chunk in chunks)
    assert all(len(chunk) >= min(size, 15) for chunk in chunks[:-1])


def test_the_output_has_every_column_of_the_input(run_here: Here, tmp_path: Path) -> None:
    first = {"text": "a b", "system": "s", "group": "g", "references": ["r"], "note": [1], "label": "l"}
    first |= {"ratings": {"q": {"ann": 1.0, "bob": None}, "style": 2.0}}
    second = {"turns": ["a", "b"], "system": "t", "group": "h", "context": "c", "prefix": "p"}
    second |= {"ratings": {"q": {"bob": 4.0}}}
    write(tmp_path / "in.jsonl", first, second)
    expected = [{"id": "1", **first}, {"id": "2", **second}]
    assert run_here("agree", "in.jsonl", "--metrics", "word_count") == 0  # kept for what follows
    assert run_here("score", "in.jsonl", "--metric", "word_count", "--output", "out.jsonl") == 0
    found = read_scored(tmp_path / "out.jsonl")
    np.testing.assert_array_equal(found.raters["q"], [[1, np.nan], [np.nan, 4]])
    plain = [(e.id, e.text, e.turns, e.system, e.group, e.references, e.label) for e in found.examples]
    assert plain == [("1", "a b", (), "s", "g", ("r",), "l"), ("2", "", ("a", "b"), "t", "h", (), None)]
    assert found.values("quality", "").tolist() == [2, 2]
    rows = read_lines(tmp_path / "out.jsonl")
    assert [{k: v for k, v in row.items() if k not in ("scores", "dropped_tokens")} for row in rows] == expected


def test_a_pipe_gives_texts(run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in.jsonl", *TEN[:5])
    lines = (tmp_path / "in.jsonl").read_text().replace('"id": "3", ', "").replace('"id": "4"', '"id": "last"')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    standard_input.cache_clear()
    assert run("score", "-", "--metric", "word_count", "--output", "out.jsonl", "--chunk", "2").returncode == 0
    rows = read_lines(tmp_path / "out.jsonl")
    assert [row["id"] for row in rows] == ["0", "1", "2", "4", "last"]
    assert [row["scores"]["quality"] for row in rows] == [1, 2, 3, 4, 5]
    standard_input.cache_clear()


def test_the_memory_for_a_row_is_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are streamed: what stays of each is its score, and for a while a copy of it or the hash of its id."""
    monkeypatch.setattr("judge.chunks.IN_MEMORY", 2**14)

    def measure(rows: int) -> int:
        file = tmp_path / f"{rows}.jsonl"
        write(file, *({"text": f"The text number {i} says a few words."} for i in range(rows)))
        tracemalloc.start()
        try:
            judge.score(file, "word_count", output=tmp_path / "out.jsonl")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    measure(10)  # imports, and what is cached
    assert (measure(10_000) - measure(4_000)) / 6_000 < 24  # bytes: three numbers
