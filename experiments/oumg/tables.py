"""A table of OUMG: how well poems keep their form."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.example import Example
from meta_eval.design import lay_out
from meta_eval.estimates import estimate_mean
from oumg.form import Form
from oumg.form_scores import keeps_form, phrase_lengths

FORM_CAPTION = (
    "How far poems keep the form that was asked for, shares in [0, 1], beside human poems. form kept: every length and "
    "mark; phrase lengths: phrases with the right length. 95 % intervals over inputs."
)


def form_rows(origins: Mapping[str, Sequence[Example]]) -> list[dict[str, Any]]:
    """Makes a row for each origin: the means of the form scores of its poems.

    The origin `human` has the poems whose forms the other origins got, in the same order.
    """
    human = origins["human"]
    forms = [Form.of(poem.text) for poem in human]
    layout = lay_out(len(human), inputs=[str(poem.group) for poem in human])
    rows: list[dict[str, Any]] = []
    for origin, poems in origins.items():
        row: dict[str, Any] = {"texts": origin, "n": len(poems)}
        for name, score in (("form_kept", keeps_form), ("phrase_lengths", phrase_lengths)):
            values = [score(poem.text, form) for poem, form in zip(poems, forms, strict=True)]
            row[name] = estimate_mean(np.array(values, dtype=np.float64), layout).only
        rows.append(row)
    return rows
