"""Speed of a CDM pair: drawing segments with caches and scoring dialogues, in batches or one at a time.

The models have random weights and the sizes of configs/model/cdm/tiny.yaml and t5.yaml. Both ways of drawing use
built-in dialogues, gamma = 1 and the same random numbers.
"""

import time
from unittest.mock import patch

import numpy as np
import torch
from measuring import (
    count_products,
    describe_machine,
    measure,
    print_comparison,
    print_header,
    print_row,
    read_arguments,
    show_range,
)

from cdm.discriminative import Steps, find_steps
from cdm.infilling import Gaps, Pair
from cdm.momentum import degraded_log_probabilities
from cdm.sampling import Sampling, draw, sample_segments, warp_probabilities
from data.builtin.dialogues import generate_dialogues
from models.causal import CausalLM
from models.model import ConditionalLM
from models.tiny import TinyCausal, TinyT5

LONGEST = 30  # tokens of a segment
READ = 160  # tokens of a source
SAMPLING = Sampling(gamma=1.0)
FAMILIES = {  # of gaps, amateur and expert at the small scale
    "causal, fills in the middle": (
        Gaps(READ, order="fill-in-the-middle"),
        TinyCausal("gpt_neox", 1000, 48, 2, 1, 96),
        TinyCausal("gpt_neox", 1000, 96, 4, 4, 288),
    ),
    "T5": (Gaps(READ), TinyT5(1000, 48, 96, 2, 1, 1), TinyT5(1000, 96, 288, 4, 2, 3)),
}


def next_token(lm: ConditionalLM, source: list[int], written: list[int]) -> torch.Tensor:
    """log P of the next token, without caches: the model reads source and target again."""
    if isinstance(lm, CausalLM):
        logits = lm.model(input_ids=torch.tensor([source + written]), use_cache=False).logits
    else:
        decoder = torch.tensor([[lm.model.config.decoder_start_token_id, *written]])
        logits = lm.model(input_ids=torch.tensor([source]), decoder_input_ids=decoder, use_cache=False).logits
    return logits[:, -1].log_softmax(-1)


@torch.inference_mode()
def draw_alone(pair: Pair, source: list[int], uniforms: np.ndarray) -> list[int]:
    """One segment from the degraded distribution, token by token."""
    segment: list[int] = []
    (end,) = pair.infilling.after
    for step in range(LONGEST):
        amateur, expert = (
            next_token(lm, source, [*pair.infilling.before, *segment]) for lm in (pair.amateur, pair.expert)
        )
        log_p = degraded_log_probabilities(amateur, expert, SAMPLING.gamma)
        log_p[:, [*pair.never_drawn, end] if step == 0 else pair.never_drawn] = -torch.inf
        token = int(draw(warp_probabilities(log_p, SAMPLING), torch.tensor(uniforms[step : step + 1])))
        if token == end:
            break
        segment.append(token)
    return segment


def compare_drawing(family: str, pair: Pair, dialogues: list[tuple[str, ...]]) -> None:
    uniforms = np.random.default_rng(0).random((len(dialogues), LONGEST))
    sources = [list(task.source) for task in pair.tokenise(dialogues).tasks(seed=0)]
    sample_segments(pair, sources[:4], SAMPLING, uniforms[:4])  # warm up
    here = measure(lambda: sample_segments(pair, sources, SAMPLING, uniforms, pair.never_drawn))
    plain = measure(lambda: [draw_alone(pair, s, u) for s, u in zip(sources, uniforms, strict=True)])
    print_comparison(f"{family}, drawing", plain, here, sum(map(len, here.found)) / here.seconds)
    equal = sum(a == b for a, b in zip(here.found, plain.found, strict=True))
    if equal < 0.95 * len(dialogues):  # rounding in float32 may change a draw near the boundary between two tokens
        raise SystemExit(f"the two ways must draw the same segments, but do for {equal} of {len(dialogues)}")


def compare_scoring(family: str, pair: Pair, dialogues: list[tuple[str, ...]]) -> None:
    here = measure(lambda: find_steps(pair, pair.tokenise(dialogues)))
    # turn by turn
    plain = measure(lambda: [find_steps(pair, pair.tokenise([turns]), token_budget=1)[0] for turns in dialogues])
    print_comparison(f"{family}, scoring", plain, here, sum(len(found.turn) for found in here.found) / here.seconds)
    worst = max(np.abs(a.momentum - b.momentum).max() for a, b in zip(here.found, plain.found, strict=True))
    if worst > 1e-3:
        raise SystemExit(f"the two ways must give the same momentum, but differ by up to {worst:g} nats")


def compare_places(family: str, pair: Pair, dialogues: list[tuple[str, ...]], runs: int) -> None:
    """Scoring with the last layer of causal models at all places and at scored places alone, in turn."""
    tokenised = pair.tokenise(dialogues)

    def score() -> list[Steps]:
        return find_steps(pair, tokenised)

    def score_all_places() -> list[Steps]:
        with patch("models.causal.WITH_MLP", frozenset()):
            return score()

    measured = [
        [measure(work, clock=time.process_time) for work in (score_all_places, score)] for _ in range(max(1, runs))
    ]
    seconds = [[each.seconds for each in way] for way in zip(*measured, strict=True)]
    ratios = [plain / here for plain, here in zip(*seconds, strict=True)]
    products = count_products(score_all_places) / count_products(score)
    print_row(family, *(show_range(each) for each in (*seconds, ratios)), f"{products:.2f}")
    plain, here = (each.found for each in measured[0])
    worst = max(np.abs(a.momentum - b.momentum).max() for a, b in zip(here, plain, strict=True))
    if worst > 1e-4:
        raise SystemExit(f"the two ways must give the same momentum, but differ by up to {worst:g} nats")


def main() -> None:
    chosen = read_arguments(__doc__, dialogues=64, runs=3)
    dialogues = [example.turns for example in generate_dialogues(chosen.dialogues, seed=0)]
    print(f"{len(dialogues)} dialogues, {describe_machine()}; seconds one at a time and in batches")
    print_header("pair", "one at a time", "in batches", "ratio", "tokens a second in batches")
    causal: dict[str, Pair] = {}
    for family, (gaps, *tiny) in FAMILIES.items():
        amateur, expert = (gaps.build(model, dialogues, seed=0) for model in tiny)
        for lm in (amateur, expert):
            lm.model.eval()
        pair = Pair(amateur, expert, READ)
        compare_drawing(family, pair, dialogues)
        compare_scoring(family, pair, dialogues)
        if isinstance(expert, CausalLM):
            causal[family] = pair
    print("\nprocessor seconds of scoring with the last layer of the models at all places, and at scored places alone")
    print_header("pair", "all places", "scored places", "ratio", "ratio of products")
    for family, pair in causal.items():
        compare_places(family, pair, dialogues, chosen.runs)


if __name__ == "__main__":
    main()
