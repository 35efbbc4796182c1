"""How far poems keep their form, beside human poems: shares with intervals over inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from experiments.oumg.poems import tune_of
from meta_eval.bootstrap import Estimate, bootstrap, number_groups
from oumg.form import Form
from oumg.form_scores import keeps_form, phrase_lengths, rhyme_rate, tone_pattern, tone_rate

SCORES = ("form_kept", "phrase_lengths", "rhyme", "tones")
CAPTION = (
    "How far poems keep the form that was asked for, shares in [0, 1], beside human poems. form kept: every length and "
    "mark; phrase lengths: phrases with the right length; rhyme: line ends with the commonest final; tones: places "
    "with the tone class that other human poems of this tune and form have there. Modern Mandarin. 95 % bootstrap "
    "intervals over inputs."
)
TONE_POEMS = 30  # the most human poems of a tune and form that its tone pattern is taken from
FEWEST_TONE_POEMS = 5  # with fewer, tones are not scored


@dataclass(frozen=True)
class FormScores:
    """The mean form scores of the poems of one origin, over the poems where they are defined.

    Attributes:
        origin: `human`, or the system.
        n: poems.
        scores: by name.
    """

    origin: str
    n: int
    scores: Mapping[str, Estimate]


def score_forms(origins: Mapping[str, Sequence[Example]], known: Sequence[Example]) -> list[FormScores]:
    """The form scores of each origin.

    Args:
        origins: `human` poems, whose forms were asked for, and the poems of systems in the same order.
        known: more human poems for the tone patterns of tunes and forms. A poem, and the poems generated from its
            form, are scored with a pattern that excludes it.
    """
    human = origins["human"]
    forms = [Form.of(poem.text) for poem in human]
    patterns = _tone_patterns(human, forms, known)
    inputs = number_groups(len(human), [str(poem.group) for poem in human])
    found: list[FormScores] = []
    for origin, poems in origins.items():
        values = np.array(
            [
                (
                    keeps_form(poem.text, form),
                    phrase_lengths(poem.text, form),
                    rhyme_rate(poem.text),
                    tone_rate(poem.text, pattern),
                )
                for poem, form, pattern in zip(poems, forms, patterns, strict=True)
            ],
            dtype=np.float64,
        )
        scores = {name: _mean(name, column, inputs) for name, column in zip(SCORES, values.T, strict=True)}
        found.append(FormScores(origin, len(poems), scores))
    return found


def form_rows(found: Sequence[FormScores]) -> list[dict[str, Any]]:
    """A row for each origin."""
    return [{"texts": each.origin, "n": each.n, **each.scores} for each in found]


def _tone_patterns(
    human: Sequence[Example], forms: Sequence[Form], known: Sequence[Example]
) -> list[tuple[str | None, ...]]:
    """The tone pattern of each human poem's tune and form in other human poems; empty with too few of them."""
    alike: dict[tuple[str, Form], list[Example]] = {}
    for poem in (*known, *human):
        alike.setdefault((tune_of(poem), Form.of(poem.text)), []).append(poem)
    patterns: list[tuple[str | None, ...]] = []
    for poem, form in zip(human, forms, strict=True):
        first = alike[tune_of(poem), form][: TONE_POEMS + 1]
        others = [other.text for other in first if other.id != poem.id][:TONE_POEMS]
        patterns.append(_tone_pattern(tuple(others)) if len(others) >= FEWEST_TONE_POEMS else ())
    return patterns


@cache
def _tone_pattern(texts: tuple[str, ...]) -> tuple[str | None, ...]:
    return tuple(tone_pattern(texts))


def _mean(name: str, values: NDArray[np.float64], inputs: NDArray[np.intp]) -> Estimate:
    """The mean of the defined values, with an interval over inputs."""
    defined = ~np.isnan(values)
    kept = values[defined]
    if not len(kept):
        return Estimate.undefined(f"no poem has a score of {name}")
    means = bootstrap(lambda weights: {name: weights @ kept / weights.sum(axis=1)}, inputs[defined], resamples=2000)
    return means[name]
