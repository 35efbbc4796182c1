"""SummEval: summaries of news by many systems, rated by experts, with many human summaries (Fabbri et al. 2021).

`root` is the folder that holds `summeval/` (and `roc_stories/`), or this folder itself.
"""

from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from core.example import Example
from core.settings import Number
from data.corpus import Corpus, RatedSet
from data.download import PublicFile, require_file
from data.records import Identified, NonEmpty, Record, Text, load_examples
from data.sets.stories import add_plain_stories, load_roc_plain
from data.splits import HELD_OUT_FRACTION

ASPECTS = ("coherence", "consistency", "fluency", "relevance")
FILE = PublicFile(
    "summeval/summeval.jsonl",
    "SummEval: MIT; the articles belong to their publishers: for research",
)


class Summary(Record):
    """A summary and the mean ratings of three experts."""

    text: Text
    coherence: Number
    consistency: Number
    fluency: Number
    relevance: Number


class Article(Identified):
    """A line of `summeval.jsonl`."""

    source: Text
    references: NonEmpty[Text]
    systems: Annotated[dict[str, Summary], Field(min_length=1)]


def summeval(
    root: Path | str, plain_stories: bool = False, held_out_fraction: float = HELD_OUT_FRACTION, seed: int = 0
) -> Corpus:
    """Rated summaries, the aspect `relevance` first.

    Args:
        root: the folder of the public sets.
        plain_stories: whether plain ROC stories are read to train a small model; the set itself has no such texts.
        held_out_fraction: the share of the stories for the held-out loss.
        seed: of the choice of the held-out stories.

    Raises InputFaults if a file is missing or faulty.
    """
    plain = partial(load_roc_plain, root) if plain_stories else None
    return add_plain_stories("summeval", [partial(load_summeval, root)], plain, held_out_fraction, seed)


def load_summeval(root: Path | str) -> RatedSet:
    """Each summary with its article as `context`, its human summaries, and four ratings of 1 to 5.

    The first reference is that of the newspaper; ten others are by other writers.
    """

    def to_examples(article: Article) -> list[Example]:
        return [
            Example(
                f"{article.id}-{system}",
                text=summary.text,
                context=article.source,
                references=article.references,
                system=system,
                group=article.id,
                ratings={aspect: getattr(summary, aspect) for aspect in ("relevance", *ASPECTS)},
            )
            for system, summary in article.systems.items()
        ]

    return RatedSet("summeval", load_examples(require_file(root, FILE), Article, to_examples), synthetic=False)
