"""Speed of sampling negatives for Generative CDM: in batches with caches, or one at a time without caches.

The models have random weights and the sizes of configs/model/cdm/t5.yaml. Both ways use built-in dialogues, gamma = 1
and the same random numbers.
"""

import time

import numpy as np
import torch

from cdm.momentum import degraded_log_probabilities
from cdm.pair import SEPARATOR, Pair
from cdm.sampling import Sampling, draw, sample_segments, sampling_probabilities
from data.builtin.dialogues import generate_dialogues
from language_models.tiny import TinyT5

SOURCES = 64
LONGEST = 30  # tokens of a segment
SAMPLING = Sampling(gamma=1.0)


@torch.inference_mode()
def one_at_a_time(pair: Pair, source: list[int], uniforms: np.ndarray) -> list[int]:
    """The reference: both models read source and target again for every token."""
    segment: list[int] = []
    (end,) = pair.infilling.after
    for step in range(LONGEST):
        decoder = torch.tensor([[0, *pair.infilling.before, *segment]])
        amateur, expert = (
            lm.model(input_ids=torch.tensor([source]), decoder_input_ids=decoder, use_cache=False)
            .logits[:, -1]
            .log_softmax(-1)
            for lm in (pair.amateur, pair.expert)
        )
        log_p = degraded_log_probabilities(amateur, expert, SAMPLING.gamma)
        log_p[:, [*pair.never_drawn, end] if step == 0 else pair.never_drawn] = -torch.inf
        token = int(draw(sampling_probabilities(log_p, SAMPLING), torch.tensor(uniforms[step : step + 1])))
        if token == end:
            break
        segment.append(token)
    return segment


def main() -> None:
    dialogues = [example.turns for example in generate_dialogues(SOURCES, seed=0)]
    texts = [turn for turns in dialogues for turn in turns]
    pair = Pair(
        TinyT5(1000, 48, 96, 2, 1, 1).build(texts, (SEPARATOR,), seed=0),
        TinyT5(1000, 96, 288, 4, 2, 3).build(texts, (SEPARATOR,), seed=0),
        longest=160,
    )
    for lm in (pair.amateur, pair.expert):
        lm.model.eval()
    sources = [list(task.source) for task in pair.tokenise(dialogues).tasks(seed=0)]
    uniforms = np.random.default_rng(0).random((SOURCES, LONGEST))
    sample_segments(pair, sources[:4], SAMPLING, uniforms[:4])  # warm up

    start = time.perf_counter()
    batched = sample_segments(pair, sources, SAMPLING, uniforms, pair.never_drawn)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    plain = [one_at_a_time(pair, source, u) for source, u in zip(sources, uniforms, strict=True)]
    theirs = time.perf_counter() - start

    equal = sum(a == b for a, b in zip(batched, plain, strict=True))
    tokens = sum(map(len, batched))
    print(f"{SOURCES} segments, {tokens} tokens, {torch.get_num_threads()} threads")
    print(f"one at a time, no caches   {theirs:8.2f} s   {tokens / theirs:8.0f} tokens/s")
    print(f"batched, cached            {ours:8.2f} s   {tokens / ours:8.0f} tokens/s")
    print(f"ratio                      {theirs / ours:8.1f}     equal segments {equal}/{SOURCES}")
    if equal < 0.95 * SOURCES:  # rounding in float32 may change a draw near the boundary between two tokens
        raise SystemExit("the two ways must draw the same segments")


if __name__ == "__main__":
    main()
