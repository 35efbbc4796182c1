"""Continuations of prompts by a causal language model, with and without guidance, all at once or token by token."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy.special import expit

from core.errors import InputError
from core.example import Example
from core.settings import Count, Seed, Several, Text, checked_dataclass
from data.corpus import Corpus
from discriminators.discriminator import Discriminator
from models.causal import CausalLM
from models.model import decode_tokens, plain_token_ids
from models.sampling import pad_prompts, sample_continuations, sample_in_batches
from oumg.guidance import Guidance, GuidanceRule, Guide, GuidedStep
from oumg.pieces import normalise_text, split_pieces

GuideModel = Discriminator
MakeGuidance = Callable[..., Guidance]
INCOMPLETE = "\ufffd"  # stands for the first bytes of a character whose other bytes are in the next token


@checked_dataclass
class SamplingSettings:
    """How texts are sampled."""

    # maximum number of prompts
    inputs: Count
    # texts of each prompt, seed, label, strength and k
    samples: Count
    # maximum number of new tokens of a text
    new_tokens: Count
    # texts generated at once
    batch_size: Count
    # of the draws
    seeds: Several[Seed]
    # None for the prefixes of the data, or the first words of its held-out texts
    prompts: Several[Text] | None = None
    # the words of such a prompt, where the data has no prefixes
    prompt_words: Count = 3


def choose_prompts(data: Corpus, sampling: SamplingSettings) -> tuple[list[str], list[str]]:
    """Chooses the prompts; returns them with a note if they are the first words of held-out texts.

    They come from the first of these sources that has any: `sampling.prompts`, the prefixes of the rated texts, the
    prefixes of the held-out texts, the first words of the held-out texts. Held-out texts are taken at regular
    distances, because data may be sorted by label. Raises InputError if there are no prompts.
    """
    rated = [example for rated_set in data.rated for example in rated_set.examples]
    chosen = list(dict.fromkeys(prompt.strip() for prompt in sampling.prompts or ()))
    prompts = chosen or list_prefixes(rated)
    if prompts:
        return prompts[: sampling.inputs], []
    prefixes = list_prefixes(data.held_out)
    prompts = prefixes or first_words(data.held_out, sampling.prompt_words)
    if not prompts:
        raise InputError(
            [
                f"none of the {len(data.held_out)} held-out texts of {data.name} has a prefix or more than "
                f"{sampling.prompt_words} words, so they give no prompts: set sampling.prompts to a list of texts, or "
                "sampling.prompt_words to a smaller number"
            ]
        )
    number = min(sampling.inputs, len(prompts))
    spread = [prompts[i * len(prompts) // number] for i in range(number)]
    if prefixes:
        return spread, []
    note = (
        f"{data.name} has no prefixes, so the prompts are the first {sampling.prompt_words} words of held-out texts of "
        "all labels, and some may show a label themselves; sampling.prompts sets others"
    )
    return spread, [note]


def list_prefixes(examples: Sequence[Example]) -> list[str]:
    """Lists the different prefixes of examples, each once."""
    prefixes = [(example.prefix or "").strip() for example in examples]
    return list(dict.fromkeys(filter(None, prefixes)))


def first_words(examples: Sequence[Example], words: int) -> list[str]:
    """Lists the first `words` words of all texts that are longer, each once; a CJK character is a word.

    >>> first_words([Example("a", text="The food was cold."), Example("b", text="Cold food")], words=2)
    ['The food']
    """
    rows = [split_pieces(normalise_text(example.full_text), "words") for example in examples]
    return list(dict.fromkeys("".join(row[:words]).strip() for row in rows if len(row) > words))


def encode_prompts(lm: CausalLM, prompts: Sequence[str], new_tokens: int) -> dict[str, list[int]]:
    """Encodes each prompt: the start token, then its tokens.

    Raises InputError for prompts that leave the model no room for the new tokens.
    """
    rows: dict[str, list[int]] = {}
    faults: list[str] = []
    for prompt, ids in zip(prompts, plain_token_ids(lm.tokenizer, prompts), strict=True):
        row = [lm.start, *ids]
        rows[prompt] = row
        if len(row) + new_tokens > lm.max_length:
            rule = f"the generator reads {lm.max_length} tokens"
            faults.append(f"{rule}, but this prompt has {len(row)} and {new_tokens} are to follow: {prompt!r}")
    if faults:
        raise InputError(faults)
    return rows


def check_candidates(ks: Sequence[int], vocabulary: int) -> None:
    """Raises InputError for a k above the vocabulary of the generator."""
    if max(ks) > vocabulary:
        raise InputError([f"k must be at most the {vocabulary} tokens of the generator, but is {max(ks)}"])


def make_guidance(
    lm: CausalLM,
    guide: GuideModel | Guide,
    rule: GuidanceRule,
    strength: float,
    k: int,
) -> MakeGuidance:
    """Returns a function that makes the guidance (a logits processor) of a batch; its argument `watch` is optional."""
    return partial(
        Guidance,
        guide,
        lm.tokenizer,
        strength=strength,
        k=k,
        rule=rule,
    )


def continue_prompts(
    lm: CausalLM,
    prompts: Sequence[Sequence[int]],
    sampling: SamplingSettings,
    k: int,
    guidance: MakeGuidance | None = None,
) -> list[list[int]]:
    """Samples the new tokens of each prompt, up to and with the end token: all prompts of a seed, then the next seed.

    Without guidance the generator samples from its k likeliest tokens. The same seed gives the same draws; with a
    strength of 0 the tokens are those without guidance.
    """

    def sample(seed: int, batch: list[int]) -> list[list[int]]:
        inputs = pad_prompts(lm, [prompts[i] for i in batch])
        seed_of_batch = np.random.default_rng((seed, batch[0])).integers(2**62)
        return sample_continuations(
            lm,
            inputs,
            sampling.new_tokens,
            seed=int(seed_of_batch),
            processors=[] if guidance is None else [guidance()],
            top_k=k if guidance is None else 0,  # guidance keeps k tokens itself
            num_return_sequences=sampling.samples,
        )

    size = max(1, sampling.batch_size // sampling.samples)
    rows: list[list[int]] = []
    for seed in sampling.seeds:
        rows += sample_in_batches(partial(sample, seed), len(prompts), size)
    return rows


def measure_overhead(
    lm: CausalLM,
    prompts: Sequence[Sequence[int]],
    new_tokens: int,
    k: int,
    guidance: MakeGuidance,
) -> float:
    """Measures the time of guided `generate()` divided by that of unguided `generate()`; 1 means no cost.

    Prompts, k and the number of tokens are the same.

    Both run in turn, and the fastest run of each counts. Building the guidance is not timed.
    """
    inputs = pad_prompts(lm, prompts)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for guided in [False, True] * 4:  # the first of each warms up
        processors = [guidance()] if guided else []
        begun = time.perf_counter()
        sample_continuations(
            lm,
            inputs,
            new_tokens,
            seed=0,
            processors=processors,
            top_k=0 if guided else k,
            min_new_tokens=new_tokens,
        )
        seconds[guided].append(time.perf_counter() - begun)
    return min(seconds[True][1:]) / min(seconds[False][1:])


@dataclass(frozen=True)
class Candidate:
    """One of the k likeliest next tokens."""

    # what it spells
    text: str
    # its probability among the k, without and with guidance
    before: float
    after: float
    # the guide's probability that a text which goes on like this has the label; None without guidance
    attribute: float | None


@dataclass(frozen=True)
class WrittenToken:
    """A token of a text that a language model writes."""

    # what it adds to the text; the end token adds nothing
    text: str
    # the index of its candidate
    chosen: int
    # how far guidance moved its log-probability among the candidates, in nats; above 0 if it became likelier
    moved: float
    # the likeliest without guidance first
    candidates: tuple[Candidate, ...]


def write_tokens(
    lm: CausalLM,
    prompt: Sequence[int],
    new_tokens: int,
    k: int,
    seed: int,
    guidance: MakeGuidance | None = None,
) -> Iterator[WrittenToken]:
    """Samples up to `new_tokens` tokens after the prompt from the k likeliest, up to and with the end token.

    Tokens are generated one at a time, as the caller asks for them; the draws depend only on the seed. The prompt
    includes the start token. `guidance` makes guidance with k candidates and a strength above 0; None for the generator
    alone.
    """
    steps: list[GuidedStep] = []
    made = None if guidance is None else guidance(watch=steps.append)
    draws = torch.Generator().manual_seed(seed)
    ids = torch.tensor([list(prompt)], device=lm.device)
    cache = None
    text = decode_tokens(lm.tokenizer, prompt).rstrip(INCOMPLETE)
    for _ in range(new_tokens):
        with torch.inference_mode():
            unread = ids if cache is None else ids[:, -1:]
            output = lm.model(input_ids=unread, past_key_values=cache, use_cache=True)
        scores = output.logits[:, -1].float()
        cache = output.past_key_values
        if made is None:
            before, candidates = scores.topk(k)
            step = GuidedStep(
                candidates,
                before,
                torch.full_like(before, torch.nan),
                before,
            )
        else:
            made(ids, scores)
            step = steps.pop()
        chosen = int(torch.multinomial(step.after[0].softmax(-1).cpu(), 1, generator=draws))
        token = step.candidates[:, chosen : chosen + 1]
        ids = torch.cat([ids, token], dim=1)
        longer = decode_tokens(lm.tokenizer, ids[0].tolist()).rstrip(INCOMPLETE)
        yield describe_step(
            lm,
            step,
            chosen,
            longer[len(text) :],
        )
        text = longer
        if int(token) == lm.tokenizer.eos_token_id:
            return


def describe_step(
    lm: CausalLM,
    step: GuidedStep,
    chosen: int,
    text: str,
) -> WrittenToken:
    """Describes one step of one row: the drawn candidate `chosen`, which adds `text`, and its alternatives."""
    before = step.before[0].log_softmax(-1)
    after = step.after[0].log_softmax(-1)
    judged = step.judged[0].tolist()
    candidates: list[Candidate] = []
    for place, token in enumerate(step.candidates[0].tolist()):
        logit = judged[place]
        candidates.append(
            Candidate(
                text=decode_tokens(lm.tokenizer, [token], keep_special=True),
                before=float(before[place].exp()),
                after=float(after[place].exp()),
                attribute=None if math.isnan(logit) else float(expit(logit)),
            )
        )
    moved = float(after[chosen] - before[chosen])
    return WrittenToken(
        text,
        chosen,
        moved,
        tuple(candidates),
    )
