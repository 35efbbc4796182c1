"""A table of OUMG: how well poems keep their form."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from core.example import Example
from meta_eval.design import lay_out
from meta_eval.estimates import Estimate, estimate_mean
from oumg.form import Form
from oumg.form_scores import keeps_form, phrase_lengths, rhyme_rate, tone_pattern, tone_rate
from oumg.songnet import tune_of

FORM_CAPTION = (
    "How far poems keep the form that was asked for, shares in [0, 1], beside human poems. form kept: every length and "
    "mark; phrase lengths: phrases with the right length; rhyme: line ends with the commonest final; tones: places "
    "with the tone class that other human poems of this tune and form have there. Modern Mandarin. 95 % "
    "intervals over inputs."
)
TONE_POEMS = 30  # maximum number of human poems of a tune and form that its tone pattern is taken from
FEWEST_TONE_POEMS = 5  # with fewer, tones are not scored


def form_rows(origins: Mapping[str, Sequence[Example]], known: Sequence[Example]) -> list[dict[str, Any]]:
    """Makes a row for each origin: the means of the form scores of its poems, over poems where they are defined.

    The origin `human` has the poems whose forms the other origins got, in the same order. `known` are more human poems,
    for the tone patterns. The pattern for a poem, and for generated poems of its form, is found without that poem.
    """
    human = origins["human"]
    forms = [Form.of(poem.text) for poem in human]
    patterns = find_tone_patterns(human, known)
    layout = lay_out(len(human), inputs=[str(poem.group) for poem in human])
    rows: list[dict[str, Any]] = []
    for origin, poems in origins.items():
        texts = [poem.text for poem in poems]
        scores = {
            "form_kept": map(keeps_form, texts, forms),
            "phrase_lengths": map(phrase_lengths, texts, forms),
            "rhyme": map(rhyme_rate, texts),
            "tones": map(tone_rate, texts, patterns),
        }
        row: dict[str, Any] = {"texts": origin, "n": len(poems)}
        for name, of_poems in scores.items():
            values = np.array(list(of_poems), dtype=np.float64)
            row[name] = Estimate.undefined(f"no poem has a score of {name}")
            if not np.isnan(values).all():
                row[name] = estimate_mean(values, layout).only
        rows.append(row)
    return rows


def find_tone_patterns(human: Sequence[Example], known: Sequence[Example]) -> list[Sequence[str | None]]:
    """Finds the tone pattern of each human poem's tune and form in other human poems.

    The pattern of a poem is empty if there are too few other poems.
    """
    pattern_of = cache(tone_pattern)
    alike: dict[tuple[str, Form], list[Example]] = {}
    for poem in (*known, *human):
        alike.setdefault((tune_of(poem), Form.of(poem.text)), []).append(poem)
    patterns: list[Sequence[str | None]] = []
    for poem in human:
        nearest = alike[tune_of(poem), Form.of(poem.text)][: TONE_POEMS + 1]
        others = [other.text for other in nearest if other.id != poem.id]
        has_enough = len(others) >= FEWEST_TONE_POEMS
        patterns.append(pattern_of(tuple(others[:TONE_POEMS])) if has_enough else ())
    return patterns
