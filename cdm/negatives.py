"""Generative CDM's negatives: segments of good dialogues removed and drawn again from the degraded distribution.

CDM, Algorithm 1, lines 5-11. Positives are tokenised and decoded as negatives are, so that white space and spelling
do not tell them apart.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from cdm.amr import Graphs, amr_gap, letters
from cdm.content import content_gap
from cdm.infilling import TokenisedDialogues
from cdm.pair import Pair, decode_dialogues
from cdm.sampling import Sampling, sample_segments
from cdm.segments import Gap, Place, Strategy, Turns, fill, manipulations, random_gap
from core.faults import SettingFault

VERSION = 6  # of negatives: raised whenever the same pair, dialogues, settings and seed would give others
Dialogue = tuple[str, ...]


@dataclass(frozen=True)
class Negatives:
    """Positives and their negatives, in the order of the dialogues that could be manipulated.

    Attributes:
        positives: the dialogues as the pair's tokenizer writes them.
        negatives: the same dialogues with redrawn segments.
        indices: which of the given dialogues each of them comes from.
        failures: how many dialogues no manipulation could change; they are left out.
        unclosed: how many redrawn segments did not end within the longest length in any attempt and stand cut.
        dropped: how many source tokens around the redrawn segments did not fit into the models' window.
    """

    positives: tuple[Dialogue, ...]
    negatives: tuple[Dialogue, ...]
    indices: tuple[int, ...]
    failures: int
    unclosed: int = 0
    dropped: int = 0


def sample_negatives(
    pair: Pair,
    dialogues: Sequence[Sequence[str]],
    strategy: Strategy,
    sampling: Sampling,
    seed: int,
    longest_segment: int = 20,
    attempts: int = 3,
    token_budget: int = 16_384,
    advance: Callable[[int], None] = lambda rows: None,
    graphs: Graphs | None = None,
) -> Negatives:
    """A negative for every dialogue: `strategy` says how often and how much of it is drawn again.

    A segment that comes out as it was, leaves an empty turn or does not end within the longest length is drawn again
    at another place, at most `attempts` times. In the last attempt a segment that does not end is cut and counted. A
    manipulation that fails in all attempts leaves the dialogue as the earlier ones made it. A negative depends on its
    dialogue, its index, the seed and the longest length, not on the other dialogues' words. `advance` is called with
    the number of manipulations done. `graphs` are those of `amr-multi`.

    Raises SettingFault for `amr-multi` where no turn has a graph with a place.
    """
    tokenised = pair.tokenise(dialogues)
    positives = decode_dialogues(pair.amateur, tokenised.dialogues)
    if strategy == "amr-multi" and not any(
        graphs is not None and graphs.places(letters(turn)) for turns in positives for turn in turns
    ):
        raise SettingFault(
            "strategy amr-multi needs AMR graphs of the dialogues' sentences, but no turn has one with places: "
            "parse the sentences with an AMR parser that aligns (such as amrlib), or use content-multi"
        )
    current: list[Turns] = list(tokenised.dialogues)
    longest = sampling.longest or 1 + max((len(turn) for turns in current for turn in turns), default=0)
    unclosed = dropped = 0
    rngs = [random.Random(f"{seed}/{i}") for i in range(len(current))]
    plans = [manipulations(strategy, rng) for rng in rngs]
    changed: set[int] = set()
    for round_, plan in enumerate(_transposed(plans)):
        waiting = list(plan)
        for attempt in range(attempts):
            draws = _draw(
                pair,
                tokenised,
                [current[i] for i in waiting],
                [plan[i] for i in waiting],
                [rngs[i] for i in waiting],
                np.array([_uniforms(seed, i, round_, attempt, sampling.candidates, longest) for i in waiting]),
                sampling,
                longest_segment,
                token_budget,
                graphs,
            )
            before = decode_dialogues(pair.amateur, [current[i] for i in waiting])
            after = decode_dialogues(pair.amateur, [draw.turns for draw in draws])
            refused: list[int] = []
            for i, b, a, draw in zip(waiting, before, after, draws, strict=True):
                if b != a != positives[i] and all(a) and (draw.is_closed or attempt == attempts - 1):
                    current[i] = draw.turns
                    changed.add(i)
                    unclosed += not draw.is_closed
                    dropped += draw.dropped
                else:
                    refused.append(i)
            advance(len(waiting) - len(refused))
            waiting = refused
            if not waiting:
                break
    kept = sorted(changed)
    return Negatives(
        positives=tuple(positives[i] for i in kept),
        negatives=tuple(decode_dialogues(pair.amateur, [current[i] for i in kept])),
        indices=tuple(kept),
        failures=len(current) - len(kept),
        unclosed=unclosed,
        dropped=dropped,
    )


def join_negatives(parts: Sequence[tuple[Sequence[int], Negatives]]) -> Negatives:
    """The negatives of several parts of a list of dialogues, in the order of that list.

    Each part says where its dialogues stand in the whole list.
    """
    rows = sorted(
        (places[i], positive, negative)
        for places, found in parts
        for i, positive, negative in zip(found.indices, found.positives, found.negatives, strict=True)
    )
    indices, positives, negatives = zip(*rows, strict=True) if rows else ((), (), ())
    return Negatives(
        positives,
        negatives,
        indices,
        failures=sum(found.failures for _, found in parts),
        unclosed=sum(found.unclosed for _, found in parts),
        dropped=sum(found.dropped for _, found in parts),
    )


def _transposed(plans: Sequence[Sequence[Place]]) -> list[dict[int, Place]]:
    """For every round, the dialogues that take part, with what is redrawn."""
    rounds = max(map(len, plans), default=0)
    return [{i: plan[r] for i, plan in enumerate(plans) if r < len(plan)} for r in range(rounds)]


def _uniforms(
    seed: int, dialogue: int, round_: int, attempt: int, candidates: int, longest: int
) -> Float[NDArray[np.float64], "candidates longest"]:
    return np.random.default_rng((seed, dialogue, round_, attempt)).random((candidates, longest))


@dataclass(frozen=True)
class _Draw:
    """A dialogue with one segment drawn again.

    Attributes:
        is_closed: whether the segment ended by itself.
        dropped: source tokens that did not fit into the models' window.
    """

    turns: Turns
    is_closed: bool
    dropped: int


def _draw(
    pair: Pair,
    tokenised: TokenisedDialogues,
    dialogues: Sequence[Turns],
    places: Sequence[Place],
    rngs: Sequence[random.Random],
    uniforms: Float[NDArray[np.float64], "dialogues candidates longest"],
    sampling: Sampling,
    longest_segment: int,
    token_budget: int,
    graphs: Graphs | None,
) -> list[_Draw]:
    """Each dialogue with one random gap drawn again."""
    gaps = [
        tokenised.fillable(turns, _gap(tokenised, turns, place, rng, longest_segment, graphs))
        for turns, place, rng in zip(dialogues, places, rngs, strict=True)
    ]
    tasks = [tokenised.task(turns, gap) for turns, gap in zip(dialogues, gaps, strict=True)]
    candidates, longest = uniforms.shape[1:]
    sources = [task.source for task in tasks for _ in range(candidates)]
    draws_of = uniforms.reshape(-1, longest)
    drawn = sample_segments(pair, sources, sampling, draws_of, pair.never_drawn, token_budget)
    draws: list[_Draw] = []
    for i, (turns, gap, task) in enumerate(zip(dialogues, gaps, tasks, strict=True)):
        segment = choose_segment(drawn[i * candidates : (i + 1) * candidates], task.segment, longest)
        draws.append(_Draw(fill(turns, gap, segment), len(segment) < longest, task.dropped))
    return draws


def _gap(
    tokenised: TokenisedDialogues,
    turns: Turns,
    place: Place,
    rng: random.Random,
    longest_segment: int,
    graphs: Graphs | None,
) -> Gap:
    """A random gap at a place; a dialogue without content words, or without graphs, gets a random segment."""
    found = None
    if place == "content":
        found = content_gap(tokenised.spell(turns), rng, tokenised.given)
    elif place == "amr" and graphs is not None:
        found = amr_gap(tokenised.spell(turns), graphs, rng, longest_segment, tokenised.given)
    return found or random_gap(turns, rng, place == "utterance", longest_segment, tokenised.given, tokenised.spans)


def choose_segment(candidates: Sequence[Sequence[int]], removed: Sequence[int], longest: int) -> Sequence[int]:
    """Of the segments that ended before `longest` and are not the removed one, that of the nearest length.

    Where there is none, the first candidate.

    >>> choose_segment([[5], [6, 7, 8, 9], [4, 4, 4]], removed=[4, 4, 4], longest=9)
    [6, 7, 8, 9]
    """
    fitting = [segment for segment in candidates if len(segment) < longest and list(segment) != list(removed)]
    return min(fitting, key=lambda segment: abs(len(segment) - len(removed)), default=candidates[0])
