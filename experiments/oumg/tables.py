"""Tables of OUMG: relative scores, how poems keep their form, and notes on a comparison."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from core.example import Example
from experiments.oumg.findings import Findings
from meta_eval.bootstrap import Estimate, estimate_ratio, number_groups
from oumg.form import Form
from oumg.form_scores import keeps_form, phrase_lengths, rhyme_rate, tone_pattern, tone_rate
from oumg.relative import SCORES
from oumg.songnet import tune_of

CAPTION = (
    "Discriminators learned human texts against outputs of both systems and score inputs that they have not seen. "
    "accuracy: of the discriminator, 0.5 is chance. hsr: share of a system's outputs taken for human. hsrd: hsr 1 - "
    "hsr 2. ur: share of inputs where the first system's output is closer to human than the second's; ties: where "
    "both are equal. texts cut: of the judged human texts and outputs (4 in a pair), those that were cut to the common "
    "length of their pair. Means over seeds, 95 % bootstrap intervals over inputs, from 30 of them on."
)
FORM_CAPTION = (
    "How far poems keep the form that was asked for, shares in [0, 1], beside human poems. form kept: every length and "
    "mark; phrase lengths: phrases with the right length; rhyme: line ends with the commonest final; tones: places "
    "with the tone class that other human poems of this tune and form have there. Modern Mandarin. 95 % bootstrap "
    "intervals over inputs."
)
TONE_POEMS = 30  # maximum number of human poems of a tune and form that its tone pattern is taken from
FEWEST_TONE_POEMS = 5  # with fewer, tones are not scored


def relative_row(found: Findings) -> dict[str, Any]:
    """Every relative score, with its value by seed, between what the contest adds."""
    contest, scores = found.contest, found.scores
    return {
        **contest.before,
        "discriminator": found.kind,
        **dict(zip(("system_1", "system_2"), contest.systems, strict=True)),
        "texts_cut": sum(pair.cut for pair in contest.comparison.test),
        "n": scores.pairs,
        "inputs": scores.inputs,
        **{name: getattr(scores, name) for name in SCORES},
        "seeds": list(found.discriminators),
        "by_seed": {name: list(scores.by_seed[name]) for name in SCORES},
        **contest.after,
    }


def comparison_notes(found: Sequence[Findings]) -> list[str]:
    """Templates that were removed, discriminators that are not above chance, and texts that lost tokens."""
    contest = found[0].contest
    notes = [
        f"{template!r} was removed from the {where} of all texts: nearly every text of one origin has it there"
        for where, template in contest.comparison.templates
    ]
    for each in found:
        accuracy = each.scores.accuracy
        if accuracy.reason:
            notes.append(f"{each.kind}: whether it tells human texts from outputs is not known: {accuracy.reason}")
        elif not accuracy.low > 0.5:
            notes.append(
                f"{each.kind}: its accuracy is not above chance; it cannot tell human texts from outputs, and its "
                "other scores say little"
            )
        if each.judged.truncated:
            texts = 4 * len(contest.comparison.test)
            notes.append(f"{each.kind}: {each.judged.truncated} of {texts} texts lost tokens")
    return [f"{contest.about.format(*contest.systems)}{note}" for note in notes]


def form_rows(origins: Mapping[str, Sequence[Example]], known: Sequence[Example]) -> list[dict[str, Any]]:
    """A row for each origin: means of the form scores of its poems, over the poems where they are defined.

    `human` are the poems whose forms the other origins got, in the same order; `known` are more of them for the tone
    patterns of tunes and forms. A poem, and those of its form, are scored with a pattern that excludes it.
    """
    human = origins["human"]
    forms = [Form.of(poem.text) for poem in human]
    patterns = find_tone_patterns(human, known)
    inputs = number_groups(len(human), [str(poem.group) for poem in human])

    def mean(name: str, scores: Sequence[float]) -> Estimate:
        values = np.array(scores, dtype=np.float64)
        defined = ~np.isnan(values)
        if not defined.any():
            return Estimate.undefined(f"no poem has a score of {name}")
        return estimate_ratio(values[defined], np.ones(defined.sum()), inputs[defined])

    rows: list[dict[str, Any]] = []
    for origin, poems in origins.items():
        texts = [poem.text for poem in poems]
        scores = {
            "form_kept": list(map(keeps_form, texts, forms)),
            "phrase_lengths": list(map(phrase_lengths, texts, forms)),
            "rhyme": list(map(rhyme_rate, texts)),
            "tones": list(map(tone_rate, texts, patterns)),
        }
        rows.append({"texts": origin, "n": len(poems), **{name: mean(name, found) for name, found in scores.items()}})
    return rows


def find_tone_patterns(human: Sequence[Example], known: Sequence[Example]) -> list[Sequence[str | None]]:
    """The tone pattern of each human poem's tune and form in other human poems; empty with too few of them."""
    pattern_of = cache(tone_pattern)
    kinds = [(tune_of(poem), Form.of(poem.text)) for poem in human]
    alike: dict[tuple[str, Form], list[Example]] = {}
    for poem in (*known, *human):
        alike.setdefault((tune_of(poem), Form.of(poem.text)), []).append(poem)
    patterns: list[Sequence[str | None]] = []
    for poem, kind in zip(human, kinds, strict=True):
        others = [other.text for other in alike[kind][: TONE_POEMS + 1] if other.id != poem.id][:TONE_POEMS]
        patterns.append(pattern_of(tuple(others)) if len(others) >= FEWEST_TONE_POEMS else ())
    return patterns
