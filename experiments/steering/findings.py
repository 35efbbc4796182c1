"""Findings of guided decoding: texts steered to labels at each strength and k, and their scores (OUMG, section 3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from data.corpus import Corpus
from discriminators.discriminator import Discriminator
from discriminators.guides import CausalGuide
from experiments.contracts import Run
from experiments.steering.generation import MakeGuidance, continue_prompts, measure_overhead
from experiments.steering.models import LabelJudges
from experiments.steering.settings import Steering, TextSampling
from meta_eval.bootstrap import Estimate, estimate_perplexity, estimate_ratio, number_groups
from models.causal import CausalLM
from models.model import decode_tokens
from oumg.diversity import distinct_n
from oumg.guidance import Guidance, GuidanceRule
from oumg.pieces import split_pieces

GuideModel = CausalGuide | Discriminator


@dataclass(frozen=True)
class SteeredTexts:
    """The texts of one label, strength and k, seed after seed and prompt after prompt, with measures of each.

    Attributes:
        label: steered to.
        prompts: the index of the prompt.
        seeds: of the draws.
        texts: with the prompts.
        words: of the continuations.
        hits: whether the judges find the label.
        nll: of the whole continuation in nats, under the unguided generator.
        tokens: of the continuation.
    """

    label: str
    prompts: NDArray[np.intp]
    seeds: NDArray[np.intp]
    texts: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    hits: NDArray[np.float64]
    nll: NDArray[np.float64]
    tokens: NDArray[np.float64]


@dataclass(frozen=True)
class SteeredSetting:
    """A strength and a k: the texts by label, and the overhead of guidance."""

    strength: float
    k: int
    texts: tuple[SteeredTexts, ...]
    overhead: float


@dataclass(frozen=True)
class SteeringScores:
    """The scores of texts of one strength and k, with 95 % bootstrap intervals over prompts.

    Attributes:
        n: texts.
        accuracy: share of texts in which the judges find the label; higher is better.
        perplexity: of the continuations under the unguided generator; lower is likelier.
        distinct: distinct-n by n, the mean over labels and seeds; higher is more varied.
        tokens: of a continuation, on average.
        seeds: of the draws.
        by_seed: accuracy and perplexity of each seed.
    """

    n: int
    accuracy: Estimate
    perplexity: Estimate
    distinct: Mapping[int, float]
    tokens: float
    seeds: Sequence[int]
    by_seed: Mapping[str, Sequence[float]]


def steer(
    run: Run,
    lm: CausalLM,
    guides: Mapping[str, GuideModel],
    judges: LabelJudges,
    prompts: Sequence[str],
    rows: Sequence[Sequence[int]],
    steering: Steering,
    sampling: TextSampling,
) -> list[SteeredSetting]:
    """Texts steered to the label of each guide, at each k and strength.

    Args:
        run: from the runner.
        lm: the generator.
        guides: by label.
        judges: find the labels of the texts.
        prompts, rows: the prompts as texts and as tokens.
        steering: the settings to compare.
        sampling: how texts are sampled.
    """
    found: list[SteeredSetting] = []
    full_batch = [rows[i % len(rows)] for i in range(sampling.batch_size)]
    first_guide = next(iter(guides.values()))
    with run.progress("steering", len(steering.ks) * len(steering.strengths) * len(guides)) as advance:
        for k in steering.ks:
            for strength in steering.strengths:
                texts: list[SteeredTexts] = []
                for label, guide in guides.items():
                    guidance = make_guidance(lm, guide, steering.rule, strength, k)
                    with run.timed("generating"):
                        continued = steered_continuations(lm, rows, guidance, k, sampling)
                    with run.timed("judging"):
                        texts.append(measure_texts(lm, judges, label, prompts, rows, continued, sampling))
                    advance(1)
                with run.timed("measuring the overhead"):
                    guidance = make_guidance(lm, first_guide, steering.rule, strength, k)
                    overhead = measure_overhead(lm, full_batch, sampling.new_tokens, k, guidance)
                found.append(SteeredSetting(strength, k, tuple(texts), overhead))
    return found


def make_guidance(lm: CausalLM, guide: GuideModel, rule: GuidanceRule, strength: float, k: int) -> MakeGuidance:
    """Makes the guidance of each batch; the guide reads the prompt too."""
    return partial(Guidance, guide, lm.tokenizer, strength, k, rule, reads="text")


def steered_continuations(
    lm: CausalLM, rows: Sequence[Sequence[int]], guidance: MakeGuidance, k: int, sampling: TextSampling
) -> list[list[int]]:
    """The new tokens of each prompt under guidance, seed after seed and prompt after prompt."""
    return [
        continuation
        for seed in sampling.seeds
        for continuation in continue_prompts(
            lm, rows, sampling.samples, sampling.new_tokens, sampling.batch_size, seed, k, guidance
        )
    ]


def measure_texts(
    lm: CausalLM,
    judges: LabelJudges,
    label: str,
    prompts: Sequence[str],
    rows: Sequence[Sequence[int]],
    continued: Sequence[Sequence[int]],
    sampling: TextSampling,
) -> SteeredTexts:
    """The measures of the continuations of one label.

    Args:
        lm: the unguided generator.
        judges: find the labels of the texts.
        label: steered to.
        prompts, rows: the prompts as texts and as tokens.
        continued: as `steered_continuations` returns them.
        sampling: how they were sampled.
    """
    of = np.tile(np.repeat(np.arange(len(prompts)), sampling.samples), len(sampling.seeds))
    # Decoded with the prompt, because some tokenizers drop the space before the text that they decode.
    texts = [decode_tokens(lm.tokenizer, [*rows[i], *ids]) for i, ids in zip(of, continued, strict=True)]
    starts = [len(decode_tokens(lm.tokenizer, row)) for row in rows]
    words = [split_pieces(text[starts[i] :].lower(), "words") for i, text in zip(of, texts, strict=True)]
    pairs = [(rows[i], ids) for i, ids in zip(of, continued, strict=True)]
    nll = [-float(found.astype(np.float64).sum()) for found in lm.log_probabilities(pairs)]
    return SteeredTexts(
        label=label,
        prompts=of,
        seeds=np.repeat(np.array(sampling.seeds), len(prompts) * sampling.samples),
        texts=tuple(texts),
        words=tuple(tuple(map(str.strip, row)) for row in words),
        hits=np.array([float(found == label) for found in judges.find_labels(texts)]),
        nll=np.array(nll),
        tokens=np.array([float(len(ids)) for ids in continued]),
    )


def score_texts(by_label: Sequence[SteeredTexts], seed: int) -> SteeringScores:
    """The scores of the texts of some labels together; `seed` is that of the bootstrap."""
    prompts, seeds_of, hits, nll, tokens = (
        np.concatenate([getattr(texts, name) for texts in by_label])
        for name in ("prompts", "seeds", "hits", "nll", "tokens")
    )
    used = list(dict.fromkeys(seeds_of.tolist()))
    pools = [
        [words for words, drawn in zip(texts.words, texts.seeds, strict=True) if drawn == chosen]
        for texts in by_label
        for chosen in used
    ]
    return SteeringScores(
        n=len(hits),
        accuracy=estimate_ratio(hits, np.ones_like(hits), number_groups(len(hits), prompts.tolist()), seed=seed),
        perplexity=estimate_perplexity(nll, tokens, number_groups(len(nll), prompts.tolist()), seed=seed),
        distinct={n: float(np.mean([distinct_n(pool, n) for pool in pools])) for n in (1, 2, 3)},
        tokens=float(tokens.mean()),
        seeds=used,
        by_seed={
            "accuracy": [float(hits[seeds_of == s].mean()) for s in used],
            "perplexity": [float(np.exp(nll[seeds_of == s].sum() / tokens[seeds_of == s].sum())) for s in used],
        },
    )


def is_above_chance(wanted: Sequence[str | None], found: Sequence[str]) -> bool:
    """Whether the mean accuracy over labels, less two standard errors, is above chance.

    >>> is_above_chance(["a", "b"] * 20, ["a", "b"] * 20), is_above_chance(["a", "b"] * 20, ["b"] * 40)
    (True, False)
    """
    labels = set(wanted)
    hits = [[float(f == w) for w, f in zip(wanted, found, strict=True) if w == label] for label in labels]
    error = float(np.sqrt(sum(np.var(each) / len(each) for each in hits))) / len(labels)
    return float(np.mean([np.mean(each) for each in hits])) - 2 * error > 1 / len(labels)


def held_out_accuracies(data: Corpus, judges: LabelJudges, guides: Mapping[str, GuideModel]) -> dict[str, float]:
    """The accuracy of judges and guides on held-out texts, which no model has learned."""
    if not data.held_out:
        return {}
    texts, labels = [e.full_text for e in data.held_out], [e.label for e in data.held_out]
    found = np.array(judges.find_labels(texts)) == labels
    figures = {"judges' accuracy on held-out texts": float(found.mean())}
    for label, guide in guides.items():
        logits = guide.logits(texts) if isinstance(guide, CausalGuide) else guide.logits([(t,) for t in texts])[0]
        right = (logits > 0) == (np.array(labels) == label)
        figures[f"accuracy of the guide to {label} on held-out texts"] = float(right.mean())
    return figures
