"""Generative CDM's negatives: segments of good dialogues removed and drawn again from the degraded distribution.

CDM, Algorithm 1, lines 5-11. Positives go through the same tokenising and cleaning as negatives, so that a discriminator
cannot tell them apart by white space.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cdm.pair import SEPARATOR, Pair
from cdm.sampling import Sampling, sample_segments
from cdm.segments import Gap, Strategy, fill, gaps_of, infilling_task, random_gap

Dialogue = tuple[str, ...]


@dataclass(frozen=True)
class Negatives:
    """Positives and their negatives, in the order of the dialogues that could be manipulated.

    Attributes:
        positives: the dialogues after tokenising and cleaning.
        negatives: the same dialogues with redrawn segments.
        indices: which of the given dialogues each pair comes from.
        failures: how many dialogues kept their text in every attempt and were left out.
    """

    positives: tuple[Dialogue, ...]
    negatives: tuple[Dialogue, ...]
    indices: tuple[int, ...]
    failures: int


def _clean(turns: Sequence[str]) -> Dialogue:
    return tuple(" ".join(turn.split()) for turn in turns)


def sample_negatives(
    pair: Pair,
    dialogues: Sequence[Sequence[str]],
    strategy: Strategy,
    sampling: Sampling,
    seed: int,
    longest_segment: int = 20,
    attempts: int = 3,
    token_budget: int = 16_384,
) -> Negatives:
    """A negative for every dialogue: `strategy` says how often and how much is drawn again from the degraded distribution.

    A segment that comes out as it was, or empty, is drawn again at a new place, at most `attempts` times.
    """
    tokenised = pair.tokenise(dialogues)
    end = pair.infilling.after[0]
    forbidden = [i for i in pair.amateur.tokenizer.all_special_ids if i != end]
    separator_id = pair.amateur.tokenizer.convert_tokens_to_ids(SEPARATOR)
    if separator_id not in forbidden:
        forbidden.append(separator_id)
    rngs = [random.Random(f"{seed}/{i}") for i in range(len(dialogues))]
    plans = [
        gaps_of(turns, strategy, rng, longest_segment) for turns, rng in zip(tokenised.dialogues, rngs, strict=True)
    ]
    positives = [_clean(_decode(pair, turns)) for turns in tokenised.dialogues]
    current: list[list[list[int]]] = [[list(turn) for turn in turns] for turns in tokenised.dialogues]
    failed: set[int] = set()
    for step in range(max(map(len, plans), default=0)):
        waiting = [i for i, plan in enumerate(plans) if step < len(plan) and i not in failed]
        for attempt in range(attempts):
            gaps = [random_gap(current[i], rngs[i], plans[i][step], longest_segment) for i in waiting]
            redrawn = _redraw(
                pair,
                [current[i] for i in waiting],
                gaps,
                sampling,
                [_uniforms(seed, i, step, attempt, sampling.longest) for i in waiting],
                forbidden,
                token_budget,
            )
            still: list[int] = []
            for i, turns in zip(waiting, redrawn, strict=True):
                text = _clean(_decode(pair, turns))
                if text != _clean(_decode(pair, current[i])) and text != positives[i] and all(text):
                    current[i] = turns
                else:
                    still.append(i)
            waiting = still
            if not waiting:
                break
        failed.update(waiting)
    kept = [i for i in range(len(dialogues)) if i not in failed]
    return Negatives(
        tuple(positives[i] for i in kept),
        tuple(_clean(_decode(pair, current[i])) for i in kept),
        tuple(kept),
        len(failed),
    )


def _uniforms(seed: int, dialogue: int, step: int, attempt: int, longest: int) -> np.ndarray:
    return np.random.default_rng((seed, dialogue, step, attempt)).random(longest)


def _decode(pair: Pair, turns: Sequence[Sequence[int]]) -> list[str]:
    return pair.amateur.tokenizer.batch_decode([list(turn) for turn in turns])


def _redraw(
    pair: Pair,
    dialogues: Sequence[list[list[int]]],
    gaps: Sequence[Gap],
    sampling: Sampling,
    uniforms: Sequence[np.ndarray],
    forbidden: Sequence[int],
    token_budget: int,
) -> list[list[list[int]]]:
    tokenised = pair.tokenise([])
    tasks = [
        infilling_task(turns, gap, tokenised.infilling, tokenised.separator, pair.longest)
        for turns, gap in zip(dialogues, gaps, strict=True)
    ]
    segments = sample_segments(
        pair, [task.source for task in tasks], sampling, np.stack(uniforms), forbidden, token_budget
    )
    return [fill(turns, gap, segment) for turns, gap, segment in zip(dialogues, gaps, segments, strict=True)]
