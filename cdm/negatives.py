"""Generative CDM's negatives: segments of good dialogues removed and drawn again from the degraded distribution.

CDM, Algorithm 1, lines 5-11. Positives are tokenised and decoded as negatives are, so that white space and spelling
do not tell them apart.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cdm.amr import Graphs, draw_amr_gap
from cdm.infilling import Pair, TokenisedDialogues
from cdm.sampling import Sampling, sample_segments
from cdm.segments import Gap, Pieces, Place, Strategy, Turns, draw_content_gap, draw_gap, fill, manipulations
from core.errors import SettingError
from discriminators.texts import LabelledText

ATTEMPTS = 3  # at a manipulation
PLAUSIBLE = 0.03  # of the vocabulary, the amateur's likeliest tokens: 30 of a thousand, about 1,000 of T5's
PLACED = ("content", "amr")  # kinds of places that a dialogue may lack
LEAST_COVERED = 0.5  # of the dialogues must have a graph with a place
Dialogue = tuple[str, ...]


@dataclass(frozen=True)
class Negatives:
    """Positives and their negatives, in the order of the dialogues that could be manipulated."""

    positives: tuple[Dialogue, ...]  # the dialogues as the pair's tokenizer writes them
    negatives: tuple[Dialogue, ...]  # the same dialogues with redrawn segments
    indices: tuple[int, ...]  # which of the given dialogues each of them comes from
    failures: int  # how many dialogues no manipulation could change; they are left out
    uncovered: int = 0  # how many dialogues have no place that the strategy asks for and got random segments
    unclosed: int = 0  # how many redrawn segments did not end within the longest length in any attempt and stand cut
    dropped: int = 0  # how many source tokens around the redrawn segments did not fit into the models' window
    # share of the drawn tokens that are not in the amateur's `PLAUSIBLE` share of likeliest tokens; None where it does
    # not draw
    implausible: float | None = None

    @classmethod
    def of(cls, positives: Sequence[Dialogue], negatives: Mapping[int, Dialogue], **counted: Any) -> "Negatives":
        """Those of the dialogues that have one, by index."""
        at = tuple(sorted(negatives))
        both = tuple(positives[i] for i in at), tuple(negatives[i] for i in at)
        return cls(*both, at, len(positives) - len(at), **counted)


def sample_negatives(
    pair: Pair,
    dialogues: Sequence[Sequence[str]],
    strategy: Strategy,
    sampling: Sampling,
    seed: int,
    advance: Callable[[int], None] = lambda rows: None,
    graphs: Graphs | None = None,
) -> Negatives:
    """A negative for every dialogue: `strategy` says how often and how much of it is drawn again.

    A segment that comes out as it was, leaves an empty turn or does not end within the longest length is drawn again
    at another place, at most `ATTEMPTS` times. In the last attempt a segment that does not end is cut and counted. A
    manipulation that fails in all attempts leaves the dialogue as the earlier ones made it. A negative depends on its
    dialogue, its index, the seed and the longest length. `advance` gets the number of dialogues done. `graphs` are
    those of `amr-multi`.

    Raises SettingError for `amr-multi` where fewer than half of the dialogues have a graph with a place.
    """
    tokenised = pair.tokenise(dialogues)
    positives = pair.decode(tokenised.dialogues)
    uncovered = count_uncovered(tokenised, strategy, graphs)
    if strategy == "amr-multi":
        _check_graphs(len(dialogues) - uncovered, len(dialogues))
    current: list[Turns] = list(tokenised.dialogues)
    longest = sampling.longest or 1 + max((len(turn) for turns in current for turn in turns), default=0)
    shape = sampling.candidates, longest
    rngs = [random.Random(f"{seed}/{i}") for i in range(len(current))]
    plans = [manipulations(strategy, rng) for rng in rngs]
    unclosed = dropped = 0
    changed: set[int] = set()
    ranks: list[int] = []  # of every drawn token by the amateur
    for round_ in range(max(map(len, plans), default=0)):
        waiting = [i for i, plan in enumerate(plans) if round_ < len(plan)]
        ending = {i for i in waiting if round_ == len(plans[i]) - 1}  # with their last manipulation
        for attempt in range(ATTEMPTS):
            gaps = {i: find_gap(tokenised, current[i], plans[i][round_], rngs[i], graphs) for i in waiting}
            tasks = {i: tokenised.task(current[i], gap) for i, gap in gaps.items()}
            uniforms = [np.random.default_rng((seed, i, round_, attempt)).random(shape) for i in waiting]
            sources = [task.source for task in tasks.values() for _ in range(sampling.candidates)]
            drawn = iter(sample_segments(pair, sources, sampling, np.concatenate(uniforms), ranks))
            segments = {
                i: choose_segment([next(drawn) for _ in range(sampling.candidates)], task.segment, longest)
                for i, task in tasks.items()
            }
            redrawn = {i: fill(current[i], gaps[i], segment) for i, segment in segments.items()}
            before, after = (pair.decode([of[i] for i in waiting]) for of in (current, redrawn))
            is_last = attempt == ATTEMPTS - 1
            done = [
                i
                for i, b, a in zip(waiting, before, after, strict=True)
                if b != a != positives[i] and all(a) and (len(segments[i]) < longest or is_last)
            ]
            for i in done:
                current[i] = redrawn[i]
                unclosed += len(segments[i]) == longest
                dropped += tasks[i].dropped
            changed.update(done)
            advance(len(ending.intersection(done)))
            waiting = [i for i in waiting if i not in done]
            if not waiting:
                break
        advance(len(ending.intersection(waiting)))  # these failed in every attempt
    negatives = dict(zip(changed, pair.decode([current[i] for i in changed]), strict=True))
    likeliest = round(PLAUSIBLE * pair.vocabulary)
    implausible = float(np.mean(np.array(ranks) >= likeliest)) if ranks else None
    counted = {"uncovered": uncovered, "unclosed": unclosed, "dropped": dropped}
    return Negatives.of(positives, negatives, **counted, implausible=implausible)


def to_labelled(negatives: Negatives) -> list[LabelledText]:
    """Positives (label 1) and negatives (label 0) for a discriminator; a dialogue and its negative are a pair."""
    pairs = zip(negatives.indices, negatives.positives, negatives.negatives, strict=True)
    return [
        LabelledText(segments, label, group=str(i), pair=other)
        for i, positive, negative in pairs
        for segments, label, other in ((positive, 1, negative), (negative, 0, positive))
    ]


def count_uncovered(tokenised: TokenisedDialogues, strategy: Strategy, graphs: Graphs | None) -> int:
    """How many dialogues have no content word (`content-multi`) or no graph with a place (`amr-multi`)."""
    place = strategy.partition("-")[0]
    if place not in PLACED:
        return 0
    rng = random.Random(0)  # whether there is a place does not depend on the draw
    pieces = [tokenised.to_pieces(turns) for turns in tokenised.dialogues]
    return sum(find_place(turns, place, rng, graphs, tokenised.given) is None for turns in pieces)


def _check_graphs(covered: int, dialogues: int) -> None:
    if covered < LEAST_COVERED * dialogues or not covered:
        raise SettingError(
            f"strategy amr-multi needs AMR graphs with places of at least {LEAST_COVERED:.0%} of the dialogues, but "
            f"{covered} of {dialogues} have one: write their sentences with +exp=cdm_sentences, parse all of them with "
            "an AMR parser that aligns (such as amrlib), or use content-multi"
        )


def find_place(turns: Pieces, place: str, rng: random.Random, graphs: Graphs | None, given: int) -> Gap | None:
    """A random gap at a content word (`content`) or where a graph names one (`amr`); None where there is none."""
    if place == "content":
        return draw_content_gap(turns, rng, given)
    return None if graphs is None else draw_amr_gap(turns, graphs, rng, given)


def find_gap(
    tokenised: TokenisedDialogues, turns: Turns, place: Place, rng: random.Random, graphs: Graphs | None
) -> Gap:
    """A random gap at a place; a dialogue without content words, or without graphs, gets a random segment.

    Where a model does not read what follows, the gap goes on to the end of its turn.
    """
    pieces, given = tokenised.to_pieces(turns), tokenised.given
    found = find_place(pieces, place, rng, graphs, given) if place in PLACED else None
    gap = found or draw_gap(pieces, rng, place == "utterance", given)
    return gap if tokenised.infilling.reads_after else replace(gap, stop=len(turns[gap.turn]))


def choose_segment(candidates: Sequence[Sequence[int]], removed: Sequence[int], longest: int) -> Sequence[int]:
    """Of the segments that ended before `longest` and are not the removed one, that of the nearest length.

    Where there is none, the first candidate.

    >>> choose_segment([[5], [6, 7, 8, 9], [4, 4, 4]], removed=[4, 4, 4], longest=9)
    [6, 7, 8, 9]
    """
    fitting = [segment for segment in candidates if len(segment) < longest and list(segment) != list(removed)]
    return min(fitting, key=lambda segment: abs(len(segment) - len(removed)), default=candidates[0])
