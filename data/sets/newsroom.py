"""Newsroom: summaries of articles by several systems, rated by people (Grusky et al. 2018).

`root` is the folder that holds `newsroom/` (and `roc_stories/`), or this folder itself.
"""

import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from core.example import Example
from core.faults import format_value, read_all
from core.settings import Number, Several, check
from core.settings import Text as Name
from data.corpus import Corpus, RatedSet
from data.download import GITHUB, PublicFile, find_file, require_file
from data.records import Identified, Record, Text, load_examples
from data.sets.stories import add_plain_stories, load_roc_plain
from data.splits import HELD_OUT_FRACTION

SAMPLE = "newsroom/newsroom_sample.jsonl"
MORE = "newsroom/newsroom_more.jsonl"
ASPECTS = ("coherence", "fluency", "informativeness", "relevance")
PAPER_SYSTEMS = ("textrank", "abstractive", "pointer_n")


class Summary(Record):
    """A summary and the means of its ratings."""

    text: Text
    mean: Number
    coherence: Number
    fluency: Number
    informativeness: Number
    relevance: Number


class Article(Identified):
    """A line of `newsroom.jsonl`."""

    source: Text
    reference: Text
    systems: Annotated[dict[str, Summary], Field(min_length=1)]


def newsroom(
    root: Path | str,
    download: bool = False,
    systems: Sequence[str] | None = PAPER_SYSTEMS,
    plain_stories: bool = False,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Rated summaries (MARS, Tables 3-5).

    Args:
        root: the folder of the public sets.
        download: whether missing files that have a known checksum are fetched into `root`.
        systems: whose summaries are read; None for all seven.
        plain_stories: whether plain ROC stories are read to train a small model; the set itself has no such texts.
        held_out_fraction: the share of the stories for the held-out loss.
        seed: of the choice of the held-out stories.

    Raises InputFaults if a file is missing or faulty, DownloadFault if one cannot be fetched.
    """
    plain = partial(load_roc_plain, root, download) if plain_stories else None
    rated = [partial(load_newsroom, root, systems, download)]
    return add_plain_stories("newsroom", rated, plain, held_out_fraction, seed)


def load_newsroom(root: Path | str, systems: Sequence[str] | None = PAPER_SYSTEMS, download: bool = False) -> RatedSet:
    """Each summary with its article as `context`, the one human summary, and four ratings of 1 to 5.

    Aspects: coherence, fluency, informativeness and relevance, and their `mean`, which MARS uses. All 60 articles if
    `newsroom.jsonl` exists, else a sample of every tenth article, and 30 more where `newsroom_more.jsonl` is beside it.
    """
    if systems is not None:
        check(Several[Name], systems=systems)
    path = find_file(root, FULL.name) or find_file(root, SAMPLE) or require_file(root, FULL, download)

    def to_examples(article: Article) -> list[Example] | str:
        wanted = list(article.systems) if systems is None else systems
        if missing := ", ".join(name for name in wanted if name not in article.systems):
            rule = f'"systems" must have {", ".join(wanted)}'
            return f"{rule}, but {missing} is missing among {format_value(list(article.systems))}"
        return [
            Example(
                f"{article.id}-{system}",
                text=article.systems[system].text,
                context=article.source,
                references=(article.reference,),
                system=system,
                group=article.id,
                ratings={aspect: getattr(article.systems[system], aspect) for aspect in ("mean", *ASPECTS)},
            )
            for system in wanted
        ]

    more = find_file(root, MORE) if path.name == Path(SAMPLE).name else None
    paths = [path] if more is None else [path, more]
    parts = read_all([partial(load_examples, each, Article, to_examples) for each in paths])
    return RatedSet("newsroom", tuple(example for part in parts for example in part), synthetic=False)


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
            ratings = {aspect: summary["scores"][aspect] for aspect in ASPECTS}
            systems[name] = {"text": summary["sys_summ"], **ratings, "mean": sum(ratings.values()) / len(ASPECTS)}
        yield {
            "id": f"newsroom-{key}",
            "source": article["src"],
            "reference": article["ref_summ"],
            "systems": systems,
        }


ORIGINAL = f"{GITHUB}/neulab/BARTScore/40c658fb5c8686cfef852bb73777439beb7d44ef/SUM/Newsroom/data.pkl"
FULL = PublicFile(
    "newsroom/newsroom.jsonl",
    "repository: Apache-2.0; the articles belong to their publishers: for research",
    {"data.pkl": ORIGINAL},
    prepare=read_articles,
)
FILES = (FULL,)
