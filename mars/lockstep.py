"""Lockstep: clozes in tokens, all of a batch filled together on one key-value cache (MARS, Algorithm 2).

A decision that rounding errors could turn (`DOUBT`) is made again by the row alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from language_models.batching import batches_by_budget, pad
from language_models.causal import CausalLM
from mars.cloze import Augmentation, Fill
from mars.judging import (
    DOUBT,
    TIE,
    best_length,
    branches,
    close_call,
    following_states,
    log_probabilities,
    perplexities_alone,
    with_following,
)
from mars.planning import NO_WORD, divergence, plan
from mars.slots import Slots, hidden_alone, onward
from mars.vocabulary import Vocabulary

JUDGED_TOKENS = 1024  # of a pass that judges; rows are sorted, so that few of them fill up a pass


@dataclass(frozen=True)
class Gap:
    """A blank in tokens: how many to write, and the kept text after it."""

    written: int
    after: tuple[int, ...]


@dataclass(frozen=True)
class Task:
    """A job in tokens: the start token and the context, the kept text before the first blank, the blanks."""

    prompt: tuple[int, ...]
    opening: tuple[int, ...]
    gaps: tuple[Gap, ...]
    dropped: int

    @property
    def capacity(self) -> int:
        """The slots that a row of it needs at most."""
        text = len(self.prompt) + length_of(self.opening, self.gaps)
        return text + max(gap.written * len(gap.after) for gap in self.gaps)


@dataclass
class Row:
    """A job under way; `text` is what the model has read, `fill` what is written into the blank `at`."""

    task: Task
    text: list[int]
    at: int = 0
    fill: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # log P of the fill's tokens under the plain model
    whole: list[int] = field(default_factory=list)  # lengths of the fill that end with a whole character
    pending: bytes = b""
    fills: list[Fill] = field(default_factory=list)
    divergences: list[float] = field(default_factory=list)

    @property
    def gap(self) -> Gap:
        """The blank under way."""
        return self.task.gaps[self.at]

    @property
    def done(self) -> bool:
        """Whether all blanks are filled."""
        return self.at == len(self.task.gaps)

    @property
    def filled(self) -> int:
        """How many tokens the row holds."""
        return len(self.text) + len(self.fill)

    @property
    def last(self) -> bool:
        """Whether no blank follows."""
        return self.at == len(self.task.gaps) - 1

    @property
    def read_after(self) -> tuple[int, ...]:
        """What has to be read of the kept text: nothing follows the last token of a template."""
        return self.gap.after[:-1] if self.last else self.gap.after


@dataclass(frozen=True)
class Writer:
    """A language model that fills, how, the bytes of its tokens and E of the planning."""

    lm: CausalLM
    settings: Augmentation
    vocabulary: Vocabulary
    embeddings: Float[Tensor, "vocabulary dim"]


def length_of(opening: Sequence[int], gaps: Sequence[Gap]) -> int:
    """How many tokens a text takes at most, the context left out."""
    return len(opening) + sum(gap.written + len(gap.after) for gap in gaps)


@torch.inference_mode()
def lockstep(writer: Writer, tasks: Sequence[Task]) -> list[Row]:
    """All tasks at once: a token for every row that writes, until as many wait for the judge as go on writing."""
    rows = [Row(task, [*task.prompt, *task.opening]) for task in tasks]
    slots, hidden = _opened(writer, tasks)
    states = hidden.new_zeros(len(rows), max(gap.written for task in tasks for gap in task.gaps), hidden.shape[-1])
    while under_way := [i for i, row in enumerate(rows) if not row.done]:
        writing = [i for i in under_way if len(rows[i].fill) < rows[i].gap.written]
        if 2 * len(writing) > len(under_way):
            _write(writer, slots, rows, writing, hidden, states)
        else:
            _judge(writer, slots, rows, sorted(set(under_way) - set(writing)), hidden, states)
    return rows


def _opened(writer: Writer, tasks: Sequence[Task]) -> tuple[Slots, Float[Tensor, "rows dim"]]:
    """A row per task that has read its context and the kept text before its first blank, and its last hidden state."""
    prompts = {prompt: i for i, prompt in enumerate(dict.fromkeys(task.prompt for task in tasks))}
    slots = Slots(writer.lm, len(prompts), max(task.capacity for task in tasks))
    read = slots.read([onward(prompt, 0) for prompt in prompts], list(prompts.values()))
    rows_of = [prompts[task.prompt] for task in tasks]
    slots.select(rows_of)
    hidden = read[rows_of, [len(task.prompt) - 1 for task in tasks]]
    opened = [i for i, task in enumerate(tasks) if task.opening]
    if opened:
        read = slots.read([onward(tasks[i].opening, len(tasks[i].prompt)) for i in opened], opened)
        hidden[opened] = read[list(range(len(opened))), [len(tasks[i].opening) - 1 for i in opened]]
    return slots, hidden


def _write(
    writer: Writer,
    slots: Slots,
    rows: Sequence[Row],
    writing: Sequence[int],
    hidden: Float[Tensor, "rows dim"],
    states: Float[Tensor, "rows written dim"],
) -> None:
    """A greedy token for every row that writes; the last of a fill is read with the judge's copies."""
    _append(writer, [rows[i] for i in writing], hidden[list(writing)])
    going_on = [i for i in writing if len(rows[i].fill) < rows[i].gap.written]
    if going_on:
        lengths = [len(rows[i].fill) for i in going_on]
        readings = [onward(rows[i].fill[-1:], rows[i].filled - 1) for i in going_on]
        hidden[going_on] = slots.read(readings, going_on)[:, 0]
        states[going_on, [length - 1 for length in lengths]] = hidden[going_on]


def _append(writer: Writer, rows: Sequence[Row], hidden: Float[Tensor, "rows dim"]) -> None:
    """One token more for every row, from the hidden states before it."""
    words = pad([row.gap.after for row in rows], NO_WORD, writer.lm.device)
    allowed = [writer.vocabulary.allowed(row.pending, row.gap.written - len(row.fill) - 1) for row in rows]
    tokens, scores, divergences, close = _next(writer, hidden, words, torch.stack(allowed))
    for i, row in enumerate(rows):
        token = tokens[i]
        if close[i]:
            alone = hidden_alone(writer.lm, [*row.text, *row.fill])[-1:]
            own_words = pad([row.gap.after], NO_WORD, writer.lm.device)
            token = _next(writer, alone, own_words, allowed[i][None])[0][0]
            scores[i] = log_probabilities(writer.embeddings, alone, [token])[0]
        row.fill.append(token)
        row.scores.append(scores[i])
        if row.gap.after and writer.settings.planning_steps:
            row.divergences.append(divergences[i])
        row.pending = writer.vocabulary.pending(row.pending, token)
        if not row.pending:
            row.whole.append(len(row.fill))


def _next(
    writer: Writer,
    hidden: Float[Tensor, "rows dim"],
    words: Int[Tensor, "rows words"],
    allowed: Bool[Tensor, "rows vocabulary"],
) -> tuple[list[int], list[float], list[float], list[bool]]:
    """The tokens, their log-probabilities under the plain model, KL from it, and which tokens are a close call."""
    s = writer.settings
    planned = plan(hidden, writer.embeddings, words, s.planning_steps, s.xi, s.largest_shift, s.eta, s.reward)
    token, close = pick(planned.logits, allowed)
    if not bool((token < allowed.shape[-1]).all()):
        raise ValueError(f"the logits of {type(writer.lm.model).__name__} are not numbers: its weights are damaged")
    scores = planned.plain.gather(-1, token[:, None])[:, 0] - planned.plain.logsumexp(-1)
    divergences = divergence(planned.logits, planned.plain) if s.planning_steps else torch.zeros_like(scores)
    return token.tolist(), scores.tolist(), divergences.tolist(), close.tolist()


def _judge(
    writer: Writer,
    slots: Slots,
    rows: Sequence[Row],
    waiting: Sequence[int],
    hidden: Float[Tensor, "rows dim"],
    states: Float[Tensor, "rows written dim"],
) -> None:
    """Keeps the best length of every fill that waits, and the kept text behind it."""
    judged = [i for i in waiting if rows[i].gap.after or not rows[i].last]
    costs = [1 + len(rows[i].whole) * len(rows[i].read_after) for i in judged]
    for batch in batches_by_budget(costs, JUDGED_TOKENS):
        group = [judged[i] for i in batch]
        readings = [
            branches(row.fill[-1], row.read_after, len(row.text), row.gap.written, row.whole)
            for row in (rows[i] for i in group)
        ]
        read = slots.read(readings, group)
        states[group, [rows[i].gap.written - 1 for i in group]] = read[:, 0]
        fills = [states[i, [m - 1 for m in rows[i].whole]] for i in group]
        copies = [row[1 : len(reading.ids)] for row, reading in zip(read, readings, strict=True)]
        scores = _following_scores(writer, [rows[i].gap.after for i in group], fills, copies)
        moved: list[tuple[int, range, range]] = []
        for i, fill, copy, following in zip(group, fills, copies, scores, strict=True):
            row, words = rows[i], len(rows[i].gap.after)
            perplexities = _perplexities(writer, row, following)
            kept = best_length(perplexities)
            if not row.last:
                chosen = row.whole.index(kept)
                hidden[i] = copy[(chosen + 1) * words - 1] if words else fill[chosen]
                start, end = len(row.text) + row.gap.written + chosen * words, len(row.text) + kept
                moved.append((i, range(start, start + words), range(end, end + words)))
            _revise(writer, row, kept, perplexities)
        if moved:
            slots.move(*zip(*moved, strict=True))
    for i in set(waiting) - set(judged):  # the end of a text: nothing more to read
        perplexities = _perplexities(writer, rows[i], [])
        _revise(writer, rows[i], best_length(perplexities), perplexities)


def _following_scores(
    writer: Writer, after: Sequence[Sequence[int]], fills: Sequence[Tensor], copies: Sequence[Tensor]
) -> list[list[float]]:
    """Of every row, log P of its kept text behind each length, one after the other."""
    states = [following_states(f, c, len(a)).flatten(0, 1) for a, f, c in zip(after, fills, copies, strict=True)]
    tokens = [token for a, fill in zip(after, fills, strict=True) for _ in fill for token in a]
    scores = iter(log_probabilities(writer.embeddings, torch.cat(states), tokens))
    return [list(islice(scores, len(state))) for state in states]


def _perplexities(writer: Writer, row: Row, following: Sequence[float]) -> list[float]:
    found = with_following(row.scores, following, row.whole)
    if close_call(found):
        return perplexities_alone(writer.lm, row.text, row.fill, row.gap.after, row.whole)
    return found


def _revise(writer: Writer, row: Row, kept: int, perplexities: Sequence[float]) -> None:
    """The row with the first `kept` tokens of its fill and the kept text after them."""
    tokens = row.fill[:kept]
    row.fills.append(Fill(writer.vocabulary.text(tokens), tuple(tokens), tuple(perplexities)))
    row.text += [*tokens, *row.gap.after]
    row.at += 1
    row.fill, row.scores, row.whole, row.pending = [], [], [], b""


def pick(
    logits: Float[Tensor, "rows vocabulary"], allowed: Bool[Tensor, "rows vocabulary"]
) -> tuple[Int[Tensor, " rows"], Bool[Tensor, " rows"]]:
    """The greedy token of each row, and whether rounding errors could change it.

    Of the allowed tokens within `TIE` of the highest logit it is the one with the smallest id.

    >>> token, close = pick(torch.tensor([[0.0, 2.0, 2.0005, 9.0]]), torch.tensor([[True, True, True, False]]))
    >>> token.tolist(), close.tolist()
    ([1], [False])
    """
    logits = logits.masked_fill(~allowed, -torch.inf)
    below = logits.amax(-1, keepdim=True) - logits
    ids = torch.arange(logits.shape[-1], device=logits.device)
    return torch.where(below <= TIE, ids, logits.shape[-1]).amin(-1), ((below - TIE).abs() < DOUBT).any(-1)
