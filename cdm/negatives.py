"""Generative CDM's negatives: segments of good dialogues removed and drawn again from the degraded distribution.

This is CDM, Algorithm 1, lines 5-11. Positives are tokenised and decoded like negatives, so that white space and
spelling do not tell them apart.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

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
    """The dialogues that could be manipulated (positives) and, in the same order, their negatives."""

    positives: tuple[Dialogue, ...]  # the dialogues as the pair's tokenizer writes them
    negatives: tuple[Dialogue, ...]  # the same dialogues with redrawn segments
    indices: tuple[int, ...]  # which of the given dialogues each of them comes from
    failures: int  # how many dialogues no manipulation could change; they are left out
    uncovered: int = 0  # how many dialogues have no place that the strategy asks for and got random segments
    unclosed: int = 0  # how many redrawn segments did not end within the longest length in any attempt and stand cut
    dropped: int = 0  # how many source tokens around the redrawn segments did not fit into the models' window
    ranked: int = 0  # how many drawn tokens the amateur ranked
    beyond: int = 0  # how many of these are not in the amateur's `PLAUSIBLE` share of likeliest tokens

    @property
    def implausible(self) -> float | None:
        """The share of the drawn tokens that are not among the amateur's likeliest; None where it does not draw."""
        return self.beyond / self.ranked if self.ranked else None

    @classmethod
    def of(cls, positives: Mapping[int, Dialogue], negatives: Mapping[int, Dialogue], **counted: int) -> "Negatives":
        """Makes Negatives from dialogues by their index.

        A dialogue without a negative counts as a failure.
        """
        at = tuple(sorted(negatives))
        both = tuple(positives[i] for i in at), tuple(negatives[i] for i in at)
        return cls(*both, at, len(positives) - len(at), **counted)

    @classmethod
    def join(cls, parts: Sequence["Negatives"]) -> "Negatives":
        """Joins the negatives of several parts of the data."""
        whole = cls((), (), (), 0)
        for part in parts:
            whole = cls(*(getattr(whole, field.name) + getattr(part, field.name) for field in fields(cls)))
        return whole


def save_negatives(path: Path, negatives: Negatives) -> None:
    """Writes negatives as JSON."""
    path.write_text(json.dumps(asdict(negatives), ensure_ascii=False) + "\n", "utf-8")


def load_negatives(path: Path) -> Negatives:
    """Reads the negatives that `save_negatives` wrote."""
    return TypeAdapter(Negatives).validate_json(path.read_bytes())


@dataclass(frozen=True)
class NegativeSampler:
    """Draws negatives of dialogues. Each negative depends only on its dialogue, its index, the seed and `longest`.

    Raises SettingError as `sample_negatives` does.
    """

    pair: Pair
    dialogues: Sequence[Sequence[str]]
    strategy: Strategy
    sampling: Sampling
    seed: int
    graphs: Graphs | None = None

    def __post_init__(self) -> None:
        if self.strategy == "amr-multi":
            everything = range(len(self.dialogues))
            _check_graphs(len(everything) - self.count_uncovered(everything), len(everything))

    @cached_property
    def tokenised(self) -> TokenisedDialogues:
        return self.pair.tokenise(self.dialogues)

    @cached_property
    def longest(self) -> int:
        """The most tokens of a segment."""
        lengths = [len(turn) for turns in self.tokenised.dialogues for turn in turns]
        return self.sampling.longest or 1 + max(lengths, default=0)

    def count_uncovered(self, indices: Sequence[int]) -> int:
        """Counts dialogues without a content word (`content-multi`) or a graph with related tokens (`amr-multi`)."""
        place = self.strategy.partition("-")[0]
        if place not in PLACED:
            return 0
        rng = random.Random(0)  # whether there is a place does not depend on the draw
        pieces = [self.tokenised.to_pieces(self.tokenised.dialogues[i]) for i in indices]
        prompt_turns = self.tokenised.prompt_turns
        return sum(find_place(turns, place, rng, self.graphs, prompt_turns) is None for turns in pieces)

    def draw(self, indices: Sequence[int], advance: Callable[[int], None] = lambda rows: None) -> Negatives:
        """Draws the negatives of the dialogues with these indices."""
        pair = self.pair
        current: dict[int, Turns] = {i: self.tokenised.dialogues[i] for i in indices}
        positives = dict(zip(indices, pair.decode(list(current.values())), strict=True))
        rngs = {i: random.Random(f"{self.seed}/{i}") for i in indices}
        plans = {i: manipulations(self.strategy, rngs[i]) for i in indices}
        unclosed = 0
        dropped = 0
        changed: set[int] = set()
        ranks: list[int] = []  # of every drawn token by the amateur
        for round_ in range(max(map(len, plans.values()), default=0)):
            waiting = [i for i in indices if round_ < len(plans[i])]
            ending = {i for i in waiting if round_ == len(plans[i]) - 1}  # with their last manipulation
            for attempt in range(ATTEMPTS):
                gaps = {i: self._find_gap(current[i], plans[i][round_], rngs[i]) for i in waiting}
                tasks = {i: self.tokenised.task(current[i], gap) for i, gap in gaps.items()}
                segments = self._draw_segments(tasks, (round_, attempt), ranks)
                redrawn = {i: fill(current[i], gaps[i], segment) for i, segment in segments.items()}
                before = pair.decode([current[i] for i in waiting])
                after = pair.decode([redrawn[i] for i in waiting])
                is_last = attempt == ATTEMPTS - 1
                done = [
                    i
                    for i, old, new in zip(waiting, before, after, strict=True)
                    if old != new != positives[i] and all(new) and (len(segments[i]) < self.longest or is_last)
                ]
                for i in done:
                    current[i] = redrawn[i]
                    unclosed += len(segments[i]) == self.longest
                    dropped += tasks[i].dropped
                changed.update(done)
                advance(len(ending.intersection(done)))
                waiting = [i for i in waiting if i not in done]
                if not waiting:
                    break
            advance(len(ending.intersection(waiting)))  # these failed in every attempt
        drawn = sorted(changed)
        likeliest = round(PLAUSIBLE * pair.vocabulary)
        return Negatives.of(
            positives,
            dict(zip(drawn, pair.decode([current[i] for i in drawn]), strict=True)),
            uncovered=self.count_uncovered(indices),
            unclosed=unclosed,
            dropped=dropped,
            ranked=len(ranks),
            beyond=sum(rank >= likeliest for rank in ranks),
        )

    def _find_gap(self, turns: Turns, place: Place, rng: random.Random) -> Gap:
        return find_gap(self.tokenised, turns, place, rng, self.graphs)

    def _draw_segments(
        self, tasks: Mapping[int, InfillingTask], draw: tuple[int, int], ranks: list[int]
    ) -> dict[int, Sequence[int]]:
        """A segment for each task; `draw` is the round and the attempt, on which the random numbers depend, too."""
        candidates = self.sampling.candidates
        shape = candidates, self.longest
        uniforms = [np.random.default_rng((self.seed, i, *draw)).random(shape) for i in tasks]
        sources = [task.source for task in tasks.values() for _ in range(candidates)]
        drawn = iter(sample_segments(self.pair, sources, self.sampling, np.concatenate(uniforms), ranks))
        return {
            i: choose_segment([next(drawn) for _ in range(candidates)], task.segment, self.longest)
            for i, task in tasks.items()
        }


def sample_negatives(
    pair: Pair,
    dialogues: Sequence[Sequence[str]],
    strategy: Strategy,
    sampling: Sampling,
    seed: int,
    advance: Callable[[int], None] = lambda rows: None,
    graphs: Graphs | None = None,
) -> Negatives:
    """Makes a negative of every dialogue: `strategy` says how many segments are redrawn and how long they are.

    A segment that equals the removed one, leaves an empty turn or does not end within the longest length is redrawn at
    another position, at most `ATTEMPTS` times. In the last attempt a segment that does not end is cut and counted. A
    manipulation that fails in all attempts leaves the dialogue unchanged. `advance` gets the number
    of dialogues done. `graphs` are those of `amr-multi`. `cdm.parallel` draws on every device of a trainer.

    Raises SettingError for `amr-multi` if fewer than half of the dialogues have a graph with related tokens.
    """
    sampler = NegativeSampler(pair, dialogues, strategy, sampling, seed=seed, graphs=graphs)
    return sampler.draw(range(len(dialogues)), advance)


def to_labelled(negatives: Negatives) -> list[LabelledText]:
    """Makes the training texts of a discriminator: positives (label 1) and negatives (label 0), grouped in pairs."""
    pairs = zip(negatives.indices, negatives.positives, negatives.negatives, strict=True)
    return [
        LabelledText(segments, label, group=str(i), pair=other)
        for i, positive, negative in pairs
        for segments, label, other in ((positive, 1, negative), (negative, 0, positive))
    ]


def _check_graphs(covered: int, dialogues: int) -> None:
    if covered < LEAST_COVERED * dialogues or not covered:
        raise SettingError(
            f"strategy amr-multi needs AMR graphs with related tokens for {LEAST_COVERED:.0%} of the dialogues, but "
            f"only {covered} of {dialogues} have one: write their sentences with +exp=cdm_sentences, parse all of them "
            "with an AMR parser that aligns (such as amrlib), or use content-multi"
        )


def find_place(turns: Pieces, place: str, rng: random.Random, graphs: Graphs | None, prompt_turns: int) -> Gap | None:
    """Draws a gap at a content word (`content`) or at tokens that a graph relates (`amr`).

    Returns None if there is no such gap.
    """
    if place == "content":
        return draw_content_gap(turns, rng, prompt_turns)
    return None if graphs is None else draw_amr_gap(turns, graphs, rng, prompt_turns)


def find_gap(
    tokenised: TokenisedDialogues, turns: Turns, place: Place, rng: random.Random, graphs: Graphs | None
) -> Gap:
    """Draws a gap of the given kind. A dialogue without content words, or without graphs, gets a random segment.

    For a model that does not read what follows a gap, the gap extends to the end of its turn.
    """
    pieces, prompt_turns = tokenised.to_pieces(turns), tokenised.prompt_turns
    found = find_place(pieces, place, rng, graphs, prompt_turns) if place in PLACED else None
    gap = found or draw_gap(pieces, rng, place == "utterance", prompt_turns)
    return gap if tokenised.infilling.reads_after else replace(gap, stop=len(turns[gap.turn]))


def choose_segment(candidates: Sequence[Sequence[int]], removed: Sequence[int], longest: int) -> Sequence[int]:
    """Chooses among the segments that differ from the removed one and ended before `longest`: the nearest in length.

    If there is no such segment, the first candidate is chosen.

    >>> choose_segment([[5], [6, 7, 8, 9], [4, 4, 4]], removed=[4, 4, 4], longest=9)
    [6, 7, 8, 9]
    """
    fitting = [segment for segment in candidates if len(segment) < longest and list(segment) != list(removed)]
    return min(fitting, key=lambda segment: abs(len(segment) - len(removed)), default=candidates[0])
