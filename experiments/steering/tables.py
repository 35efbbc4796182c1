"""What guided decoding found: texts by label, strength and k, their table, and the texts themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from data.files import write_examples
from meta_eval.bootstrap import estimate_perplexity, estimate_ratio, number_groups
from oumg.diversity import distinct_n

CAPTION = (
    "strength: alpha (normalised) or lambda (fudge); 0 is the unguided generator, which samples from its k likeliest "
    "tokens. accuracy: share of texts that judges, trained on other texts than the guides, give the label steered "
    "to, higher is better. perplexity: of the continuations given their prompts, under the unguided generator and its "
    "whole vocabulary, lower is likelier. distinct n: different n-grams of words among those of one label and seed, "
    "higher is more varied. tokens: of a continuation. overhead: time of guided over unguided generate(), same "
    "prompts, k and number of tokens; larger for smaller generators. 95 % bootstrap intervals over prompts."
)


@dataclass(frozen=True)
class SteeredTexts:
    """The texts of one label, strength and k, seed after seed and prompt after prompt, with measures of each."""

    label: str  # steered to
    prompts: NDArray[np.intp]  # the index of the prompt
    seeds: NDArray[np.intp]  # of the draws
    texts: tuple[str, ...]  # with the prompts
    words: tuple[tuple[str, ...], ...]  # of the continuations
    hits: NDArray[np.float64]  # whether the judges find the label
    nll: NDArray[np.float64]  # of the whole continuation in nats, under the unguided generator
    tokens: NDArray[np.float64]  # of the continuation


@dataclass(frozen=True)
class SteeredSetting:
    """A strength and a k: the texts by label, and the overhead of guidance."""

    strength: float
    k: int
    texts: tuple[SteeredTexts, ...]
    overhead: float


def steering_row(
    setting: SteeredSetting, label: str, by_label: Sequence[SteeredTexts], rule: str, seed: int
) -> dict[str, Any]:
    """The row of the texts of some labels together; `seed` is that of the bootstrap.

    Accuracy and perplexity have intervals over prompts; distinct-n is the mean over labels and seeds.
    """
    prompts, seeds_of, hits, nll, tokens = (
        np.concatenate([getattr(texts, name) for texts in by_label])
        for name in ("prompts", "seeds", "hits", "nll", "tokens")
    )
    seeds = list(dict.fromkeys(seeds_of.tolist()))
    pools = [
        [words for words, drawn in zip(texts.words, texts.seeds, strict=True) if drawn == chosen]
        for texts in by_label
        for chosen in seeds
    ]
    inputs = number_groups(len(hits), prompts.tolist())
    return {
        "label": label,
        "rule": rule,
        "strength": float(setting.strength),
        "k": setting.k,
        "n": len(hits),
        "accuracy": estimate_ratio(hits, np.ones_like(hits), inputs, seed=seed),
        "perplexity": estimate_perplexity(nll, tokens, inputs, seed=seed),
        **{f"distinct_{n}": float(np.mean([distinct_n(pool, n) for pool in pools])) for n in (1, 2, 3)},
        "tokens": float(tokens.mean()),
        "overhead": setting.overhead,
        "seeds": seeds,
        "by_seed": {
            "accuracy": [float(hits[seeds_of == s].mean()) for s in seeds],
            "perplexity": [float(np.exp(nll[seeds_of == s].sum() / tokens[seeds_of == s].sum())) for s in seeds],
        },
    }


def write_samples(path: Path, found: Sequence[SteeredSetting], rule: str, prompts: Sequence[str]) -> None:
    """Writes all texts as examples."""
    examples = []
    for setting in found:
        system = f"{rule} {setting.strength:g} k={setting.k}"
        for texts in setting.texts:
            for number, (of, text) in enumerate(zip(texts.prompts, texts.texts, strict=True)):
                prompt, name = prompts[int(of)], f"{system}-{texts.label}-{number}"
                group = f"{texts.label}: {prompt}"
                examples.append(Example(name, text=text, prefix=prompt, label=texts.label, system=system, group=group))
    write_examples(path, examples)
