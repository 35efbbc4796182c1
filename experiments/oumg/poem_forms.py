"""How poems keep their form, beside people's, as a table; and the poems themselves side by side, for reading."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np

from core.example import Example
from experiments.oumg.poem_writing import tune_of
from meta_eval.bootstrap import Estimate, bootstrap, number_groups
from oumg.form import Form, split_lines
from oumg.form_scores import keeps_form, phrase_lengths, rhyme_rate, tone_pattern, tone_rate

FORM_SCORES = ("form_kept", "phrase_lengths", "rhyme", "tones")
FORM_CAPTION = (
    "How far poems keep the form that was asked for, shares in [0, 1], beside those of people. form kept: every "
    "length and mark; phrase lengths: phrases with the right length; rhyme: line ends with the commonest final; tones: "
    "places with the tone class that other people's poems of this tune and form have there. Mandarin of today. 95 % "
    "bootstrap intervals over inputs."
)
TONE_POEMS = 30  # other people's poems of a tune and form that tell its tones, at most
FEWEST_TONE_POEMS = 5  # and at least; with fewer, tones are not scored


def form_rows(origins: Mapping[str, Sequence[Example]], known: Sequence[Example]) -> list[dict[str, Any]]:
    """The form scores of each origin, one of which is `human`: the poems whose forms were asked for, in one order.

    Args:
        origins: poems of people and systems, each after the same tunes and forms.
        known: other people's poems, which tell the tones of a tune and form beside the human ones. A poem has no part
            in the pattern that it, or what was written after it, is held against.
    """
    human = origins["human"]
    forms = [Form.of(poem.text) for poem in human]
    of: dict[tuple[str, Form], list[Example]] = {}
    for poem in (*known, *human):
        of.setdefault((tune_of(poem), Form.of(poem.text)), []).append(poem)
    patterns: list[tuple[str | None, ...]] = []
    for poem, form in zip(human, forms, strict=True):
        others = [other.text for other in of[tune_of(poem), form][: TONE_POEMS + 1] if other.id != poem.id][:TONE_POEMS]
        patterns.append(_tone_pattern(tuple(others)) if len(others) >= FEWEST_TONE_POEMS else ())
    drawn = number_groups(len(human), [str(poem.group) for poem in human])
    return [
        {
            "texts": origin,
            "n": len(poems),
            **_means(
                np.array(
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
                ),
                drawn,
            ),
        }
        for origin, poems in origins.items()
    ]


@cache
def _tone_pattern(texts: tuple[str, ...]) -> tuple[str | None, ...]:
    return tuple(tone_pattern(texts))


def _means(values: np.ndarray, drawn: np.ndarray) -> dict[str, Any]:
    """The mean of each column over the rows where it is defined, with an interval over what is drawn."""
    found: dict[str, Any] = {}
    for name, column in zip(FORM_SCORES, values.T, strict=True):
        there = ~np.isnan(column)
        kept = column[there]
        mean = Estimate.undefined(f"no poem has a score of {name}")
        if there.any():
            mean = bootstrap(
                lambda weights, kept=kept: {"mean": weights @ kept / weights.sum(axis=1)}, drawn[there], resamples=2000
            )["mean"]
        found |= {name: mean.value, f"{name}_interval": (mean.low, mean.high)}
    return found


def gallery_text(origins: Mapping[str, Sequence[Example]], number: int) -> str:
    """The first poem of each of so many tunes, and what each system wrote after it, side by side."""
    first: dict[str, int] = {}
    for i, poem in enumerate(origins["human"]):
        first.setdefault(tune_of(poem), i)
    return "\n".join(
        f"{tune}\n\n{side_by_side({origin: poems[i].text for origin, poems in origins.items()})}\n"
        for tune, i in list(first.items())[:number]
    )


def side_by_side(poems: Mapping[str, str]) -> str:
    """Poems in columns under their names, a line below the other; a Chinese character is as wide as two letters.

    >>> print(side_by_side({"G1": "月。明月。", "G2": "春花。"}))
    G1      G2
    月。　  春花。
    明月。
    """
    broken = {name: split_lines(text) for name, text in poems.items()}
    widths = {name: max(-(-len(name) // 2), *map(len, found)) for name, found in broken.items()}
    rows = zip_longest(*([line.ljust(widths[name], "　") for line in found] for name, found in broken.items()))
    blank = ["　" * width for width in widths.values()]
    table = [
        [name.ljust(2 * width) for name, width in widths.items()],
        *([cell or empty for cell, empty in zip(row, blank, strict=True)] for row in rows),
    ]
    return "\n".join("  ".join(cells).rstrip() for cells in table)
