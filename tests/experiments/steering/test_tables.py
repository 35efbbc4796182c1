"""Tables of guided decoding: a row by hand, candidates before and after guidance, coloured tokens."""

from collections.abc import Sequence
from functools import partial
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from discriminators.guides import CausalGuide
from experiments.report.tables import json_cells
from experiments.steering.experiment import SteeredSetting, SteeredTexts
from experiments.steering.tables import print_colored, steering_row, step_rows
from models.causal import CausalLM
from oumg.generation import WrittenToken, encode_prompts, write_tokens
from oumg.guidance import Guidance


def steered(label: str, hits: Sequence[float], nll: Sequence[float], words: Sequence[str]) -> SteeredTexts:
    return SteeredTexts(
        label,
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 1, 1]),
        ("x",) * 4,
        tuple(tuple(w.split()) for w in words),
        np.array(hits),
        np.array(nll),
        np.array([2.0, 2.0, 2.0, 4.0]),
    )


def test_a_row_by_hand() -> None:
    good = steered("good", [1, 1, 0, 1], [2.0, 2.0, 2.0, 4.0], ["a b", "a b", "a b", "a c d e"])
    bad = steered("bad", [0, 0, 0, 0], [4.0, 4.0, 4.0, 8.0], ["a a", "a a", "a a", "a a a a"])
    setting = SteeredSetting(2.0, 8, (good, bad), 1.05)
    found = json_cells(steering_row(setting, "good", [good], "fudge", seed=0))
    assert (found["label"], found["strength"], found["k"], found["n"]) == ("good", 2.0, 8, 4)
    assert found["accuracy"] == 0.75
    assert found["perplexity"] == pytest.approx(np.e)  # a nat a token
    assert found["tokens"] == 2.5
    assert found["distinct_1"] == pytest.approx((2 / 4 + 5 / 6) / 2)  # by seed
    assert found["distinct_2"] == pytest.approx((1 / 2 + 4 / 4) / 2)
    assert (found["seeds"], found["by_seed"]["accuracy"]) == ([0, 1], [1.0, 0.5])
    everything = json_cells(steering_row(setting, "all", setting.texts, "fudge", seed=0))
    assert (everything["label"], everything["n"], everything["accuracy"]) == ("all", 8, 0.375)
    assert everything["perplexity"] == pytest.approx(np.exp(30 / 20))
    assert everything.keys() == found.keys()


def test_a_demonstration_shows_what_guidance_does(lm: CausalLM, guide: CausalGuide) -> None:
    (prompt,) = encode_prompts(lm, ["the cat"], 4).values()
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
