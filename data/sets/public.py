"""Public sets of rated texts, with public texts to train on: dialogues, stories, summaries and answers.

`root` is the folder that holds those of the sets (`fed/`, `newsroom/` ...), or one of these itself.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from core.example import Example
from core.faults import read_all
from core.settings import Several, check, one_of
from data.corpus import Corpus, fold_text, refuse_shared
from data.sets.dialogues import TRAINING_FILES, load_convai2, load_dialogues, load_dstc9, load_fed
from data.sets.qa_ratings import ANSWERS, MOCHA, load_mocha, load_qa_ratings
from data.sets.stories import load_mans_roc, load_roc_plain
from data.sets.summaries import load_newsroom, load_summeval
from data.splits import HELD_OUT_FRACTION, split_share
from meta_eval.scored_set import ScoredSet

Names: TypeAlias = str | Sequence[str]

RATED: Mapping[str, Callable[[Path | str, bool], ScoredSet]] = {
    "fed": load_fed,
    "dstc9": load_dstc9,
    "convai2": load_convai2,
    "newsroom": load_newsroom,
    "summeval": load_summeval,
    **{name: partial(load_qa_ratings, name) for name in ANSWERS},
    **{f"mocha_{name}": partial(load_mocha, name) for name in MOCHA},
    "mans_roc": load_mans_roc,
}
TRAINING: Mapping[str, Callable[[Path | str, bool], tuple[Example, ...]]] = {
    **{name: partial(load_dialogues, name) for name in TRAINING_FILES},
    "roc_stories": load_roc_plain,
}


def public_corpus(
    rated: Names,
    root: Path | str,
    download: bool = False,
    training_sets: Sequence[str] = (),
    plain_stories: bool = False,
    systems: Sequence[str] | None = None,
    name: str | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Rated sets (CDM, Tables 2-6; MARS, Tables 2-5) and texts to train on.

    Args:
        rated: one or several names in `RATED`.
        training_sets: names in `TRAINING`; dialogues do not mix with stories.
        plain_stories: whether plain ROC stories are read, to train a small model on, because the sets have no texts.
        systems: whose rated texts are read, in this order within a group; None for all.
        name: of the corpus; by default the names of its rated sets.

    Raises SettingFault if a rated text, or its reference after its context, is also a training text.
    """
    names = [rated] if isinstance(rated, str) else rated
    training = [*training_sets, *(["roc_stories"] if plain_stories else [])]
    check(Several[one_of(tuple(RATED))], rated=names)
    if training:
        check(Several[one_of(tuple(TRAINING))], training_sets=training)
    loaders = [*(RATED[each] for each in names), *(TRAINING[each] for each in training)]
    found = read_all(partial(load, root, download) for load in loaders)
    texts = tuple(example for part in found[len(names) :] for example in part)
    sets = tuple(_choose_systems(each, systems) for each in found[: len(names)])
    contents = (
        (example.id, fold_text(text))
        for each in sets
        for example in each.examples
        for text in (example.full_text, *(f"{example.context} {reference}" for reference in example.references))
    )
    rule = "a rated text or its reference must not be one to train on too, but those of {} are"
    refuse_shared(rule, contents, (fold_text(text.full_text) for text in texts))
    parts = split_share(texts, lambda example: example.turns or example.text, held_out_fraction, seed)
    return Corpus(name or "+".join(names), *parts, sets, synthetic=False)


def _choose_systems(rated: ScoredSet, systems: Sequence[str] | None) -> ScoredSet:
    if systems is None:
        return rated
    check(Several[one_of(sorted({example.system or "" for example in rated.examples}))], systems=systems)
    groups = {group: i for i, group in enumerate(dict.fromkeys(example.group for example in rated.examples))}
    at = sorted(
        (groups[e.group], systems.index(e.system), i) for i, e in enumerate(rated.examples) if e.system in systems
    )
    return rated.take([i for *_, i in at])
