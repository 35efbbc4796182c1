"""The built-in corpora: no network, no files; the quality of their rated texts is known by construction."""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from core.errors import check_names
from core.example import Example
from core.settings import Size, check, one_of
from data.builtin.concepts import generate_concept_sentences, rated_concept_sentences
from data.builtin.controlled import generate_texts, rated_texts
from data.builtin.dialogues import generate_dialogues, rated_dialogues
from data.builtin.grammar import TEXT
from data.builtin.news import NEWS
from data.builtin.remarks import generate_remarks, rated_remarks
from data.builtin.reviews import REVIEWS
from data.builtin.stories import generate_stories, rated_stories
from data.builtin.verse import generate_verse
from data.corpus import Corpus, Key, split_by
from meta_eval.scored_set import ScoredSet

Texts: TypeAlias = tuple[Example, ...]
LICENCE = "MIT"  # that of this project, whose generators write the texts


class Source(NamedTuple):
    """How the texts of a corpus are made."""

    # `generate(n, seed=, exclude=)` makes `n` texts, none with a key in `exclude`
    generate: Callable[..., Texts]
    # `rate(n, seed=)` makes `n` rated texts; None if the corpus has none
    rate: Callable[..., Texts] | None
    # what no text shares with a rated one and, unless they are `in_order`, no training text with a held-out one
    key: Key = TEXT
    # whether the last texts are held out, instead of those that `split_by` chooses
    in_order: bool = True


SOURCES: Mapping[str, Source] = {
    "builtin": Source(
        generate_dialogues,
        rated_dialogues,
        attrgetter("turns"),
        in_order=False,
    ),
    # the stories of `held_out` contexts are held out; few contexts have a second story
    "builtin_stories": Source(
        generate_stories,
        rated_stories,
        attrgetter("context"),
        in_order=False,
    ),
    "builtin_concepts": Source(generate_concept_sentences, rated_concept_sentences, attrgetter("group")),
    "builtin_reviews": Source(partial(generate_texts, REVIEWS), partial(rated_texts, REVIEWS)),
    "builtin_news": Source(partial(generate_texts, NEWS), partial(rated_texts, NEWS)),
    "builtin_remarks": Source(generate_remarks, rated_remarks),
    # the held-out poems are new, but have the same twelve tunes
    "builtin_verse": Source(generate_verse, None, in_order=False),
}


def builtin_corpus(
    name: str,
    train: int,
    held_out: int,
    rated: int = 0,
    seed: int = 0,
    **choices: Any,
) -> Corpus:
    """Generates training and held-out texts and, unless `rated` is 0, one rated set. Verse has no rated set.

    Args:
        name: of the corpus and of its rated set, one of `SOURCES`.
        choices: `verdicts`, the share of reviews, news or remarks for training with a sentence that names their label;
            `labels` of remarks. Remarks with topics have no rated set.
    """
    check(one_of(tuple(SOURCES)), name=name)
    check(
        Size,
        train=train,
        held_out=held_out,
        rated=rated,
    )
    source = SOURCES[name]
    _, _, *may_choose, _ = signature(source.generate).parameters  # n, seed, what may be chosen, exclude
    check_names(choices, may_choose, name)
    has_ratings = rated > 0 and choices.get("labels") != "topic"
    rated_examples: Texts = ()
    if has_ratings and source.rate is not None:
        rated_examples = source.rate(rated, seed=seed)
    texts = source.generate(
        train + held_out,
        seed=seed,
        exclude={source.key(example) for example in rated_examples},
        **choices,
    )
    in_order = (texts[:train], texts[train:])
    train_part, held_out_part = (
        in_order
        if source.in_order
        else split_by(
            texts,
            source.key,
            held_out,
            seed,
        )
    )
    sets = (ScoredSet(name, rated_examples, synthetic=True),) if rated_examples else ()
    return Corpus(
        name,
        train_part,
        held_out_part,
        sets,
        synthetic=True,
        licence=LICENCE,
    )
