"""Self-planning cloze augmentation: a causal language model fills the blanks of a template (MARS, 2.2, Appendix B).

Algorithm 2, as intended. For each blank from left to right: write |B| + sigma tokens greedily, each planned toward the
kept text after the blank; judge every length by the perplexity of what it makes with that text; keep the best length
and go on behind the kept text. |B| counts words and sigma tokens: a blank of two words gets 2 + sigma tokens, of which
one to all stay. A blank at the end is open: no planning, and the perplexity of the fill alone.

All jobs of a batch run in lockstep on one key-value cache. What a batch computes differs in the last digits with its
shape, so a decision that such a difference could turn (`DOUBT`) is made again by the job alone: the texts are the same
byte for byte in any batch and any order, for models in float32 or float64.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from tqdm import tqdm

from data.faults import ExampleFaults
from language_models.batching import batches_by_budget, halving_on_out_of_memory, pad
from language_models.causal import CausalLM
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
from mars.masking import Blank, Kept, Template
from mars.planning import NO_WORD, Rule, divergence, plan
from mars.slots import Slots, check_model, hidden_alone, onward, output_embeddings
from mars.vocabulary import Vocabulary

JUDGED_TOKENS = 1024  # of a pass that judges; rows are sorted, so that few of them fill up a pass


@dataclass(frozen=True)
class Augmentation:
    """How blanks are filled; the values are the paper's where it gives them.

    Attributes:
        planning_steps: k, steps of the hidden state toward the kept text; 0 is the plain model.
        xi: temperature of the planning.
        largest_shift: how far a step moves the logit that it moves most.
        eta: length of a step instead, as the paper writes it (0.02, which moves no logit noticeably).
        max_guess: sigma, how many tokens more than masked words are tried.
        reward: how Eq. 5 is read.
        use_context: whether the model reads the context first.
    """

    planning_steps: int = 3
    xi: float = 1.3
    largest_shift: float = 1.0
    eta: float | None = None
    max_guess: int = 3
    reward: Rule = "log_probability"
    use_context: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError for values out of range."""
        for name, least in (("planning_steps", 0), ("max_guess", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, but is {getattr(self, name)}")
        for name in ("xi", "largest_shift", "eta"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be greater than 0, but is {value}")
        if self.reward not in get_args(Rule):
            raise ValueError(f"reward must be one of {', '.join(get_args(Rule))}, but is {self.reward!r}")


@dataclass(frozen=True)
class Job:
    """A template to fill in view of a context; the context may be empty."""

    context: str
    template: Template


@dataclass(frozen=True)
class Fill:
    """What came into a blank: its text and tokens, and the perplexity of every length tried, from 1.

    The perplexity of a length that would cut a character in two is infinite.
    """

    text: str
    tokens: tuple[int, ...]
    perplexities: tuple[float, ...]


@dataclass(frozen=True)
class Augmented:
    """An augmented reference.

    Attributes:
        text: the template with its blanks filled.
        fills: one per blank.
        kl: KL divergence of the planned from the plain next token in nats, the mean over all planned tokens.
        dropped_context: how many tokens at the end of the context did not fit into the model.
    """

    text: str
    fills: tuple[Fill, ...]
    kl: float
    dropped_context: int


@dataclass(frozen=True)
class _Gap:
    """A blank in tokens: how many to write, and the kept text after it."""

    written: int
    after: tuple[int, ...]


@dataclass(frozen=True)
class _Task:
    """A job in tokens: the start token and the context, the kept text before the first blank, the blanks."""

    prompt: tuple[int, ...]
    opening: tuple[int, ...]
    gaps: tuple[_Gap, ...]
    dropped: int

    @property
    def capacity(self) -> int:
        """The slots that a row of it needs at most."""
        text = len(self.prompt) + _length(self.opening, self.gaps)
        return text + max(gap.written * len(gap.after) for gap in self.gaps)


@dataclass
class _Row:
    """A job under way; `text` is what the model has read, `fill` what is written into the blank `at`."""

    task: _Task
    text: list[int]
    at: int = 0
    fill: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # log P of the fill's tokens under the plain model
    whole: list[int] = field(default_factory=list)  # lengths of the fill that end with a whole character
    pending: bytes = b""
    fills: list[Fill] = field(default_factory=list)
    divergences: list[float] = field(default_factory=list)

    @property
    def gap(self) -> _Gap:
        return self.task.gaps[self.at]

    @property
    def done(self) -> bool:
        return self.at == len(self.task.gaps)

    @property
    def filled(self) -> int:
        return len(self.text) + len(self.fill)

    @property
    def last(self) -> bool:
        return self.at == len(self.task.gaps) - 1

    @property
    def read_after(self) -> tuple[int, ...]:
        """What has to be read of the kept text: nothing follows the last token of a template."""
        return self.gap.after[:-1] if self.last else self.gap.after


@dataclass(frozen=True)
class _Writer:
    lm: CausalLM
    settings: Augmentation
    vocabulary: Vocabulary
    embeddings: Float[Tensor, "vocabulary dim"]


def augment(
    lm: CausalLM,
    jobs: Sequence[Job],
    settings: Augmentation = Augmentation(),
    token_budget: int = 16_384,
) -> list[Augmented]:
    """The augmented reference of every job, in their order.

    A batch holds at most `token_budget` slots of the cache; batches that do not fit into memory are halved. A context
    is encoded once for all jobs of a batch that share it. Templates without a blank come back as they are, without
    a call to the model.

    Raises ExampleFaults, before the model is called, for all templates that are longer than the model reads even
    without context, and ValueError for a model or tokenizer that this cannot work with (`check_model`, `Vocabulary`).
    """
    blank = [i for i, job in enumerate(jobs) if any(isinstance(part, Blank) for part in job.template)]
    results = [Augmented("".join(_kept(job.template)), (), 0.0, 0) for job in jobs]
    if not blank:
        return results
    lm.model.eval()
    embeddings = output_embeddings(lm)
    writer = _Writer(lm, settings, Vocabulary(lm.tokenizer, len(embeddings), lm.device), embeddings)
    tasks = dict(zip(blank, _tasks(writer, jobs, blank), strict=True))
    check_model(lm)
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, task in tasks.items():
        groups.setdefault(task.prompt, []).append(i)
    together = [i for group in groups.values() for i in group]  # jobs of one context stay side by side
    costs = [max(tasks[i].capacity for i in group) for group in groups.values() for _ in group]
    batches = batches_by_budget(costs, token_budget)
    for batch in tqdm(batches, desc="augmented references", delay=3, leave=False, disable=None):
        chosen = [together[i] for i in batch]
        rows = halving_on_out_of_memory(lambda part: _lockstep(writer, [tasks[i] for i in part]), chosen)
        for i, row in zip(chosen, rows, strict=True):
            kl = sum(row.divergences) / max(1, len(row.divergences))
            results[i] = Augmented(_text(jobs[i].template, row.fills), tuple(row.fills), kl, row.task.dropped)
    return results


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


def _kept(template: Template) -> Iterator[str]:
    return (part.text for part in template if isinstance(part, Kept))


def _text(template: Template, fills: Sequence[Fill]) -> str:
    """The template with its fills; white space that a fill puts before everything is not part of it."""
    filled = iter(fills)
    text = "".join(part.text if isinstance(part, Kept) else next(filled).text for part in template)
    return text if isinstance(template[0], Kept) else text.lstrip()


def _length(opening: Sequence[int], gaps: Sequence[_Gap]) -> int:
    return len(opening) + sum(gap.written + len(gap.after) for gap in gaps)


def _tasks(writer: _Writer, jobs: Sequence[Job], chosen: Sequence[int]) -> list[_Task]:
    lm, settings = writer.lm, writer.settings
    contexts = [jobs[i].context.rstrip() if settings.use_context else "" for i in chosen]
    templates = [_after_context(jobs[i].template, context) for i, context in zip(chosen, contexts, strict=True)]
    texts = list(dict.fromkeys([*contexts, *(text for template in templates for text in _kept(template))]))
    ids = dict(zip(texts, _encode(writer, texts), strict=True))
    tasks: list[_Task] = []
    faults: list[tuple[int, str]] = []
    for i, context, template in zip(chosen, contexts, templates, strict=True):
        opening: tuple[int, ...] = ()
        gaps: list[_Gap] = []
        for part in template:
            if isinstance(part, Blank):
                gaps.append(_Gap(part.count + settings.max_guess, ()))
            elif gaps:
                gaps[-1] = _Gap(gaps[-1].written, gaps[-1].after + ids[part.text])
            else:
                opening += ids[part.text]
        needed = 1 + _length(opening, gaps)
        if needed > lm.longest:
            faults.append((i, f"the model reads {lm.longest} tokens at once, but the reference alone has {needed}"))
        fitting = ids[context][: max(0, lm.longest - needed)]
        tasks.append(_Task((lm.start, *fitting), opening, tuple(gaps), len(ids[context]) - len(fitting)))
    if faults:
        raise ExampleFaults(faults)
    return tasks


def _after_context(template: Template, context: str) -> Template:
    """A space between the context and a template that begins with kept text and brings none along."""
    first = template[0]
    if not context or not isinstance(first, Kept) or first.text[:1].isspace():
        return template
    return (Kept(f" {first.text}"), *template[1:])


def _encode(writer: _Writer, texts: Sequence[str]) -> list[tuple[int, ...]]:
    """The tokens of every text; one that spells a special token is read as plain text."""
    tokenizer = writer.lm.tokenizer
    found = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    encoded = [tuple(ids) for ids in found]
    for text, ids in zip(texts, encoded, strict=True):
        if text.startswith(" ") and not writer.vocabulary.bytes[ids[0]].startswith(b" "):
            raise ValueError(
                f"MARS needs a tokenizer that keeps the white space before a text, but {type(tokenizer).__name__} of "
                f"{tokenizer.name_or_path!r} drops it"
            )
    return encoded


@torch.inference_mode()
def _lockstep(writer: _Writer, tasks: Sequence[_Task]) -> list[_Row]:
    """All tasks at once: a token for every row that writes, until as many wait for the judge as go on writing."""
    rows = [_Row(task, [*task.prompt, *task.opening]) for task in tasks]
    slots, hidden = _opened(writer, tasks)
    states = hidden.new_zeros(len(rows), max(gap.written for task in tasks for gap in task.gaps), hidden.shape[-1])
    while under_way := [i for i, row in enumerate(rows) if not row.done]:
        writing = [i for i in under_way if len(rows[i].fill) < rows[i].gap.written]
        if 2 * len(writing) > len(under_way):
            _write(writer, slots, rows, writing, hidden, states)
        else:
            _judge(writer, slots, rows, sorted(set(under_way) - set(writing)), hidden, states)
    return rows


def _opened(writer: _Writer, tasks: Sequence[_Task]) -> tuple[Slots, Float[Tensor, "rows dim"]]:
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
    writer: _Writer,
    slots: Slots,
    rows: Sequence[_Row],
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


def _append(writer: _Writer, rows: Sequence[_Row], hidden: Float[Tensor, "rows dim"]) -> None:
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
    writer: _Writer,
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
    writer: _Writer,
    slots: Slots,
    rows: Sequence[_Row],
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
    writer: _Writer, after: Sequence[Sequence[int]], fills: Sequence[Tensor], copies: Sequence[Tensor]
) -> list[list[float]]:
    """Of every row, log P of its kept text behind each length, one after the other."""
    states = [following_states(f, c, len(a)).flatten(0, 1) for a, f, c in zip(after, fills, copies, strict=True)]
    tokens = [token for a, fill in zip(after, fills, strict=True) for _ in fill for token in a]
    scores = iter(log_probabilities(writer.embeddings, torch.cat(states), tokens))
    return [list(islice(scores, len(state))) for state in states]


def _perplexities(writer: _Writer, row: _Row, following: Sequence[float]) -> list[float]:
    found = with_following(row.scores, following, row.whole)
    if close_call(found):
        return perplexities_alone(writer.lm, row.text, row.fill, row.gap.after, row.whole)
    return found


def _revise(writer: _Writer, row: _Row, kept: int, perplexities: Sequence[float]) -> None:
    """The row with the first `kept` tokens of its fill and the kept text after them."""
    tokens = row.fill[:kept]
    row.fills.append(Fill(writer.vocabulary.text(tokens), tuple(tokens), tuple(perplexities)))
    row.text += [*tokens, *row.gap.after]
    row.at += 1
    row.fill, row.scores, row.whole, row.pending = [], [], [], b""
