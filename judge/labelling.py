"""Ratings that are labels: which aspects have them, and which scores are labels by judges."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from core.errors import SettingError, check_names
from data.rating_words import GivenLevels, freeze_levels, number_levels
from meta_eval.design import Floats
from meta_eval.labels import MOST_LABELS, assign_labels, find_consensus, find_labels
from meta_eval.scored_set import ScoredSet


@dataclass(frozen=True, eq=False)
class LabelledAspect:
    """The labels by people and by judges of the texts that are rated for one aspect."""

    aspect: str
    # rated or not; scores of which lower is better are reflected within the labels
    texts: ScoredSet
    labels: Floats
    # of shape (people, n)
    people: Floats
    # the metrics whose scores are labels
    judges: Sequence[str]

    @cached_property
    def rated(self) -> ScoredSet:
        """The texts that are rated for the aspect."""
        return self.texts.rated(self.aspect)

    @cached_property
    def judged(self) -> dict[str, Floats]:
        """The labels of the rated texts by judge, of shape (n,)."""
        return {name: assign_labels(self.rated.values(name, self.aspect), self.labels) for name in self.judges}

    @property
    def has_several(self) -> bool:
        """Whether several people labelled the texts."""
        return len(self.people) > 1

    @cached_property
    def consensus(self) -> Floats:
        """The median of people's labels."""
        return find_consensus(self.people, self.labels)


def list_labelled(scored: ScoredSet, levels: GivenLevels, negated: Container[str] = ()) -> Iterator[LabelledAspect]:
    """Yields the aspects whose ratings are labels, with the labels of judges.

    `levels` are the labels by aspect, from the worst to the best; with auto, or one scale of words for all, the ratings
    that are 2 to 10 whole numbers are labels. A metric that scores a rated aspect by name is compared with that aspect
    only. It is a judge if its scores are whole numbers of which at least half are labels, or if they lie between the
    first and the last label. Shares, such as ROUGE's, are not labels of a scale that ends above 1. The scores of the
    metrics in `negated` are judged as they were given, and then reflected: 2 of the labels 1 to 5 is 4.

    Raises SettingError for unknown names and for ratings that are not a declared label.
    """
    declared = {name: number_levels(scale).values() for name, scale in freeze_levels(levels) if name}
    check_names(declared, scored.aspects, "levels")
    for aspect in declared if isinstance(levels, Mapping) else scored.aspects:
        rated = scored.rated(aspect)
        people = rated.raters.get(aspect, rated.ratings(aspect)[None])
        others = {*scored.aspects} - {aspect}
        names = [name for name, scores in rated.scores.items() if not {*scores.values} & others]
        values = {name: rated.values(name, aspect) * (-1 if name in negated else 1) for name in names}
        labels = find_labels(people)
        if aspect in declared:
            labels = _check_labels(aspect, [*declared[aspect]], people)
        elif labels is not None:
            labels = _add_labels(labels, values)
        if labels is None:
            continue
        judges = [name for name, scores in values.items() if _are_on_scale(scores[~np.isnan(scores)], labels)]
        texts = _reflect(scored, [name for name in judges if name in negated], labels)
        yield LabelledAspect(
            aspect,
            texts,
            labels,
            people=people,
            judges=judges,
        )


def _reflect(scored: ScoredSet, negated: Sequence[str], labels: Floats) -> ScoredSet:
    """The set with these negated scores within the scale: the first label becomes the last one."""
    reflected = dict(scored.scores)
    for name in negated:
        values = {aspect: column + labels[0] + labels[-1] for aspect, column in reflected[name].values.items()}
        reflected[name] = replace(reflected[name], values=values)
    return replace(scored, scores=reflected)


def _are_on_scale(scores: Floats, labels: Floats) -> bool:
    """Whether scores can be labels: between the first and the last one, and no shares where the last is above 1."""
    if not len(scores) or scores.min() < labels[0] or scores.max() > labels[-1]:
        return False
    are_shares = scores.min() >= 0 and scores.max() <= 1 and bool((scores % 1).any())
    return not are_shares or labels[-1] <= 1


def _check_labels(aspect: str, declared: Sequence[float], people: Floats) -> Floats:
    """The declared labels; raises SettingError for fewer than two, and for a rating that is none of them."""
    labels = np.unique(np.asarray(declared, dtype=np.float64))
    others = np.setdiff1d(people[~np.isnan(people)], labels)
    rule = f"levels of {aspect} must be two or more that hold every rating ({_show(labels)})"
    if len(others):
        raise SettingError(f"{rule}, found the rating {others[0]:g}")
    if len(labels) < 2:
        raise SettingError(f"{rule}, found fewer")
    return labels


def _add_labels(labels: Floats, scores: Mapping[str, Floats]) -> Floats:
    """The labels, and those that only a judge gives whose scores are whole and at least half labels of people."""
    for values in scores.values():
        given = values[~np.isnan(values)]
        both = find_labels(np.append(given, labels))
        if both is not None and 2 * np.isin(given, labels).sum() >= len(given):
            labels = both
    return labels


def _show(labels: Floats) -> str:
    return ", ".join(f"{label:g}" for label in labels[:MOST_LABELS])
