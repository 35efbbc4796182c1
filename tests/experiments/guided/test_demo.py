"""The demonstration: candidates before and after guidance, and the label that it steers to."""

from collections.abc import Callable

import numpy as np
import pytest

from core.faults import InputFaults
from data.sets.attributes import LabelledData
from experiments.guided.demo import choose_label, step_rows
from experiments.guided.generation import continue_prompts
from experiments.guided.prompts import encode_prompts
from language_models.causal import CausalLM
from oumg.causal_guide import CausalGuide
from oumg.guidance import Guidance, GuidedStep


def test_a_demonstration_shows_what_guidance_does(lm: CausalLM, guide: CausalGuide) -> None:
    steps: list[GuidedStep] = []
    prompt = encode_prompts(lm, ["the cat"], 4)[0]
    guidance = Guidance(guide, lm.tokenizer, 3.0, 5, "normalised", reads="text", watch=steps.append)
    chosen = continue_prompts(lm, [prompt], 1, 4, 1, seed=0, k=5, guidance=lambda: guidance)[0]
    rows = step_rows(lm, prompt[1:], chosen, steps, shown=5)
    assert [r["step"] for r in rows] == [n + 1 for n in range(len(chosen)) for _ in range(5)]
    assert rows[0]["text"] == "…the cat"
    for number in range(len(chosen)):
        mine = rows[5 * number : 5 * number + 5]
        assert sum(r["before"] for r in mine) == pytest.approx(1)
        assert sum(r["after"] for r in mine) == pytest.approx(1)
        assert [r["before"] for r in mine] == sorted((r["before"] for r in mine), reverse=True)
        best = max(mine, key=lambda r: r["guide"])
        worst = min(mine, key=lambda r: r["guide"])
        assert best["after"] / best["before"] == pytest.approx(np.exp(3) * worst["after"] / worst["before"], rel=1e-4)
        assert [r["chosen"] for r in mine].count("←") == 1
    fewer = step_rows(lm, prompt[1:], chosen, steps, shown=1)
    assert len(chosen) <= len(fewer) <= 3 * len(chosen)


def test_the_label_of_a_guide_that_others_trained_is_that_of_its_folder(own_data: Callable[..., LabelledData]) -> None:
    data = own_data(["t", "u"], ["x", "y"])
    assert [choose_label(data, None, folder) for folder in (None, "run/models/guide_polite")] == ["y", "polite"]
    assert [choose_label(data, "x", folder) for folder in (None, "run/models/guide_polite")] == ["x", "x"]
    with pytest.raises(InputFaults, match="label must be one of x, y, but is 'z'"):
        choose_label(data, "z", None)
