"""Newsroom: rated summaries, published as a pickle of plain dictionaries."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ASPECTS = ("coherence", "fluency", "informativeness", "relevance")


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
