"""Files that change under a run: scores are kept under the hash of what was read."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from baselines.word_count import WordCount
from core.errors import InputError
from core.example import Example
from core.scores import Scores, require
from core.stages import Stages
from data.files import iterate_examples, read_examples
from data.input_file import InputFile
from data.scored import read_scored
from data.scoring import read_part, score_set
from judge.engines import LocalEngine, ScoringActor, encode_chunk, read_again
from judge.metrics import MetricPlan
from judge.streaming import ScorableFile, check_scorable, keep_scores

SHORT, LONG = ["a", "a b"], ["a b c", "a b c d", "a b c d e"]
REFUSED = "the file changed while it was read: run the command again"


def write(path: Path, texts: Sequence[str]) -> Path:
    path.write_text("".join(f"{json.dumps({'id': str(i), 'text': text})}\n" for i, text in enumerate(texts)))
    return path


@dataclass(frozen=True)
class Shares:
    """The number of words of a text as a share of that of the corpus, which is the file."""

    words: int = 0
    requires = require()

    @property
    def signature(self) -> str:
        """Names the corpus, as every metric with a corpus does."""
        return f"shares|words={self.words}"

    @classmethod
    def from_file(cls, path: str) -> "FixedShares":
        """The shares of a corpus in a file of its own."""
        return FixedShares(cls().with_corpus(read_examples(path)).words)

    def with_corpus(self, corpus: Iterable[Example]) -> "Shares":
        """The metric with the words of the corpus counted."""
        return replace(self, words=sum(len(example.full_text.split()) for example in corpus))

    def score(self, examples: Sequence[Example]) -> Scores:
        """The shares."""
        found = WordCount().score(examples)
        return Scores({"quality": found.values["quality"] / self.words}, self.signature)


@dataclass(frozen=True)
class FixedShares:
    """Shares of a corpus that is given."""

    words: int
    requires = require()
    signature = Shares.signature
    score = Shares.score


def score_words(file: ScorableFile, stages: Stages) -> list[float]:
    engine = LocalEngine({"m": WordCount()})
    kept = keep_scores(file, engine, engine.prepare(file), stages)
    parts = [read_part(kept["m"], bounds) for bounds in file.bounds]
    return [value for part in parts for value in part.values["quality"]]


def test_a_file_that_changes_while_models_load_is_scored_as_it_was_and_then_as_it_is(tmp_path: Path) -> None:
    path, stages = write(tmp_path / "in.jsonl", SHORT), Stages(tmp_path / "stages")
    file = read_scored(path)
    write(path, LONG)  # while models load
    first = score_set(file, {"m": WordCount()}, stages)
    assert first.scores["m"].values["quality"].tolist() == [1, 2]
    second = score_set(read_scored(path), {"m": WordCount()}, stages)
    assert second.scores["m"].values["quality"].tolist() == [3, 4, 5]


def test_chunks_of_a_file_that_changes_while_models_load_are_those_that_were_read(tmp_path: Path) -> None:
    path, stages = write(tmp_path / "in.jsonl", SHORT), Stages(tmp_path / "stages")
    file = check_scorable(path, {"m": WordCount()}, chunk=1)
    write(path, LONG)
    assert score_words(file, stages) == [1, 2]
    assert score_words(check_scorable(path, {"m": WordCount()}, chunk=1), stages) == [3, 4, 5]


def test_the_corpus_is_the_file_that_was_read(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", SHORT)
    file = check_scorable(path, {"m": Shares()}, chunk=1)
    write(path, LONG)
    assert LocalEngine({"m": Shares()}).prepare(file) == {"m": "shares|words=3"}


def test_another_process_refuses_a_file_that_has_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", SHORT)
    file = check_scorable(path, {"m": Shares()}, chunk=1)
    assert [example.text for example in read_again(InputFile(path), file.sha256)] == SHORT
    write(path, LONG)
    with pytest.raises(InputError, match=rf"in\.jsonl: {REFUSED}"):
        list(read_again(InputFile(path), file.sha256))


def test_a_worker_refuses_a_corpus_that_has_changed_since_signatures_were_asked(tmp_path: Path) -> None:
    path, corpus = write(tmp_path / "in.jsonl", SHORT), write(tmp_path / "corpus.jsonl", SHORT)
    target = {"_target_": "tests.judge.test_changing_files.Shares.from_file", "path": str(corpus)}
    config = {"m": MetricPlan("shares", target)}
    file = check_scorable(path, {"m": WordCount()}, chunk=2)
    batch = {"chunk": [encode_chunk([(1, Example("a", text="a b c"))])], "names": ['["m"]']}
    actor = ScoringActor(config, {"m": "shares|words=3"}, file.source, file.sha256, path)
    assert json.loads(actor(batch)["scores"][0])["m"]["values"] == {"quality": [1.0]}
    write(corpus, LONG)
    changed = ScoringActor(config, {"m": "shares|words=3"}, file.source, file.sha256, path)
    with pytest.raises(InputError, match="m: its files and models must stay as they are during a run"):
        changed(batch)


def change_after_a_line(path: Path) -> Iterator[Example]:
    lines = iterate_examples(path)
    yield next(lines)[1]
    write(path, LONG)
    yield from (example for _, example in lines)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", SHORT)
    with pytest.raises(InputError, match=rf"in\.jsonl: {REFUSED}"):
        list(change_after_a_line(path))
    assert [example.text for example in read_examples(path)] == LONG


def test_a_file_that_changed_between_its_recognition_and_its_reading_is_refused(tmp_path: Path) -> None:
    file = InputFile(write(tmp_path / "in.jsonl", SHORT))
    assert file.tool_file is None
    write(file.path, LONG)
    with pytest.raises(InputError, match=REFUSED):
        list(iterate_examples(file))


@pytest.mark.parametrize("place", [0, 1])
def test_aligned_files_that_change_are_refused_and_count(tmp_path: Path, place: int) -> None:
    texts, references = tmp_path / "t.txt", tmp_path / "r.txt"
    texts.write_text("a\nb\n")
    references.write_text("a\nb\n")
    file = InputFile.of(text=texts, references=[references])
    lines = iterate_examples(file)
    next(lines)
    (texts, references)[place].write_text("c\nd\n")
    with pytest.raises(InputError, match=REFUSED):
        list(lines)
    assert file.sha256() != InputFile.of(text=texts, references=[references]).sha256()


def test_levels_change_what_is_read(tmp_path: Path) -> None:
    """A metric of the user's may read ratings, so scores by other levels are not found again."""
    path = write(tmp_path / "in.jsonl", SHORT)
    plain = InputFile.of(path).sha256()
    assert InputFile.of(path, levels="auto").sha256() == plain
    given = [InputFile.of(path, levels=levels).sha256() for levels in (["poor", "good"], ["good", "poor"])]
    assert len({plain, *given}) == 3
