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
from itertools import chain
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from tqdm import tqdm

from core.errors import SettingError
from data.words import is_clitic
from mars.masking import Blank, Kept, Template
from mars.planning import NO_WORD, TIE, Embeddings, is_settled, plan_states
from mars.references import Augmentation, Augmented, Fill, Job
from mars.writable_tokens import WritableTokens
from models.batching import batches_by_budget, halve_when_out_of_memory, pad
from models.causal import CausalLM
from models.model import plain_token_ids
from models.windows import cut_end

PAPER = Augmentation()


@dataclass(frozen=True)
class TokenBlank:
    """A blank: the number of tokens to write, the kept text after it, and the tokens of that text to plan toward.

    Planning ignores tokens that are punctuation only, because it would write the mark twice ("car..").
    """

    length: int
    after: tuple[int, ...]
    sought: tuple[int, ...]


@dataclass
class Filling:
    """A job in progress: the tokens read so far, the blanks, the finished fills, and the KL of each planned token."""

    template: Template
    # the start token, the context, the kept text before the first blank, and what has been filled
    text: list[int]
    blanks: tuple[TokenBlank, ...]
    dropped: int = 0
    fills: list[Fill] = field(default_factory=list)
    divergences: list[float] = field(default_factory=list)

    @property
    def blank(self) -> TokenBlank:
        """The next blank to fill."""
        return self.blanks[len(self.fills)]

    @property
    def max_length(self) -> int:
        """The maximum number of tokens of the text before anything is filled."""
        return len(self.text) + sum(blank.length + len(blank.after) for blank in self.blanks)

    def finish(self) -> Augmented:
        """Returns the template with its fills; a text that begins with a fill has no white space in front."""
        filled = iter(self.fills)
        texts = [part.text if isinstance(part, Kept) else next(filled).text for part in self.template]
        text = "".join(texts)
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
        """Fills the blanks of every job, in order. A template without a blank needs no model.

        A template that is too long for the model even without context has the reason in place of a text.
        """
        results: list[Augmented | str] = []
        for job in jobs:
            kept = [part.text for part in job.template if isinstance(part, Kept)]
            results.append(Augmented("".join(kept), fills=(), kl=0.0, dropped_context=0))
        with_blanks = [i for i, job in enumerate(jobs) if any(isinstance(part, Blank) for part in job.template)]
        if not with_blanks:
            return results
        self.lm.model.eval()
        rows: dict[int, Filling] = {}
        for i, row in zip(with_blanks, self.tokenize([jobs[i] for i in with_blanks]), strict=True):
            if isinstance(row, str):
                results[i] = row
            else:
                rows[i] = row
        places = list(rows)

        def fill(batch: list[int]) -> list[Filling]:
            return self.fill([deepcopy(rows[places[k]]) for k in batch])

        batches = batches_by_budget([row.max_length for row in rows.values()], self.token_budget)
        for batch in tqdm(
            batches,
            desc="augmented references",
            delay=3,
            leave=False,
            disable=None,
        ):
            filled = halve_when_out_of_memory(fill, batch)
            for k, row in zip(batch, filled, strict=True):
                results[places[k]] = row.finish()
        return results

    def tokenize(self, jobs: Sequence[Job]) -> list[Filling | str]:
        """Returns the jobs in tokens, or the reasons why they are too long; equal texts are encoded once."""
        contexts = [job.context.rstrip() if self.settings.use_context else "" for job in jobs]
        templates = list(map(separate_from_context, [job.template for job in jobs], contexts))
        kept = [part.text for part in chain.from_iterable(templates) if isinstance(part, Kept)]
        texts = list(dict.fromkeys([*contexts, *kept]))
        ids = dict(zip(texts, plain_token_ids(self.lm.tokenizer, texts), strict=True))
        for text in texts:
            if text.startswith(" ") and not self.tokens.bytes[ids[text][0]].startswith(b" "):
                raise ValueError(
                    "MARS needs a tokenizer that keeps the white space before a text, but "
                    f"{type(self.lm.tokenizer).__name__} of {self.lm.tokenizer.name_or_path!r} drops it"
                )
        rows: list[Filling | str] = []
        for context, template in zip(contexts, templates, strict=True):
            row = Filling(template, [self.lm.start], ())
            for part in template:
                if isinstance(part, Blank):
                    row.blanks += (TokenBlank(part.count + self.settings.max_guess, (), ()),)
                elif row.blanks:
                    after = tuple(ids[part.text])
                    sought = tuple(token for token in after if not self.tokens.is_mark(token))
                    row.blanks = (*row.blanks[:-1], TokenBlank(row.blanks[-1].length, after, sought))
                else:
                    row.text += ids[part.text]
            most = self.lm.max_length
            if row.max_length > most:
                rows.append(f"the model reads {most} tokens at once, but the reference alone has {row.max_length}")
                continue
            fitting, row.dropped = cut_end(ids[context], min(most - row.max_length, self.settings.max_context))
            row.text[1:1] = fitting
            rows.append(row)
        return rows

    def fill(self, rows: Sequence[Filling]) -> list[Filling]:
        """Fills the blanks of all rows together: the first blank of each, then the second, and so on (Algorithm 2)."""
        for number in range(max(len(row.blanks) for row in rows)):
            filled = [row for row in rows if number < len(row.blanks)]
            written = self.write(filled)
            for row, fill, perplexities in zip(filled, written, self.judge(filled, written), strict=True):
                kept = fill[: choose_length(perplexities)]
                row.text += [*kept, *row.blank.after]
                row.fills.append(Fill(self.tokens.text(kept), tuple(kept), tuple(perplexities)))
        return list(rows)

    @torch.inference_mode()
    def write(self, rows: Sequence[Filling]) -> list[list[int]]:
        """Writes greedy tokens into the next blank of each row, planned toward the text after it (Eq. 6)."""
        reader = self.lm.read([row.text for row in rows], ())
        written: list[list[int]] = [[] for _ in rows]
        writing = list(range(len(rows)))
        chosen = None
        while writing:
            allowed = torch.stack([self.find_allowed(rows[i], written[i]) for i in writing])
            logits = self.plan([rows[i] for i in writing], reader.next_log_probabilities(chosen), allowed)
            chosen = choose_tokens(logits.masked_fill_(~allowed, -torch.inf))
            for i, token in zip(writing, chosen.tolist(), strict=True):
                written[i].append(token)
            unfinished = [place for place, i in enumerate(writing) if len(written[i]) < rows[i].blank.length]
            if len(unfinished) < len(writing):
                kept = torch.tensor(unfinished, device=self.lm.device, dtype=torch.long)
                writing = [writing[place] for place in unfinished]
                chosen = chosen[kept]
                reader.keep(kept)
        return written

    def find_allowed(self, row: Filling, fill: list[int]) -> Bool[Tensor, " vocabulary"]:
        """Says which tokens may follow the tokens of a fill: those that leave room for a whole character and word."""
        pending = self.tokens.pending(b"", *fill)
        is_clitic_so_far = bool(fill) and not pending and is_clitic(self.tokens.text(fill))
        is_after_word = is_clitic_so_far if fill else self.tokens.ends_in_word(row.text)
        return self.tokens.allowed(pending, row.blank.length - len(fill) - 1, is_after_word)

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
        logits[planned], divergences = plan_states(
            self.embeddings,
            pad([rows[i].blank.sought for i in planned], NO_WORD, self.lm.device),
            plain[planned],
            steps=settings.planning_steps,
            xi=settings.xi,
            kl=settings.kl,
        )
        for i, divergence in zip(planned, divergences.tolist(), strict=True):
            rows[i].divergences.append(divergence)
        return logits

    def judge(self, rows: Sequence[Filling], written: Sequence[Sequence[int]]) -> list[list[float]]:
        """Computes PPL(t_1 ... t_m T | s) of every length m of each fill, under the model without planning.

        s is the text before the blank, t_1 t_2 ... the fill, T the kept text after it. A length that would cut a
        character in two has an infinite perplexity. What the texts have in common is read once
        (`models.shared_prefixes`).
        """
        pairs: list[tuple[list[int], list[int]]] = []
        places: list[tuple[int, int]] = []
        for i, (row, fill) in enumerate(zip(rows, written, strict=True)):
            for m in range(1, len(fill) + 1):
                if not self.tokens.pending(b"", *fill[:m]):
                    pairs.append((row.text, [*fill[:m], *row.blank.after]))
                    places.append((i, m))
        perplexities = [[math.inf] * len(fill) for fill in written]
        for (i, m), scores in zip(places, self.lm.log_probabilities(pairs), strict=True):
            perplexities[i][m - 1] = perplexity(scores.tolist())
        return perplexities


def perplexity(log_probabilities: Sequence[float]) -> float:
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
    lowest = min(perplexities)
    return next(m for m, value in enumerate(perplexities, 1) if value <= lowest * math.exp(TIE))


def choose_tokens(logits: Float[Tensor, "rows vocabulary"]) -> Tensor:
    """Chooses the greedy token of each row: of those within `TIE` of the highest logit the one with the smallest id.

    >>> choose_tokens(torch.tensor([[0.0, 2.0, 2.0005, 1.0]])).tolist()
    [1]
    """
    return (logits >= logits.amax(-1, keepdim=True) - TIE).int().argmax(-1)


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
    return head.weight.detach().to(torch.promote_types(head.weight.dtype, torch.float32))


def separate_from_context(template: Template, context: str) -> Template:
    """Returns the template with a space in front if it follows a context and begins with a word."""
    first = template[0]
    if not context or not isinstance(first, Kept) or first.text[:1].isspace():
        return template
    return (Kept(f" {first.text}"), *template[1:])
