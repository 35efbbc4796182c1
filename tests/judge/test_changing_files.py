"""Files that change under a run: scores are kept under the hash of what was read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import judge
from baselines.word_count import WordCount
from core.errors import InputError
from core.example import Example
from core.scores import Scores, require
from core.stages import Stages
from data.files import iterate_examples, read_examples
from data.input_file import InputFile
from data.scored import read_scored
from data.scoring import score_set
from tests.data.sets.small_files import write as write_lines

SHORT, LONG = ["a", "a b"], ["a b c", "a b c d", "a b c d e"]
REFUSED = "the file changed while it was read: run the command again"


def write(path: Path, texts: Sequence[str]) -> Path:
    return write_lines(path, *({"id": str(i), "text": text} for i, text in enumerate(texts)))


@dataclass(frozen=True)
class Shares:
    """The number of words of a text as a share of that of the corpus, which is the file."""

    words: int = 0
    requires = require()

    @property
    def signature(self) -> str:
        """Names the corpus, as every metric with a corpus does."""
        return f"shares|words={self.words}"

    def with_corpus(self, corpus: Iterable[Example]) -> "Shares":
        """The metric with the words of the corpus counted."""
        return replace(self, words=sum(len(example.full_text.split()) for example in corpus))

    def score(self, examples: Sequence[Example]) -> Scores:
        """The shares."""
        found = WordCount().score(examples)
        return Scores({"quality": found.values["quality"] / self.words}, self.signature)


def test_a_file_that_changes_while_models_load_is_scored_as_it_was_and_then_as_it_is(tmp_path: Path) -> None:
    path, stages = write(tmp_path / "in.jsonl", SHORT), Stages(tmp_path / "stages")
    file = read_scored(path)
    write(path, LONG)  # while models load
    first = score_set(file, {"m": WordCount()}, stages)
    assert first.scores["m"].values["quality"].tolist() == [1, 2]
    second = score_set(read_scored(path), {"m": WordCount()}, stages)
    assert second.scores["m"].values["quality"].tolist() == [3, 4, 5]


@dataclass(frozen=True)
class ChangingFile(Shares):
    """Shares of a corpus that changes its own file while it is prepared."""

    path: Path = Path()

    def with_corpus(self, corpus: Iterable[Example]) -> "Shares":
        """Writes the file, then counts the corpus."""
        write(self.path, LONG)
        return super().with_corpus(corpus)


def test_chunks_and_corpus_are_those_of_the_file_that_was_read(tmp_path: Path) -> None:
    path, output = write(tmp_path / "in.jsonl", SHORT), tmp_path / "out.jsonl"
    how = {"output": output, "chunk": 1, "stages": tmp_path / "stages"}
    found = judge.score(path, ChangingFile(path=path), **how)
    assert (found.signature, found.found.values["quality"].tolist()) == ("shares|words=3", [1 / 3, 2 / 3])
    assert judge.score(path, "word_count", **how).found.values["quality"].tolist() == [3, 4, 5]


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
