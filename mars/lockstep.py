"""Lockstep: fills all jobs of a batch together on one key-value cache (MARS, Algorithm 2).

A decision that rounding errors could change (`DOUBT`) is made again for that job alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from data.words import is_clitic
from mars import judging
from mars.judging import judge_lengths
from mars.planning import DOUBT, NO_WORD, TIE, Embeddings, Hidden, Logits, is_settled, plan_states, project
from mars.references import Augmentation, Fill
from mars.slots import Branch, Reading, Slots, read_alone, read_on
from mars.writable_tokens import WritableTokens
from models.batching import batches_by_budget, pad
from models.causal import CausalLM

JUDGED_TOKENS = 1024  # in a pass that judges; rows of like length are judged together to save padding


@dataclass(frozen=True)
class TokenBlank:
    """A blank: the number of tokens to write, the kept text after it, and the tokens of that text to plan toward.

    Planning ignores tokens that are punctuation only, because it would write the mark twice ("car..").
    """

    length: int
    after: tuple[int, ...]
    sought: tuple[int, ...]


@dataclass(frozen=True)
class TokenJob:
    """A job as tokens: the start token and context, the kept text before the first blank, and the blanks."""

    prompt: tuple[int, ...]
    opening: tuple[int, ...]
    blanks: tuple[TokenBlank, ...]
    dropped: int

    @property
    def max_length(self) -> int:
        """The maximum number of tokens of the text, without the prompt."""
        in_blanks = sum(blank.length for blank in self.blanks)
        after_blanks = sum(len(blank.after) for blank in self.blanks)
        return len(self.opening) + in_blanks + after_blanks

    @property
    def capacity(self) -> int:
        """The maximum number of slots of the cache that a row needs."""
        copied = [blank.length * len(blank.after) for blank in self.blanks]
        return len(self.prompt) + self.max_length + max(copied)


@dataclass
class Filling:
    """A job in progress: `text` has the tokens already read, `fill` those written into blank number `at`."""

    job: TokenJob
    text: list[int]
    at: int = 0
    fill: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # log P of the fill's tokens under the plain model
    whole: list[int] = field(default_factory=list)  # lengths of the fill that end with a whole character
    pending: bytes = b""
    fills: list[Fill] = field(default_factory=list)
    divergences: list[float] = field(default_factory=list)

    @property
    def blank(self) -> TokenBlank:
        return self.job.blanks[self.at]

    @property
    def is_done(self) -> bool:
        return self.at == len(self.job.blanks)

    @property
    def is_last(self) -> bool:
        return self.at == len(self.job.blanks) - 1

    @property
    def is_written(self) -> bool:
        """Whether the fill is complete and can be judged."""
        return len(self.fill) == self.blank.length

    @property
    def read_after(self) -> tuple[int, ...]:
        """The kept text after the blank, as tokens, without the last token of the template, which predicts nothing."""
        return self.blank.after[:-1] if self.is_last else self.blank.after

    def is_after_word(self, tokens: WritableTokens) -> bool:
        """Whether the next token could join the word before the blank, or a clitic at the beginning of the fill."""
        if not self.fill:
            return tokens.ends_in_word(self.text)
        return not self.pending and is_clitic(tokens.text(self.fill))

    def keep(
        self,
        length: int,
        perplexities: Sequence[float],
        tokens: WritableTokens,
    ) -> None:
        """Keeps the first `length` tokens of the fill and the text after it, and continues with the next blank."""
        kept = self.fill[:length]
        self.fills.append(Fill(tokens.text(kept), tuple(kept), tuple(perplexities)))
        self.text += [*kept, *self.blank.after]
        self.at += 1
        self.fill = []
        self.scores = []
        self.whole = []
        self.pending = b""


@dataclass(frozen=True)
class Filler:
    """A language model, how it fills blanks, the tokens that it may write, and the embeddings for planning."""

    lm: CausalLM
    settings: Augmentation
    tokens: WritableTokens
    embeddings: Embeddings


@torch.inference_mode()
def fill_in_lockstep(filler: Filler, jobs: Sequence[TokenJob]) -> list[Filling]:
    """Fills the blanks of all jobs together.

    All jobs write tokens until at least half of the unfinished ones have a complete fill; then these fills are judged.
    """
    batch = _Batch(filler, jobs)
    rows = batch.rows
    while not all(row.is_done for row in rows):
        under_way = [i for i, row in enumerate(rows) if not row.is_done]
        writing = [i for i in under_way if not rows[i].is_written]
        if 2 * len(writing) > len(under_way):
            batch.write(writing)
        else:
            batch.judge([i for i in under_way if rows[i].is_written])
    return rows


class _Batch:
    """All jobs on one cache."""

    def __init__(self, filler: Filler, jobs: Sequence[TokenJob]) -> None:
        """Reads each context once, and then the kept text before the first blank of each job."""
        self.filler = filler
        self.rows = [Filling(job, [*job.prompt, *job.opening]) for job in jobs]  # each is a line of the cache
        lines, prompts, ends = place_jobs(jobs)
        self.slots = Slots(filler.lm, len(prompts), max(ends))
        readings = [read_on(prompt, 0) for prompt in prompts]
        read = self.slots.read(readings, range(len(prompts)))
        self.slots.lines = lines
        # the last hidden state of each row, which predicts its next token
        of_lines = [line.row for line in lines]
        last_shared = [line.shared - 1 for line in lines]
        self.hidden: Hidden = read[of_lines, last_shared]
        opened = [i for i, job in enumerate(jobs) if job.opening]
        if opened:
            readings = [read_on(jobs[i].opening, len(jobs[i].prompt)) for i in opened]
            read = self.slots.read(readings, opened)
            last = [len(jobs[i].opening) - 1 for i in opened]
            self.hidden[opened] = read[list(range(len(opened))), last]
        longest = max(blank.length for job in jobs for blank in job.blanks)
        # the hidden states of each row after the tokens of its fill
        self.states: Float[Tensor, "rows written dim"] = self.hidden.new_zeros(len(jobs), longest, read.shape[-1])

    def write(self, writing: Sequence[int]) -> None:
        """Writes a greedy token in these rows. The last token of a fill is read later, when the fill is judged."""
        self._append([self.rows[i] for i in writing], self.hidden[list(writing)])
        going_on = [i for i in writing if not self.rows[i].is_written]
        if going_on:
            rows = [self.rows[i] for i in going_on]
            readings = [read_on(row.fill[-1:], len(row.text) + len(row.fill) - 1) for row in rows]
            self.hidden[going_on] = self.slots.read(readings, going_on)[:, 0]
            places = [len(row.fill) - 1 for row in rows]
            self.states[going_on, places] = self.hidden[going_on]

    def _append(self, rows: Sequence[Filling], hidden: Hidden) -> None:
        """Appends a token to the fill of every row, from the hidden states before it."""
        filler = self.filler
        allowed: list[Bool[Tensor, " vocabulary"]] = []
        for row in rows:
            room = row.blank.length - len(row.fill) - 1
            allowed.append(filler.tokens.allowed(row.pending, room, row.is_after_word(filler.tokens)))
        tokens, scores, divergences, close = self._next(rows, hidden, torch.stack(allowed))
        for i, row in enumerate(rows):
            token = tokens[i]
            score = scores[i]
            if close[i]:
                alone = read_alone(filler.lm, [*row.text, *row.fill])[-1:]
                (token,), *_ = self._next([row], alone, allowed[i][None])
                (score,) = judging.score_tokens(filler.embeddings, alone, [token])
            row.fill.append(token)
            row.scores.append(score)
            if i in divergences:
                row.divergences.append(divergences[i])
            row.pending = filler.tokens.pending(row.pending, token)
            if not row.pending:
                row.whole.append(len(row.fill))

    def _next(
        self,
        rows: Sequence[Filling],
        hidden: Hidden,
        allowed: Bool[Tensor, "rows vocabulary"],
    ) -> tuple[list[int], list[float], dict[int, float], list[bool]]:
        """The tokens, their log P under the plain model, KL from it of planned rows, and which are a close call."""
        plain = project(hidden, self.filler.embeddings)
        logits, divergences = self._plan(rows, plain, allowed)
        token, close = pick(logits, allowed)
        if not bool((token < allowed.shape[-1]).all()):
            model = type(self.filler.lm.model).__name__
            raise ValueError(f"the logits of {model} are not numbers: its weights are damaged")
        token_logits = plain.gather(-1, token[:, None])[:, 0]
        scores = token_logits - plain.logsumexp(-1)
        return token.tolist(), scores.tolist(), divergences, close.tolist()

    def _plan(
        self,
        rows: Sequence[Filling],
        plain: Logits,
        allowed: Bool[Tensor, "rows vocabulary"],
    ) -> tuple[Logits, dict[int, float]]:
        """The logits after planning, and by row their KL divergence from the plain ones.

        Rows without words to plan toward, and rows whose token planning cannot change, keep the plain logits.
        """
        settings = self.filler.settings
        ahead = [i for i, row in enumerate(rows) if row.blank.sought and settings.planning_steps]
        settled = is_settled(plain[ahead], allowed[ahead], settings.kl).tolist()
        planned = [i for i, is_sure in zip(ahead, settled, strict=True) if not is_sure]
        if not planned:
            return plain, {}
        sought = [rows[i].blank.sought for i in planned]
        words = pad(sought, NO_WORD, self.filler.lm.device)
        logits = plain.clone()
        logits[planned], kl = plan_states(
            self.filler.embeddings,
            words,
            plain[planned],
            steps=settings.planning_steps,
            xi=settings.xi,
            kl=settings.kl,
        )
        return logits, dict(zip(planned, kl.tolist(), strict=True))

    def judge(self, waiting: Sequence[int]) -> None:
        """Keeps the best length of every fill that waits, and the kept text after it."""
        rows = self.rows
        judged = [i for i in waiting if rows[i].blank.after or not rows[i].is_last]
        costs: list[int] = []
        for i in judged:
            copied = len(rows[i].whole) * len(rows[i].read_after)
            costs.append(1 + copied)
        for batch in batches_by_budget(costs, JUDGED_TOKENS):
            group = [judged[i] for i in batch]
            self._judge_together(group)
        for i in set(waiting) - set(judged):  # the end of a text: nothing more to read
            rows[i].keep(*self._best_length(rows[i], []), self.filler.tokens)

    def _judge_together(self, group: Sequence[int]) -> None:
        """Judges the fills of these rows in one pass.

        It reads the last token of each fill and, after each length of the fill, a copy of the text after the blank.
        """
        rows = [self.rows[i] for i in group]
        layouts = [_lay_out_judging(row) for row in rows]
        read = self.slots.read(layouts, group)
        last_places = [row.blank.length - 1 for row in rows]
        self.states[list(group), last_places] = read[:, 0]
        fills: list[Tensor] = []
        copies: list[Tensor] = []
        following: list[Tensor] = []
        tokens: list[int] = []
        for i, row, states, layout in zip(group, rows, read, layouts, strict=True):
            fill = self.states[i, [m - 1 for m in row.whole]]
            copy = states[1 : len(layout)]
            predicting = judging.gather_following_states(fill, copy, len(row.blank.after))
            fills.append(fill)
            copies.append(copy)
            following.append(predicting.flatten(0, 1))
            tokens += row.blank.after * len(row.whole)
        scores = iter(judging.score_tokens(self.filler.embeddings, torch.cat(following), tokens))
        moves: list[_Move] = []
        for i, row, fill, copy, states in zip(group, rows, fills, copies, following, strict=True):
            own_scores = list(islice(scores, len(states)))
            length, perplexities = self._best_length(row, own_scores)
            if not row.is_last:
                chosen = row.whole.index(length)
                words = len(row.blank.after)
                self.hidden[i] = copy[(chosen + 1) * words - 1] if words else fill[chosen]
                moves.append(_move_copy(i, row, chosen))
            row.keep(length, perplexities, self.filler.tokens)
        if moves:
            self.slots.move(*zip(*moves, strict=True))

    def _best_length(self, row: Filling, following: Sequence[float]) -> tuple[int, list[float]]:
        """The best length of a fill, and the perplexity of every length."""
        perplexities = judge_lengths(row.scores, following, row.whole)
        if judging.is_close_call(perplexities):
            perplexities = judging.judge_alone(
                self.filler.lm,
                self.filler.embeddings,
                before=row.text,
                fill=row.fill,
                after=row.blank.after,
                lengths=row.whole,
            )
        return judging.choose_length(perplexities), perplexities


class _Move(NamedTuple):
    """The copy of the text after a blank that is kept: where it was read in a line, and where it belongs."""

    line: int
    start: range
    end: range


def _move_copy(line: int, row: Filling, chosen: int) -> _Move:
    """The move of the copy that follows the chosen length of a fill to its place directly behind that length."""
    words = len(row.blank.after)
    start = len(row.text) + row.blank.length + chosen * words
    end = len(row.text) + row.whole[chosen]
    return _Move(line, range(start, start + words), range(end, end + words))


def _lay_out_judging(row: Filling) -> Reading:
    """The tokens to read for judging a fill: its last token, and a copy of the text after it for each length."""
    return judging.lay_out_branches(
        row.fill[-1],
        row.read_after,
        length=len(row.text),
        filled=row.blank.length,
        lengths=row.whole,
    )


def place_jobs(jobs: Sequence[TokenJob]) -> tuple[list[Branch], list[tuple[int, ...]], list[int]]:
    """Assigns jobs to rows of the cache.

    Returns each job's place in its row (`Branch`), each row's prompt, and each row's number of slots. Jobs with the
    same prompt share a row until they need as many slots as the prompt. A token attends to all slots of its row, so
    more jobs in the row would cost more than they save.
    """
    lines: list[Branch] = []
    prompts: list[tuple[int, ...]] = []
    ends: list[int] = []
    open_rows: dict[tuple[int, ...], int] = {}
    for job in jobs:
        row = open_rows.get(job.prompt)
        if row is None or ends[row] >= 2 * len(job.prompt):
            row = len(prompts)
            open_rows[job.prompt] = row
            prompts.append(job.prompt)
            ends.append(len(job.prompt))
        lines.append(Branch(row, len(job.prompt), ends[row]))
        ends[row] += job.capacity - len(job.prompt)
    return lines, prompts, ends


def pick(
    logits: Logits,
    allowed: Bool[Tensor, "rows vocabulary"],
) -> tuple[Int[Tensor, " rows"], Bool[Tensor, " rows"]]:
    """Picks the greedy token of each row, and says whether rounding errors could change it.

    The greedy token is the one with the smallest id among the allowed tokens within `TIE` of the highest logit.

    >>> token, close = pick(torch.tensor([[0.0, 2.0, 2.0005, 9.0]]), torch.tensor([[True, True, True, False]]))
    >>> token.tolist(), close.tolist()
    ([1], [False])
    """
    logits = logits.masked_fill(~allowed, -torch.inf)
    beyond = logits.shape[-1]  # an id above all tokens
    highest = logits.amax(-1)
    is_near = logits >= highest[:, None] - 2 * TIE
    row, token = is_near.nonzero(as_tuple=True)
    below = highest[row] - logits[row, token]
    tied = torch.where(below <= TIE, token, beyond)
    first = torch.full_like(highest, beyond, dtype=torch.long)
    first.scatter_reduce_(0, row, tied, "amin")
    is_doubtful = (below - TIE).abs() < DOUBT
    close = torch.zeros_like(highest, dtype=torch.bool)
    close[row[is_doubtful]] = True
    return first, close
