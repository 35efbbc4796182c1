"""Summaries of news by several systems, rated: Newsroom (Grusky et al. 2018) and SummEval (Fabbri et al. 2021).

`root` is the folder that holds `newsroom/` and `summeval/`, or one of them itself.
"""

import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from core.example import Example
from core.faults import read_all
from core.settings import Number
from data.download import GITHUB, PublicFile, by_file_name, find_file, require_file
from data.records import Identified, NonEmpty, Record, Text, load_examples
from meta_eval.scored_set import ScoredSet

SAMPLE = "newsroom/newsroom_sample.jsonl"
MORE = "newsroom/newsroom_more.jsonl"
NEWSROOM_ASPECTS = ("coherence", "fluency", "informativeness", "relevance")


class Summary(Record):
    """A summary; its other fields are its ratings, the first aspect first."""

    text: Text


class NewsroomSummary(Summary):
    """A summary with the means of its ratings by aspect, and their mean."""

    mean: Number
    coherence: Number
    fluency: Number
    informativeness: Number
    relevance: Number


class SummEvalSummary(Summary):
    """A summary with the means of three experts' ratings."""

    relevance: Number
    coherence: Number
    consistency: Number
    fluency: Number


S = TypeVar("S", bound=Summary)


class Article(Identified, Generic[S]):
    """A line of a file: an article and its summaries by system."""

    source: Text
    systems: Annotated[dict[str, S], Field(min_length=1)]


class NewsroomArticle(Article[NewsroomSummary]):
    """A line of `newsroom.jsonl`."""

    reference: Text


class SummEvalArticle(Article[SummEvalSummary]):
    """A line of `summeval.jsonl`."""

    references: NonEmpty[Text]


def load_newsroom(root: Path | str, download: bool = False) -> ScoredSet:
    """Each summary with its article as `context`, the one human summary, and four ratings of 1 to 5.

    Aspects: coherence, fluency, informativeness and relevance, and their `mean`, which MARS uses. All 60 articles if
    `newsroom.jsonl` exists, else a sample of every tenth article, and 30 more where `newsroom_more.jsonl` is beside it.
    """
    path = find_file(root, NEWSROOM.name) or find_file(root, SAMPLE) or require_file(root, NEWSROOM, download)
    more = find_file(root, MORE) if path.name == Path(SAMPLE).name else None
    paths = [path] if more is None else [path, more]

    def to_examples(article: NewsroomArticle) -> list[Example]:
        return _list_summaries(article, (article.reference,))

    parts = read_all([partial(load_examples, each, NewsroomArticle, to_examples) for each in paths])
    return ScoredSet("newsroom", tuple(example for part in parts for example in part))


def load_summeval(root: Path | str, download: bool = False) -> ScoredSet:
    """Each summary with its article as `context`, its human summaries, and four ratings of 1 to 5.

    The first reference is that of the newspaper; ten others are by other writers.
    """

    def to_examples(article: SummEvalArticle) -> list[Example]:
        return _list_summaries(article, article.references)

    examples = load_examples(require_file(root, SUMMEVAL, download), SummEvalArticle, to_examples)
    return ScoredSet("summeval", examples)


def _list_summaries(article: Article[Any], references: Sequence[str]) -> list[Example]:
    return [
        Example(
            f"{article.id}-{system}",
            text=summary.text,
            context=article.source,
            references=tuple(references),
            system=system,
            group=article.id,
            ratings=summary.model_dump(exclude={"text"}),
        )
        for system, summary in article.systems.items()
    ]


class PlainUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, texts and numbers; refuses everything else, because a pickle may run code."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Raises UnpicklingError for any class or function."""
        raise pickle.UnpicklingError(f"refused: {module_name}.{global_name}")


def read_articles(folder: Path) -> Iterator[dict[str, Any]]:
    """Every article of `data.pkl` with the summaries of its systems."""
    with (folder / "data.pkl").open("rb") as file:
        articles: dict[str, Any] = PlainUnpickler(file).load()
    for key, article in articles.items():
        systems: dict[str, Any] = {}
        for name, summary in article["sys_summs"].items():
            ratings = {aspect: summary["scores"][aspect] for aspect in NEWSROOM_ASPECTS}
            mean = sum(ratings.values()) / len(NEWSROOM_ASPECTS)
            systems[name] = {"text": summary["sys_summ"], **ratings, "mean": mean}
        yield {
            "id": f"newsroom-{key}",
            "source": article["src"],
            "reference": article["ref_summ"],
            "systems": systems,
        }


LICENCE = "the articles belong to their publishers: for research"
ORIGINAL = f"{GITHUB}/neulab/BARTScore/40c658fb5c8686cfef852bb73777439beb7d44ef/SUM/Newsroom/data.pkl"
NEWSROOM = PublicFile(
    "newsroom/newsroom.jsonl", f"repository: Apache-2.0; {LICENCE}", by_file_name(ORIGINAL), prepare=read_articles
)
SUMMEVAL = PublicFile("summeval/summeval.jsonl", f"SummEval: MIT; {LICENCE}")
FILES = (NEWSROOM,)
