"""Self-planning cloze augmentation: a causal language model fills the blanks of a template (MARS, 2.2, Appendix B).

This is Algorithm 2 as it is meant, for each blank from left to right. Generate |B| + sigma tokens greedily, with the
probabilities of each token shifted toward the kept text after the blank. For every length of this fill, compute the
perplexity of the fill and that text. Keep the best length, and continue after the kept text. |B| is a number of words,
sigma a number of tokens: a blank of two words gets 2 + sigma tokens, of which at least one is kept. A blank at the end
has no text to plan for: the perplexity is that of the fill alone.

Logits and perplexities within `TIE` count as equal, so that the rounding errors of a batch do not decide.
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from core.errors import SettingError
from data.words import is_clitic
from mars.masking import Blank, Kept, Template
from mars.planning import NO_WORD, TIE, Embeddings, is_settled, plan_states
from mars.references import Augmentation, Augmented, Fill, Job
from mars.writable_tokens import WritableTokens
from models.batching import pad, read_in_batches
from models.causal import CausalLM
from models.model import plain_token_ids
from models.windows import cut_end

PAPER = Augmentation()


@dataclass
class TokenBlank:
    """A blank: the number of tokens to write, the kept text after it, and the tokens of that text to plan toward.

    Planning ignores tokens that are punctuation only, because it would write the mark twice ("car..").
    """

    length: int
    after: list[int] = field(default_factory=list)
    sought: list[int] = field(default_factory=list)


@dataclass
class Filling:
    """A job in progress: the tokens read so far, the blanks, the finished fills, and the KL of each planned token."""

    template: Template
    # the start token, the context, the kept text before the first blank, and what has been filled
    text: list[int]
    blanks: list[TokenBlank] = field(default_factory=list)
    dropped: int = 0
    fills: list[Fill] = field(default_factory=list)
    # the tokens of the next fill
    written: list[int] = field(default_factory=list)
    divergences: list[float] = field(default_factory=list)

    @property
    def blank(self) -> TokenBlank:
        """The next blank to fill."""
        return self.blanks[len(self.fills)]

    @property
    def max_length(self) -> int:
        """The maximum number of tokens of the text before anything is filled."""
        longest = [blank.length + len(blank.after) for blank in self.blanks]
        return len(self.text) + sum(longest)

    def finish(self) -> Augmented:
        """Returns the template with its fills; a text that begins with a fill has no white space in front."""
        filled = iter(self.fills)
        text = ""
        for part in self.template:
            text += part.text if isinstance(part, Kept) else next(filled).text
        planned = len(self.divergences)
        return Augmented(
            text=text if isinstance(self.template[0], Kept) else text.lstrip(),
            fills=tuple(self.fills),
            kl=sum(self.divergences) / max(1, planned),
            dropped_context=self.dropped,
            planned=planned,
        )


@dataclass(frozen=True)
class SelfPlanningAugmenter:
    """Fills blanks with a guided language model: it writes each fill, judges its lengths, and keeps the best one.

    Raises SettingError for a model or tokenizer that cannot be used here (`get_output_embeddings`, `WritableTokens`).
    """

    lm: CausalLM  # the model
    settings: Augmentation = PAPER  # how blanks are filled
    token_budget: int = 16_384  # tokens of a batch; a batch that does not fit into memory is halved

    @property
    def depends(self) -> dict[str, Any]:
        return {
            "augmenter": "self_planning",
            "model": self.lm.weights,
            **asdict(self.settings),
        }

    @cached_property
    def embeddings(self) -> Embeddings:
        """The output embeddings for planning."""
        return get_output_embeddings(self.lm)

    @cached_property
    def tokens(self) -> WritableTokens:
        """The tokens that may be written."""
        return WritableTokens(self.lm.tokenizer, len(self.embeddings), self.lm.device)

    def augment(self, jobs: Sequence[Job]) -> list[Augmented | str]:
        """Fills the blanks of every job, in order.

        A template that is too long for the model even without context has the reason in place of a text.
        """
        self.lm.model.eval()
        read = list(map(self.tokenize, jobs))
        rows = [row for row in read if isinstance(row, Filling)]

        def fill(batch: list[int]) -> list[Filling]:
            return self.fill([deepcopy(rows[i]) for i in batch])

        costs = [row.max_length for row in rows]
        filled = read_in_batches(
            costs,
            self.token_budget,
            fill,
            "augmented references",
        )
        texts = (row.finish() for row in filled)
        return [row if isinstance(row, str) else next(texts) for row in read]

    def tokenize(self, job: Job) -> Filling | str:
        """Returns the job in tokens, or the reason why it is too long."""
        context = job.context.rstrip() if self.settings.use_context else ""
        template = separate_from_context(job.template, context)
        texts = [part.text for part in template if isinstance(part, Kept)]
        begun, *encoded = plain_token_ids(self.lm.tokenizer, [context, *texts])
        for text, ids in zip(texts, encoded, strict=True):
            if text.startswith(" ") and not self.tokens.bytes[ids[0]].startswith(b" "):
                raise ValueError(
                    "MARS needs a tokenizer that keeps the white space before a text, but "
                    f"{type(self.lm.tokenizer).__name__} of {self.lm.tokenizer.name_or_path!r} drops it"
                )
        row = Filling(job.template, [self.lm.start])
        kept = iter(encoded)
        for part in template:
            if isinstance(part, Blank):
                row.blanks.append(TokenBlank(part.count + self.settings.max_guess))
            elif row.blanks:
                blank = row.blanks[-1]
                blank.after = next(kept)
                blank.sought = [token for token in blank.after if not self.tokens.is_mark(token)]
            else:
                row.text += next(kept)
        room = self.lm.max_length - row.max_length
        if room < 0:
            rule = f"the model reads {self.lm.max_length} tokens at once"
            return f"{rule}, but the reference alone has {row.max_length}"
        fitting, row.dropped = cut_end(begun, min(room, self.settings.max_context))
        row.text[1:1] = fitting
        return row

    def fill(self, rows: list[Filling]) -> list[Filling]:
        """Fills the blanks of all rows together: the first blank of each, then the second, and so on (Algorithm 2)."""
        while unfinished := [row for row in rows if len(row.fills) < len(row.blanks)]:
            self.write(unfinished)
            for row, perplexities in zip(unfinished, self.judge(unfinished), strict=True):
                kept = row.written[: choose_length(perplexities)]
                row.written = []
                row.text += [*kept, *row.blank.after]
                text = self.tokens.text(kept)
                row.fills.append(Fill(text, tuple(kept), tuple(perplexities)))
        return rows

    @torch.inference_mode()
    def write(self, rows: Sequence[Filling]) -> None:
        """Writes greedy tokens into the next blank of each row, planned toward the text after it (Eq. 6)."""
        reader = self.lm.read([row.text for row in rows], ())
        chosen = None
        while rows:
            allowed = torch.stack(list(map(self.find_allowed, rows)))
            logits = self.plan(rows, reader.next_log_probabilities(chosen), allowed)
            chosen = choose_tokens(logits.masked_fill_(~allowed, -torch.inf))
            for row, token in zip(rows, chosen.tolist(), strict=True):
                row.written.append(token)
            unfinished = [place for place, row in enumerate(rows) if len(row.written) < row.blank.length]
            if len(unfinished) < len(rows):
                rows = [rows[place] for place in unfinished]
                kept = torch.tensor(unfinished, device=chosen.device, dtype=torch.long)
                chosen = chosen[kept]
                reader.keep(kept)

    def find_allowed(self, row: Filling) -> Bool[Tensor, " vocabulary"]:
        """Says which tokens may follow the written ones: those that leave room for a whole character and word."""
        pending = self.tokens.pending(b"", *row.written)
        is_after_word = self.tokens.ends_in_word(row.text)
        if row.written:
            is_after_word = not pending and is_clitic(self.tokens.text(row.written))
        room = row.blank.length - len(row.written) - 1
        return self.tokens.allowed(pending, room, is_after_word)

    def plan(
        self,
        rows: Sequence[Filling],
        plain: Float[Tensor, "rows vocabulary"],
        allowed: Bool[Tensor, "rows vocabulary"],
    ) -> Float[Tensor, "rows vocabulary"]:
        """Returns the logits after planning.

        Rows without words to plan toward, and rows whose token planning cannot change, keep the plain ones.
        """
        settings = self.settings
        if bool(plain.isnan().any()):
            raise ValueError(f"the logits of {type(self.lm.model).__name__} are not numbers: its weights are damaged")
        settled = is_settled(plain, allowed, settings.kl).tolist()
        planned = [i for i, row in enumerate(rows) if row.blank.sought and not settled[i]]
        if not planned or not settings.planning_steps:
            return plain
        logits = plain.clone()
        words = [rows[i].blank.sought for i in planned]
        logits[planned], divergences = plan_states(
            self.embeddings,
            pad(words, NO_WORD, self.lm.device),
            plain[planned],
            steps=settings.planning_steps,
            xi=settings.xi,
            kl=settings.kl,
        )
        for i, divergence in zip(planned, divergences.tolist(), strict=True):
            rows[i].divergences.append(divergence)
        return logits

    def judge(self, rows: Sequence[Filling]) -> list[list[float]]:
        """Computes PPL(t_1 ... t_m T | s) of every length m of each fill, under the model without planning.

        s is the text before the blank, t_1 t_2 ... the fill, T the kept text after it. A length that would cut a
        character in two has an infinite perplexity. What the texts have in common is read once
        (`models.shared_prefixes`).
        """
        pairs: list[tuple[list[int], list[int]]] = []
        places: list[tuple[int, int]] = []
        for i, row in enumerate(rows):
            for m in range(len(row.written)):
                fill = row.written[: m + 1]
                if not self.tokens.pending(b"", *fill):
                    pairs.append((row.text, [*fill, *row.blank.after]))
                    places.append((i, m))
        perplexities = [[math.inf] * len(row.written) for row in rows]
        for (i, m), scores in zip(places, self.lm.log_probabilities(pairs), strict=True):
            perplexities[i][m] = perplexity(scores)
        return perplexities


def perplexity(log_probabilities: Sequence[float] | NDArray[np.floating]) -> float:
    """Computes exp of the mean negative log-probability; lower is more fluent.

    >>> round(perplexity([math.log(0.025), math.log(0.9)]), 4)
    6.6667
    """
    return math.exp(min(-np.mean(log_probabilities, dtype=np.float64), 700.0))  # exp of more overflows


def choose_length(perplexities: Sequence[float]) -> int:
    """Chooses the length (1 or more) with the lowest perplexity.

    Of lengths within `TIE` of the lowest, the shortest wins.

    >>> choose_length([6.6667, 1.1111, 2.7217, 2.2752]), choose_length([5.0, 5.0])
    (2, 1)
    """
    most = min(perplexities) * math.exp(TIE)
    return next(m for m, value in enumerate(perplexities, 1) if value <= most)


def choose_tokens(logits: Float[Tensor, "rows vocabulary"]) -> Tensor:
    """Chooses the greedy token of each row: of those within `TIE` of the highest logit the one with the smallest id.

    >>> choose_tokens(torch.tensor([[0.0, 2.0, 2.0005, 1.0]])).tolist()
    [1]
    """
    least = logits.amax(-1, keepdim=True) - TIE
    return (logits >= least).int().argmax(-1)


def get_output_embeddings(lm: CausalLM) -> Embeddings:
    """Returns E, the output embeddings that planning uses: the weight of the output layer.

    Raises SettingError for a model that caps or scales its logits, which are then not h E^T.
    """
    head = lm.output_head()
    if head.project is not None:
        name = type(lm.model).__name__
        raise SettingError(
            f"MARS needs a model whose logits are its hidden states times its output embeddings, but {name} changes "
            "them: take a model such as GPT-2 or Qwen2.5"
        )
    dtype = torch.promote_types(head.weight.dtype, torch.float32)
    return head.weight.detach().to(dtype)


def separate_from_context(template: Template, context: str) -> Template:
    """Returns the template with a space in front if it follows a context and begins with a word."""
    first = template[0]
    if not context or not isinstance(first, Kept) or first.text[:1].isspace():
        return template
    return (Kept(f" {first.text}"), *template[1:])
