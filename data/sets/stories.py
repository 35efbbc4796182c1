"""Stories: the built-in ones, and ROC stories with continuations that people rated.

`root` is the folder that holds `roc_stories/`, or this folder itself.
"""

import json
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from core.example import Example
from core.faults import fault, format_value
from core.settings import Number
from data.builtin.stories import generate_stories, rated_stories
from data.corpus import Corpus, fold_text, generate_corpus
from data.download import GITHUB, PublicFile, by_file_name, require_file
from data.records import Identified, NonEmpty, Text, load_examples, require_none
from data.sentences import split_at_marks
from data.text_files import iterate_lines
from meta_eval.scored_set import ScoredSet


class Continuation(Identified):
    """A line of `mans_roc.jsonl`."""

    prompt: Text
    reference: Text
    system: Text
    text: Text
    ratings: NonEmpty[Number]
    mean_rating: Number


def builtin_stories(train: int = 20000, held_out: int = 400, rated: int = 400, seed: int = 0) -> Corpus:
    """Generated stories: no network, no files; the quality of the rated endings is known by construction.

    `train` + `held_out` stories are generated; the stories of `held_out` contexts are held out (few contexts have a
    second story). No context of a rated ending is among them.
    """
    sizes = train, held_out, rated
    return generate_corpus("builtin_stories", generate_stories, rated_stories, attrgetter("context"), sizes, seed)


def load_mans_roc(root: Path | str, download: bool = False) -> ScoredSet:
    """MANS (Guan et al. 2021): 200 first sentences, each continued by five systems and rated by five annotators.

    `context` is the first sentence, the reference is the human continuation, and `ratings["overall"]` is the mean of
    the five ratings of 1 to 5.
    """

    def to_examples(record: Continuation) -> list[Example] | str:
        if abs(fmean(record.ratings) - record.mean_rating) > 1e-6:
            found = f"{format_value(record.mean_rating)} for {format_value(record.ratings)}"
            return f'"mean_rating" must be the mean of "ratings", found {found}'
        example = Example(
            record.id,
            text=record.text,
            context=record.prompt,
            references=(record.reference,),
            system=record.system,
            group=record.id.removesuffix(f"-{record.system}"),
            ratings={"overall": record.mean_rating},
        )
        return [example]

    examples = load_examples(require_file(root, RATED, download), Continuation, to_examples)
    return ScoredSet("mans_roc", examples)


def load_roc_plain(root: Path | str, download: bool = False) -> tuple[Example, ...]:
    """Plain ROC stories (Mostafazadeh et al. 2016), mostly of five sentences; `context` is all but the last of them."""
    path = require_file(root, PLAIN, download)
    faults: list[str] = []
    examples: list[Example] = []
    for line, text in iterate_lines(path, faults):
        if not text.strip():
            faults.append(fault(path, line, f"a line must be a story, found {format_value(text)}"))
            continue
        beginning = split_at_marks(text)[:-1]
        examples.append(Example(f"{path.stem}-{line}", text=text.strip(), context=" ".join(beginning) or None))
    return require_none(examples, faults)


def read_rated(folder: Path) -> Iterator[dict[str, Any]]:
    """Every continuation of `mans_roc.json` with its ratings."""
    for key, story in json.loads((folder / "mans_roc.json").read_text("utf-8")).items():
        for system, continuation in story["gen"].items():
            yield {
                "id": f"mans-roc-{key}-{system}",
                "prompt": story["prompt"],
                "reference": story["gold_response"],
                "system": system,
                "text": continuation["text"],
                "ratings": continuation["score"],
                "mean_rating": fmean(continuation["score"]),
            }


def read_plain(folder: Path) -> Iterator[str]:
    """The distinct stories of `reference.txt` that are not references in `mans_roc.jsonl`, the rated set."""
    with (folder / "mans_roc.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rated = {fold_text(f"{row['prompt']} {row['reference']}") for row in rows}
    with (folder / "reference.txt").open(encoding="utf-8") as file:
        stories = dict.fromkeys(line.strip() for line in file)
    return (story for story in stories if story and fold_text(story) not in rated)


LICENCE = "none stated: for research, not to be passed on"
MANS = f"{GITHUB}/Boran-lucas/NLP_project/HEAD/data/mans_data"  # a copy whose commit is not known
UNION = f"{GITHUB}/thu-coai/UNION/f675d7bb57454b70bdaf1e62f45834f08e80d613/Data/ROCStories/ant_data"
RATED = PublicFile("roc_stories/mans_roc.jsonl", LICENCE, by_file_name(f"{MANS}/mans_roc.json"), prepare=read_rated)
PLAIN = PublicFile(
    "roc_stories/roc_plain.txt",
    LICENCE,
    by_file_name(f"{UNION}/reference.txt"),
    prepare=read_plain,
    first=RATED.name,
)
FILES = (RATED, PLAIN)
