"""Random texts: every metric returns scores, or refuses the examples by name; nothing else happens, also in a run.

`FUZZ` and `FUZZ_SEED` choose the number of cases and others, as in `test_fuzz.py`.
"""

import json
import random
import time
from collections.abc import Callable

import numpy as np
import pytest

from core.configs import CONFIGS
from core.errors import ExampleError
from core.example import Example
from core.scores import Metric
from tests.trust.test_fuzz import CASES, SEED, STRANGE

NAMES = sorted(file.stem for file in (CONFIGS / "metric").glob("*.yaml"))
PLANES = [(0x20, 0x7F), (0, 0x20), (0x80, 0x250), (0x300, 0x370), (0x590, 0x700), (0x2000, 0x2070), (0x4E00, 0xA000)]
PLANES += [(0xE000, 0xF900), (0xFE00, 0xFE10), (0xFFF0, 0x10000), (0x1F300, 0x1F700), (0xE0000, 0x110000)]
SPELLED = [
    *("[SEP]", "[MASK]", "[UNK]", "</s>", "<pad>", "<unk>", "<extra_id_0>", "<mask>", "<turn>", "{text}", "%s", "{")
]


def draw_piece(rng: random.Random) -> str:
    """A word, a token's name, white space, or characters of one plane."""
    match rng.randrange(6):
        case 0 | 1:
            return rng.choice(["the", "cat", "sat.", "It", "rains!", "no", "42", "(x)"])
        case 2:
            return rng.choice([*SPELLED, *STRANGE])
        case 3:
            return rng.choice([" ", "\n", "\t", "\u3000", "\u200b", "  ", ". ", "\r\n"])
        case _:
            first, last = rng.choice(PLANES)
            return "".join(chr(rng.randrange(first, last)) for _ in range(rng.randint(1, 8)))


def draw_text(rng: random.Random) -> str:
    """A few pieces, sometimes none, sometimes one of them very often."""
    pieces = [draw_piece(rng) for _ in range(rng.randrange(6))]
    if pieces and rng.random() < 0.05:
        pieces *= 40
    return rng.choice(("", " ")).join(pieces)


def draw_example(name: str, rng: random.Random) -> Example:
    """A text or turns that say something, with some of the fields that a metric may need."""
    text = draw_text(rng) or "a"
    text = text if text.strip() else text + "a"
    turns = tuple(draw_text(rng) for _ in range(rng.randrange(4)))
    prefix = rng.choice((text[: rng.randint(1, 9)], draw_text(rng)))
    label = rng.choice(("good", "bad", draw_text(rng)))
    references = tuple(draw_text(rng) for _ in range(rng.randrange(3)))
    return Example(name, text, turns, draw_text(rng), prefix, label, references)


def score(metric: Metric, examples: list[Example]) -> list[list[float]] | None:
    """The scores by aspect; None where the examples are refused."""
    try:
        found = metric.score(examples)
    except ExampleError as faults:
        str(faults.located("in.jsonl", range(len(examples)))).encode("utf-8")  # an index out of range would raise
        return None
    json.dumps(found.explanations, allow_nan=False).encode("utf-8")
    assert len(found) == len(examples)
    return [values.tolist() for values in found.values.values()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_a_metric_scores_any_text_or_refuses_it(name: str, make_toy: Callable[..., Metric]) -> None:
    rng, metric, began = random.Random(f"{name} {SEED}"), make_toy(name, 400), time.monotonic()
    cases, refused, slowest = max(4, CASES // 10), 0, 0.0
    for case in range(cases):
        examples = [draw_example(str(i), rng) for i in range(rng.randint(1, 3))]
        before = time.process_time()
        try:
            together = score(metric, examples)
            refused += together is None
            if together is not None and len(examples) > 1 and (alone := score(metric, examples[:1])) is not None:
                np.testing.assert_allclose([values[:1] for values in together], alone, atol=1e-5, rtol=0)
        except Exception as error:
            raise AssertionError(f"case {case} of {name}, seed {SEED}: {examples!r}") from error
        slowest = max(slowest, time.process_time() - before)
    seconds = time.monotonic() - began
    print(f"{name}: {cases} lists of texts, {refused} refused, slowest {slowest:.2f} s, all {seconds:.0f} s")
    assert slowest < 10


@pytest.mark.parametrize("text", ["x" * 100_000, "word " * 20_000, "\u0301" * 100_000, "中" * 50_000, "a\n" * 50_000])
@pytest.mark.parametrize("name", ["word_count", "bleu", "meteor"])
def test_a_long_text_is_scored(name: str, text: str, make_toy: Callable[..., Metric]) -> None:
    assert len(make_toy(name).score([Example("a", text, references=("a b c",))])) == 1
