"""Ratings that are labels: which aspects have them, and which scores are labels by judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.errors import SettingError, check_names
from core.settings import checked_dataclass
from data.rating_words import GivenLevels, freeze_levels, number_levels
from meta_eval.design import Floats
from meta_eval.labels import MOST_LABELS, assign_labels, find_consensus, find_labels
from meta_eval.scored_set import ScoredSet


@checked_dataclass
class Labelling:
    """The settings of labels: which ratings are labels, and how scores become labels."""

    # by aspect the labels, from the worst to the best; with auto, or one scale of words for all, the ratings that are
    # 2 to 10 whole numbers are labels
    levels: GivenLevels = "auto"
    # by metric the least score of the higher one of two labels; a score without one gives the nearest label
    thresholds: Mapping[str, float] | None = None

    @property
    def signature(self) -> str:
        """The settings that differ from the defaults, as a part of a run's signature; "" if none differ."""
        parts: list[str] = []
        if self.levels != "auto":
            parts.append(f"|levels={self.levels}")
        if self.thresholds:
            parts.append(f"|thresholds={dict(self.thresholds)}")
        return "".join(parts)


@dataclass(frozen=True, eq=False)
class LabelledAspect:
    """The labels by people and by judges of the texts that are rated for one aspect."""

    aspect: str
    rated: ScoredSet
    labels: Floats
    # of shape (people, n)
    people: Floats
    # by judge, of shape (n,), and the distance of each score from a change of label
    judged: Mapping[str, Floats]
    sureness: Mapping[str, Floats]

    @cached_property
    def consensus(self) -> Floats:
        """The median of people's labels."""
        return find_consensus(self.people, self.labels)


def list_labelled(scored: ScoredSet, labelling: Labelling) -> Iterator[LabelledAspect]:
    """Yields the aspects whose ratings are labels, with the labels of judges.

    A metric that scores a rated aspect by name is compared with that aspect only. It is a judge if it has a threshold,
    if its scores are whole numbers of which at least half are labels, or if they lie between the first and the last
    label. Shares, such as ROUGE's, are not labels of a scale that ends above 1.

    Raises SettingError for unknown names and for ratings that are not a declared label.
    """
    by_aspect = isinstance(labelling.levels, Mapping)
    scales = {name: scale for name, scale in freeze_levels(labelling.levels) if name}
    declared = {name: sorted(number_levels(scale).values()) for name, scale in scales.items()}
    check_names(declared, scored.aspects, "levels")
    check_names(labelling.thresholds or {}, scored.scores, "thresholds")
    for aspect in declared if by_aspect else scored.aspects:
        labelled = _find_labelled(scored, aspect, declared.get(aspect), labelling.thresholds or {})
        if labelled is not None:
            yield labelled


def _find_labelled(
    scored: ScoredSet,
    aspect: str,
    declared: Sequence[float] | None,
    thresholds: Mapping[str, float],
) -> LabelledAspect | None:
    """The labels of people and judges of one aspect; None if its ratings are no labels."""
    rated = scored.rated(aspect)
    people = rated.raters.get(aspect, rated.ratings(aspect)[None])
    labels = find_labels(people) if declared is None else _check_labels(aspect, declared, people)
    if labels is None:
        return None
    others = {*scored.aspects} - {aspect}
    names = [name for name, scores in rated.scores.items() if not {*scores.values} & others]
    values = {name: rated.values(name, aspect) for name in names}
    if declared is None:
        labels = _add_labels(labels, values)
    judged: dict[str, Floats] = {}
    sureness: dict[str, Floats] = {}
    for name, scores in values.items():
        threshold = thresholds.get(name)
        if threshold is not None and len(labels) != 2:
            raise SettingError(f"a threshold is for two labels, but {aspect} has {len(labels)}: {_show(labels)}")
        if threshold is not None or _are_on_scale(scores[~np.isnan(scores)], labels):
            judged[name], sureness[name] = assign_labels(scores, labels, threshold)
    return LabelledAspect(
        aspect=aspect,
        rated=rated,
        labels=labels,
        people=people,
        judged=judged,
        sureness=sureness,
    )


def _are_on_scale(scores: Floats, labels: Floats) -> bool:
    """Whether scores can be labels: between the first and the last one, and no shares where the last is above 1."""
    if not len(scores) or scores.min() < labels[0] or scores.max() > labels[-1]:
        return False
    are_shares = scores.min() >= 0 and scores.max() <= 1 and bool((scores % 1).any())
    return not are_shares or labels[-1] <= 1


def _check_labels(
    aspect: str,
    declared: Sequence[float],
    people: Floats,
) -> Floats:
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
