"""Generative CDM's negatives: segments of good dialogues removed and drawn again from the degraded distribution.

This is CDM, Algorithm 1, lines 5-11. Positives are tokenised and decoded like negatives, so that white space and
spelling do not tell them apart.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from cdm.amr import Graphs, draw_amr_gap
from cdm.infilling import Pair, TokenisedDialogues
from cdm.sampling import Sampling, sample_segments
from cdm.segments import PLACES, DrawGap, Gap, InfillingTask, Place, Strategy, Turns, draw_gap, fill, manipulations
from core.errors import SettingError
from discriminators.texts import LabelledText

ATTEMPTS = 3  # at a manipulation
PLAUSIBLE = 0.03  # of the vocabulary, the amateur's likeliest tokens: 30 of a thousand, about 1,000 of T5's
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
        return cls(
            *both,
            at,
            len(positives) - len(at),
            **counted,
        )

    @classmethod
    def join(cls, parts: Sequence["Negatives"]) -> "Negatives":
        """Joins the negatives of several parts of the data."""
        whole = cls(
            (),
            (),
            (),
            0,
        )
        for part in parts:
            whole = cls(*(getattr(whole, field.name) + getattr(part, field.name) for field in fields(cls)))
        return whole


def save_negatives(path: Path, negatives: Negatives) -> None:
    """Writes negatives as JSON."""
    path.write_text(json.dumps(asdict(negatives), ensure_ascii=False) + "\n", "utf-8")


def load_negatives(path: Path) -> Negatives:
    """Reads the negatives that `save_negatives` wrote."""
    return TypeAdapter(Negatives).validate_json(path.read_bytes())


@dataclass
class Draft:
    """A dialogue on its way to become a negative."""

    index: int
    turns: Turns
    positive: Dialogue
    rng: random.Random
    places: list[Place]  # of its manipulations
    text: Dialogue  # of its turns
    round: int = 0  # which manipulation is next
    attempt: int = 0
    unclosed: int = 0
    dropped: int = 0

    @property
    def is_waiting(self) -> bool:
        return self.round < len(self.places)


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

    @cached_property
    def places(self) -> dict[str, DrawGap]:
        """How a gap is drawn, by the kind of its place."""
        return {**PLACES, "amr": partial(draw_amr_gap, graphs=self.graphs or Graphs({}))}

    def find_place(
        self,
        turns: Turns,
        place: Place,
        rng: random.Random,
    ) -> Gap | None:
        """Draws a gap at a place of this kind; None if the dialogue has none."""
        return self.places[place](self.tokenised.to_pieces(turns), rng, self.tokenised.prompt_turns)

    def count_uncovered(self, indices: Sequence[int]) -> int:
        """Counts dialogues without a place of the kind that the strategy asks for, such as a content word."""
        rng = random.Random(0)  # whether there is a place does not depend on the draw
        places: dict[int, Place] = {i: manipulations(self.strategy, rng)[0] for i in indices}
        return sum(self.find_place(self.tokenised.dialogues[i], place, rng) is None for i, place in places.items())

    def draw(self, indices: Sequence[int], advance: Callable[[int], None] = lambda rows: None) -> Negatives:
        """Draws the negatives of the dialogues with these indices; all wait for their next segments together."""
        drafts = [self._begin(i) for i in indices]
        ranks: list[int] = []  # of every drawn token by the amateur
        waiting = drafts
        while waiting:
            gaps = [self._find_gap(draft) for draft in waiting]
            tasks = [self.tokenised.task(draft.turns, gap) for draft, gap in zip(waiting, gaps, strict=True)]
            segments = self._draw_segments(waiting, tasks, ranks)
            for draft, gap, task, segment in zip(
                waiting,
                gaps,
                tasks,
                segments,
                strict=True,
            ):
                self._redraw(
                    draft,
                    gap,
                    task,
                    segment,
                )
            still = [draft for draft in waiting if draft.is_waiting]
            advance(len(waiting) - len(still))
            waiting = still
        likeliest = round(PLAUSIBLE * self.pair.vocabulary)
        return Negatives.of(
            {draft.index: draft.positive for draft in drafts},
            {draft.index: draft.text for draft in drafts if draft.text != draft.positive},
            uncovered=self.count_uncovered(indices),
            unclosed=sum(draft.unclosed for draft in drafts),
            dropped=sum(draft.dropped for draft in drafts),
            ranked=len(ranks),
            beyond=sum(rank >= likeliest for rank in ranks),
        )

    def _begin(self, index: int) -> Draft:
        rng = random.Random(f"{self.seed}/{index}")
        turns = self.tokenised.dialogues[index]
        (text,) = self.pair.decode([turns])
        return Draft(
            index,
            turns,
            positive=text,
            rng=rng,
            places=manipulations(self.strategy, rng),
            text=text,
        )

    def _redraw(
        self,
        draft: Draft,
        gap: Gap,
        task: InfillingTask,
        segment: Sequence[int],
    ) -> None:
        """Puts the segment into the dialogue, unless it must be drawn again."""
        draft.attempt += 1
        is_last = draft.attempt == ATTEMPTS
        is_closed = len(segment) < self.longest
        turns = fill(draft.turns, gap, segment)
        (text,) = self.pair.decode([turns])
        is_new = draft.text != text != draft.positive and all(text)
        if is_new and (is_closed or is_last):
            draft.turns = turns
            draft.text = text
            draft.unclosed += not is_closed
            draft.dropped += task.dropped
        elif not is_last:
            return
        draft.round += 1
        draft.attempt = 0

    def _find_gap(self, draft: Draft) -> Gap:
        """A dialogue without a place of the kind gets a random segment.

        For a model that does not read what follows a gap, the gap extends to the end of its turn.
        """
        gap = self.find_place(draft.turns, draft.places[draft.round], draft.rng)
        if gap is None:
            gap = draw_gap(self.tokenised.to_pieces(draft.turns), draft.rng, self.tokenised.prompt_turns)
        if self.tokenised.infilling.reads_after:
            return gap
        return replace(gap, stop=len(draft.turns[gap.turn]))

    def _draw_segments(
        self,
        drafts: Sequence[Draft],
        tasks: Sequence[InfillingTask],
        ranks: list[int],
    ) -> list[Sequence[int]]:
        """A segment for each draft; the random numbers depend on its index, the manipulation and the attempt."""
        candidates = self.sampling.candidates
        uniforms: list[NDArray[np.float64]] = []
        for draft in drafts:
            rng = np.random.default_rng((self.seed, draft.index, draft.round, draft.attempt))
            uniforms.append(rng.random((candidates, self.longest)))
        sources = [task.source for task in tasks for _ in range(candidates)]
        drawn = iter(
            sample_segments(
                self.pair,
                sources,
                self.sampling,
                np.concatenate(uniforms),
                ranks,
            )
        )
        return [choose_segment([*islice(drawn, candidates)], task.segment, self.longest) for task in tasks]


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
    sampler = NegativeSampler(
        pair,
        dialogues,
        strategy,
        sampling,
        seed=seed,
        graphs=graphs,
    )
    return sampler.draw(range(len(dialogues)), advance)


def to_labelled(negatives: Negatives) -> list[LabelledText]:
    """Makes the training texts of a discriminator: positives (label 1) and negatives (label 0), grouped in pairs."""
    pairs = zip(
        negatives.indices,
        negatives.positives,
        negatives.negatives,
        strict=True,
    )
    return [
        LabelledText(
            segments,
            label,
            group=str(i),
            pair=other,
        )
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


def choose_segment(candidates: Sequence[Sequence[int]], removed: Sequence[int], longest: int) -> Sequence[int]:
    """Chooses among the segments that differ from the removed one and ended before `longest`: the nearest in length.

    If there is no such segment, the first candidate is chosen.

    >>> choose_segment([[5], [6, 7, 8, 9], [4, 4, 4]], removed=[4, 4, 4], longest=9)
    [6, 7, 8, 9]
    """
    fitting = [segment for segment in candidates if len(segment) < longest and list(segment) != list(removed)]
    return min(fitting, key=lambda segment: abs(len(segment) - len(removed)), default=candidates[0])
