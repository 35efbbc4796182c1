"""The demonstration: candidates before and after guidance, and the label that it steers to."""

from collections.abc import Callable
from functools import partial
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from core.faults import InputFaults
from data.corpus import Corpus
from discriminators.guides import CausalGuide
from experiments.steering.demo import choose_label, print_colored, step_rows
from experiments.steering.prompts import encode_prompts
from experiments.steering.steps import WrittenToken, write_tokens
from models.causal import CausalLM
from oumg.guidance import Guidance


def test_a_demonstration_shows_what_guidance_does(lm: CausalLM, guide: CausalGuide) -> None:
    (prompt,) = encode_prompts(lm, ["the cat"], 4)
    guidance = partial(Guidance, guide, lm.tokenizer, 3.0, 5, "normalised", "text")
    tokens = list(write_tokens(lm, prompt, 4, 5, 0, lambda watch: guidance(watch=watch)))
    rows = step_rows("the cat", tokens, shown=5)
    assert [r["step"] for r in rows] == [n + 1 for n in range(len(tokens)) for _ in range(5)]
    assert rows[0]["text"] == "…the cat"
    for number in range(len(tokens)):
        mine = rows[5 * number : 5 * number + 5]
        assert sum(r["before"] for r in mine) == pytest.approx(1)
        assert sum(r["after"] for r in mine) == pytest.approx(1)
        assert [r["before"] for r in mine] == sorted((r["before"] for r in mine), reverse=True)
        best = max(mine, key=lambda r: r["attribute"])
        worst = min(mine, key=lambda r: r["attribute"])
        assert best["after"] / best["before"] == pytest.approx(np.exp(3) * worst["after"] / worst["before"], rel=1e-4)
        assert [r["chosen"] for r in mine].count("←") == 1
    fewer = step_rows("the cat", tokens, shown=1)
    assert len(tokens) <= len(fewer) <= 3 * len(tokens)


def test_tokens_are_coloured_on_a_terminal_and_printed_nowhere_else() -> None:
    tokens = [WrittenToken(" good", 0, 3.0, ()), WrittenToken(" [b]bad[/b]", 0, -3.0, ())]
    for on_terminal in (True, False):
        out = StringIO()
        console = Console(file=out, force_terminal=on_terminal, color_system="truecolor", highlight=False)
        print_colored(console, "to positive", "The food", tokens)
        shown = out.getvalue()
        assert ("\x1b[30;48;2;88;168;224m good" in shown) == on_terminal
        assert ("\x1b[30;48;2;242;138;60m [b]bad[/b]" in shown) == on_terminal
        assert bool(shown) == on_terminal


def test_the_label_of_a_guide_that_others_trained_is_that_of_its_folder(own_data: Callable[..., Corpus]) -> None:
    data = own_data(["t", "u"], ["x", "y"])
    assert [choose_label(data, None, folder) for folder in (None, "run/models/guide_polite")] == ["y", "polite"]
    assert [choose_label(data, "x", folder) for folder in (None, "run/models/guide_polite")] == ["x", "x"]
    with pytest.raises(InputFaults, match="label must be one of x, y, but is 'z'"):
        choose_label(data, "z", None)
