"""Generative CDM's negatives: segments of good dialogues removed and drawn again from the degraded distribution.

CDM, Algorithm 1, lines 5-11. Positives are tokenised and decoded as negatives are, so that white space and spelling
do not tell them apart.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdm.amr import Graphs, draw_amr_gap
from cdm.infilling import Pair, TokenisedDialogues
from cdm.sampling import Sampling, sample_segments
from cdm.segments import (
    Gap,
    InfillingTask,
    Pieces,
    Place,
    Strategy,
    Turns,
    draw_content_gap,
    draw_gap,
    fill,
    manipulations,
)
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
        indices = tuple(sorted(negatives))
        return cls(
            positives=tuple(positives[i] for i in indices),
            negatives=tuple(negatives[i] for i in indices),
            indices=indices,
            failures=len(positives) - len(indices),
            **counted,
        )


@dataclass(frozen=True)
class Drawn:
    """The negatives of some dialogues, with JSON values."""

    indices: Sequence[int]  # of the dialogues that got a negative
    negatives: Sequence[Dialogue]
    unclosed: int  # these two are as in `Negatives`
    dropped: int
    tokens: int  # drawn tokens that the amateur ranked
    implausible: int  # how many of them are not among its likeliest


@dataclass
class _Progress:
    """What some dialogues have become so far, by index, and what is counted of their redrawn segments."""

    current: dict[int, Turns]
    rngs: Mapping[int, random.Random]
    changed: set[int] = field(default_factory=set)
    unclosed: int = 0
    dropped: int = 0
    ranks: list[int] = field(default_factory=list)  # of every drawn token by the amateur


@dataclass(frozen=True)
class NegativeSampler:
    """Draws the negatives of any of the dialogues. Each depends on its dialogue, its index, the seed and `longest`."""

    pair: Pair
    tokenised: TokenisedDialogues
    positives: Sequence[Dialogue]  # the dialogues as the pair's tokenizer writes them
    strategy: Strategy
    sampling: Sampling
    seed: int
    graphs: Graphs | None
    uncovered: int  # as in `Negatives`
    longest: int  # tokens of a segment

    @classmethod
    def prepare(
        cls,
        pair: Pair,
        dialogues: Sequence[Sequence[str]],
        strategy: Strategy,
        sampling: Sampling,
        seed: int,
        graphs: Graphs | None = None,
    ) -> "NegativeSampler":
        """Tokenises the dialogues. Raises SettingError as `sample_negatives`."""
        tokenised = pair.tokenise(dialogues)
        positives = pair.decode(tokenised.dialogues)
        uncovered = count_uncovered(tokenised, strategy, graphs)
        if strategy == "amr-multi":
            _check_graphs(len(dialogues) - uncovered, len(dialogues))
        lengths = [len(turn) for turns in tokenised.dialogues for turn in turns]
        longest = sampling.longest or 1 + max(lengths, default=0)
        return cls(
            pair,
            tokenised,
            positives,
            strategy=strategy,
            sampling=sampling,
            seed=seed,
            graphs=graphs,
            uncovered=uncovered,
            longest=longest,
        )

    def draw(self, indices: Sequence[int], advance: Callable[[int], None] = lambda rows: None) -> Drawn:
        """The negatives of the dialogues with these indices."""
        progress = _Progress(
            current={i: self.tokenised.dialogues[i] for i in indices},
            rngs={i: random.Random(f"{self.seed}/{i}") for i in indices},
        )
        plans = {i: manipulations(self.strategy, progress.rngs[i]) for i in indices}
        rounds = max(map(len, plans.values()), default=0)
        for number in range(rounds):
            places = {i: plan[number] for i, plan in plans.items() if number < len(plan)}
            last = {i for i in places if number == len(plans[i]) - 1}
            for treated in self._manipulate(progress, places, number):
                advance(len(last & treated))
        return self._collect(progress)

    def _manipulate(self, progress: _Progress, places: Mapping[int, Place], number: int) -> Iterator[set[int]]:
        """Redraws a segment of each dialogue in its place, and gives the dialogues with which an attempt has ended.

        Those that no attempt could change come last.
        """
        waiting = dict(places)
        for attempt in range(ATTEMPTS):
            changed = self._attempt(progress, waiting, (number, attempt))
            yield changed
            waiting = {i: place for i, place in waiting.items() if i not in changed}
            if not waiting:
                return
        yield set(waiting)

    def _attempt(self, progress: _Progress, places: Mapping[int, Place], draw: tuple[int, int]) -> set[int]:
        """Redraws a segment of each dialogue once; the dialogues that are changed. `draw` as in `_draw_segments`."""
        current = progress.current
        gaps = {i: self._find_gap(current[i], place, progress.rngs[i]) for i, place in places.items()}
        tasks = {i: self.tokenised.task(current[i], gap) for i, gap in gaps.items()}
        segments = self._draw_segments(tasks, draw, progress.ranks)
        redrawn = {i: fill(current[i], gaps[i], segment) for i, segment in segments.items()}
        before = self.pair.decode([current[i] for i in places])
        after = self.pair.decode([redrawn[i] for i in places])
        _, attempt = draw
        may_be_cut = attempt == ATTEMPTS - 1
        changed: set[int] = set()
        for i, old, new in zip(places, before, after, strict=True):
            is_cut = len(segments[i]) == self.longest
            differs = old != new != self.positives[i]
            if not differs or not all(new) or (is_cut and not may_be_cut):
                continue
            current[i] = redrawn[i]
            progress.unclosed += is_cut
            progress.dropped += tasks[i].dropped
            changed.add(i)
        progress.changed |= changed
        return changed

    def _collect(self, progress: _Progress) -> Drawn:
        indices = sorted(progress.changed)
        likeliest = round(PLAUSIBLE * self.pair.vocabulary)
        return Drawn(
            indices=indices,
            negatives=self.pair.decode([progress.current[i] for i in indices]),
            unclosed=progress.unclosed,
            dropped=progress.dropped,
            tokens=len(progress.ranks),
            implausible=sum(rank >= likeliest for rank in progress.ranks),
        )

    def _find_gap(self, turns: Turns, place: Place, rng: random.Random) -> Gap:
        return find_gap(self.tokenised, turns, place, rng, self.graphs)

    def _draw_segments(
        self, tasks: Mapping[int, InfillingTask], draw: tuple[int, int], ranks: list[int]
    ) -> dict[int, Sequence[int]]:
        """A segment for each task; `draw` is the round and the attempt, on which the random numbers depend, too."""
        candidates = self.sampling.candidates
        uniforms: list[NDArray[np.float64]] = []
        sources: list[Sequence[int]] = []
        for i, task in tasks.items():
            uniforms.append(np.random.default_rng((self.seed, i, *draw)).random((candidates, self.longest)))
            sources += [task.source] * candidates
        drawn = iter(sample_segments(self.pair, sources, self.sampling, np.concatenate(uniforms), ranks))
        chosen: dict[int, Sequence[int]] = {}
        for i, task in tasks.items():
            chosen[i] = choose_segment(list(islice(drawn, candidates)), task.segment, self.longest)
        return chosen

    def join(self, parts: Sequence[Drawn]) -> Negatives:
        """The negatives of all dialogues, from those of their parts."""
        negatives: dict[int, Dialogue] = {}
        for part in parts:
            negatives.update(zip(part.indices, map(tuple, part.negatives), strict=True))
        tokens = sum(part.tokens for part in parts)
        implausible = sum(part.implausible for part in parts)
        return Negatives.of(
            self.positives,
            negatives,
            uncovered=self.uncovered,
            unclosed=sum(part.unclosed for part in parts),
            dropped=sum(part.dropped for part in parts),
            implausible=implausible / tokens if tokens else None,
        )


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
    manipulation that fails in all attempts leaves the dialogue as the earlier ones made it. `advance` gets the number
    of dialogues done. `graphs` are those of `amr-multi`. `cdm.parallel` draws on every device of a trainer.

    Raises SettingError for `amr-multi` where fewer than half of the dialogues have a graph with a place.
    """
    sampler = NegativeSampler.prepare(pair, dialogues, strategy, sampling, seed=seed, graphs=graphs)
    return sampler.join([sampler.draw(range(len(dialogues)), advance)])


def to_labelled(negatives: Negatives) -> list[LabelledText]:
    """Positives (label 1) and negatives (label 0) for a discriminator; a dialogue and its negative are a pair."""
    pairs = zip(negatives.indices, negatives.positives, negatives.negatives, strict=True)
    texts: list[LabelledText] = []
    for i, positive, negative in pairs:
        texts.append(LabelledText(positive, 1, group=str(i), pair=negative))
        texts.append(LabelledText(negative, 0, group=str(i), pair=positive))
    return texts


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
    pieces = tokenised.to_pieces(turns)
    gap: Gap | None = None
    if place in PLACED:
        gap = find_place(pieces, place, rng, graphs, tokenised.given)
    if gap is None:
        gap = draw_gap(pieces, rng, place == "utterance", tokenised.given)
    if tokenised.infilling.reads_after:
        return gap
    return replace(gap, stop=len(turns[gap.turn]))


def choose_segment(candidates: Sequence[Sequence[int]], removed: Sequence[int], longest: int) -> Sequence[int]:
    """Of the segments that ended before `longest` and are not the removed one, that of the nearest length.

    Where there is none, the first candidate.

    >>> choose_segment([[5], [6, 7, 8, 9], [4, 4, 4]], removed=[4, 4, 4], longest=9)
    [6, 7, 8, 9]
    """
    fitting = [segment for segment in candidates if len(segment) < longest and list(segment) != list(removed)]
    return min(fitting, key=lambda segment: abs(len(segment) - len(removed)), default=candidates[0])
