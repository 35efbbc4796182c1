"""A text written token by token, with or without guidance, and the candidates of each token."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from scipy.special import expit
from torch import Tensor

from models.causal import CausalLM
from models.model import decode_tokens
from oumg.guidance import Guidance, GuidedStep

INCOMPLETE = "\ufffd"  # stands for the first bytes of a character whose other bytes are in the next token


SHADES: Mapping[str, str] = {  # blue and orange, which colour-blind people tell apart
    "much likelier": "#58a8e0",
    "likelier": "#9ccbef",
    "slightly likelier": "#d6eafa",
    "slightly less likely": "#fde3cf",
    "less likely": "#fbbd8a",
    "much less likely": "#f28a3c",
}
BOUNDS = (0.1, 0.7, 2.0)  # nats, from which a token is slightly likelier, likelier, much likelier


@dataclass(frozen=True)
class Candidate:
    """One of the k likeliest next tokens.

    Attributes:
        text: what it spells.
        before, after: its probability among the k, without and with guidance.
        attribute: the guide's probability that a text which goes on like this has the label; None without guidance.
    """

    text: str
    before: float
    after: float
    attribute: float | None


@dataclass(frozen=True)
class WrittenToken:
    """A token of a text that a language model writes.

    Attributes:
        text: what it adds to the text; the end token adds nothing.
        chosen: the index of its candidate.
        moved: how far guidance moved its log-probability among the candidates, in nats; above 0 if it became likelier.
        candidates: the likeliest without guidance first.
    """

    text: str
    chosen: int
    moved: float
    candidates: tuple[Candidate, ...]


def write_tokens(
    lm: CausalLM,
    prompt: Sequence[int],
    new_tokens: int,
    k: int,
    seed: int,
    guidance: Callable[..., Guidance] | None = None,
) -> Iterator[WrittenToken]:
    """Samples up to `new_tokens` tokens after the prompt from the k likeliest, up to and with the end token.

    A token is computed when it is asked for. The draws of a seed do not depend on other texts that are written at the
    same time.

    Args:
        lm: the generator.
        prompt: its tokens, the start token included.
        new_tokens: the most tokens.
        k: candidates.
        seed: of the draws.
        guidance: called with `watch`, makes guidance with k candidates and a strength above 0 that reports its steps
            there; None for the generator alone.
    """
    steps: list[GuidedStep] = []
    made = None if guidance is None else guidance(watch=steps.append)
    draws = torch.Generator().manual_seed(seed)
    ids, cache = torch.tensor([list(prompt)], device=lm.device), None
    text = decode_tokens(lm.tokenizer, prompt).rstrip(INCOMPLETE)
    for _ in range(new_tokens):
        scores, cache = _next_scores(lm, ids, cache)
        if made is None:
            before, candidates = scores.topk(k)
            step = GuidedStep(candidates, before, torch.full_like(before, torch.nan), before)
        else:
            made(ids, scores)
            step = steps.pop()
        chosen = int(torch.multinomial(step.after[0].softmax(-1).cpu(), 1, generator=draws))
        token = step.candidates[:, chosen : chosen + 1]
        ids = torch.cat([ids, token], dim=1)
        longer = decode_tokens(lm.tokenizer, ids[0].tolist()).rstrip(INCOMPLETE)
        yield describe_step(lm, step, chosen, longer[len(text) :])
        text = longer
        if int(token) == lm.tokenizer.eos_token_id:
            return


@torch.inference_mode()
def _next_scores(lm: CausalLM, ids: Int[Tensor, "1 time"], cache: Any) -> tuple[Float[Tensor, "1 vocabulary"], Any]:
    """The scores of the next token, and the cache of the tokens read."""
    read = ids if cache is None else ids[:, -1:]
    found = lm.model(input_ids=read, past_key_values=cache, use_cache=True)
    return found.logits[:, -1].float(), found.past_key_values


def describe_step(lm: CausalLM, step: GuidedStep, chosen: int, text: str) -> WrittenToken:
    """The token of a step of one row whose candidate `chosen` was drawn and adds `text`."""
    before, after = step.before[0].log_softmax(-1), step.after[0].log_softmax(-1)
    judged = step.judged[0].tolist()
    candidates = tuple(
        Candidate(
            decode_tokens(lm.tokenizer, [token], keep_special=True),
            float(before[place].exp()),
            float(after[place].exp()),
            None if math.isnan(judged[place]) else float(expit(judged[place])),
        )
        for place, token in enumerate(step.candidates[0].tolist())
    )
    return WrittenToken(text, chosen, float(after[chosen] - before[chosen]), candidates)


def name_shade(moved: float) -> str | None:
    """The shade of a token that guidance moved by so many nats; None for a token that it hardly moved.

    >>> name_shade(2.5), name_shade(-0.2), name_shade(0.05)
    ('much likelier', 'slightly less likely', None)
    """
    strength = sum(abs(moved) >= bound for bound in BOUNDS)
    if not strength:
        return None
    likelier, less_likely = list(SHADES)[2::-1], list(SHADES)[3:]
    return (likelier if moved > 0 else less_likely)[strength - 1]
