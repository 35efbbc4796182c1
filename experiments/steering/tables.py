"""Results of guided decoding: texts by label, strength and k, and their table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from data.files import write_examples
from meta_eval.design import lay_out
from meta_eval.estimates import Estimate, estimate_difference, estimate_perplexity, estimate_share
from oumg.diversity import distinct_n
from report.wording import format_cell

CAPTION = (
    "strength: alpha (normalised) or lambda (fudge); 0 is the unguided generator, which samples from its k likeliest "
    "tokens. accuracy: share of texts that judges, trained on other texts than the guides, give the label steered "
    "to, higher is better. perplexity: of the continuations given their prompts, under the unguided generator and its "
    "whole vocabulary, lower is likelier. distinct n: different n-grams of words among those of one label and seed, "
    "higher is more varied. tokens: of a continuation. overhead: time of guided over unguided generate(), same "
    "prompts, k and number of tokens; larger for smaller generators. 95 % intervals over prompts."
)


@dataclass(frozen=True)
class SteeredTexts:
    """The continuations for one label, strength and k, with measures of each.

    First come the continuations of all prompts with the first seed, then those with the next seed.
    """

    label: str  # steered to
    prompts: NDArray[np.intp]  # the index of the prompt
    seeds: NDArray[np.intp]  # of the draws
    texts: tuple[str, ...]  # with the prompts
    words: tuple[tuple[str, ...], ...]  # of the continuations
    hits: NDArray[np.float64]  # whether the judges find the label
    nll: NDArray[np.float64]  # of the whole continuation in nats, under the unguided generator
    tokens: NDArray[np.float64]  # of the continuation

    def drawn_with(self, seed: int) -> list[tuple[str, ...]]:
        """Returns the words of the continuations that were drawn with a seed."""
        return [words for words, drawn in zip(self.words, self.seeds, strict=True) if drawn == seed]


@dataclass(frozen=True)
class SteeredSetting:
    """The results of guidance with one strength and one k: the texts for each label, and the cost in time."""

    strength: float
    k: int
    texts: tuple[SteeredTexts, ...]
    overhead: float


def join_labels(by_label: Sequence[SteeredTexts], name: str) -> NDArray[Any]:
    """Joins the values of a measure for the texts of several labels, label after label."""
    return np.concatenate([getattr(texts, name) for texts in by_label])


def steering_row(
    setting: SteeredSetting,
    label: str,
    by_label: Sequence[SteeredTexts],
    rule: str,
) -> dict[str, Any]:
    """Makes a table row of the texts of some labels together.

    Accuracy and perplexity have intervals over prompts; distinct-n is the mean over labels and seeds.
    """
    hits = join_labels(by_label, "hits")
    nll = join_labels(by_label, "nll")
    tokens = join_labels(by_label, "tokens")
    seeds_of = join_labels(by_label, "seeds")
    layout = lay_out(len(hits), inputs=join_labels(by_label, "prompts").tolist())
    seeds = list(dict.fromkeys(seeds_of.tolist()))
    pools = [texts.drawn_with(chosen) for texts in by_label for chosen in seeds]
    return {
        "label": label,
        "rule": rule,
        "strength": float(setting.strength),
        "k": setting.k,
        "n": len(hits),
        "accuracy": estimate_share(hits, layout).only,
        "perplexity": estimate_perplexity(nll, tokens, layout),
        **{f"distinct_{n}": float(np.mean([distinct_n(pool, n) for pool in pools])) for n in (1, 2, 3)},
        "tokens": float(tokens.mean()),
        "overhead": setting.overhead,
        "seeds": seeds,
        "by_seed": {
            "accuracy": [float(hits[seeds_of == s].mean()) for s in seeds],
            "perplexity": [float(np.exp(nll[seeds_of == s].sum() / tokens[seeds_of == s].sum())) for s in seeds],
        },
    }


def describe_guidance(
    settings: Sequence[SteeredSetting],
    are_judges_known: bool,
) -> str:
    """Says in one sentence the effect of the strongest guidance with the most candidates; "" without guidance.

    This setting is fixed before anything is measured, so that no figure is picked for its size.
    """
    most = max(setting.k for setting in settings)
    by_strength = {setting.strength: setting for setting in settings if setting.k == most}
    strongest = by_strength[max(by_strength)]
    plain = by_strength[0]
    if strongest is plain:
        return ""
    named = f"of strength {strongest.strength:g} at k {most}"
    if not are_judges_known:
        return f"No verdict on guidance {named}: the judges are not shown to tell the labels apart"
    added = subtract_hits(strongest, plain)
    shares = f"from {mean_hits(plain):.2f} to {mean_hits(strongest):.2f}"
    if added.reason:
        return f"Guidance {named} takes the share of wanted labels {shares}, without an interval: {added.reason}"
    if added.low <= 0 <= added.high:
        return f"Guidance {named} is not shown to change the share of wanted labels ({shares})"
    does = "raises" if added.low > 0 else "lowers"
    perplexity = f"perplexity goes from {mean_perplexity(plain):.1f} to {mean_perplexity(strongest):.1f}"
    return f"Guidance {named} {does} the share of wanted labels by {format_cell(size(added))}, {shares}; {perplexity}"


def size(change: Estimate) -> Estimate:
    """Returns the absolute value of a change; if the value changes sign, the interval does too."""
    return change if change.value >= 0 else change.negate()


def subtract_hits(guided: SteeredSetting, plain: SteeredSetting) -> Estimate:
    """Estimates the share of texts with the intended label under guidance minus the share without guidance.

    Both settings have the same prompts, labels and seeds in the same order; the interval is over prompts.
    """
    differences = join_labels(guided.texts, "hits") - join_labels(plain.texts, "hits")
    layout = lay_out(len(differences), inputs=join_labels(guided.texts, "prompts").tolist())
    return estimate_difference(differences, layout).only


def mean_hits(setting: SteeredSetting) -> float:
    """Computes the share of texts with the intended label."""
    return float(join_labels(setting.texts, "hits").mean())


def mean_perplexity(setting: SteeredSetting) -> float:
    """Computes the perplexity of all continuations under the unguided generator."""
    tokens = join_labels(setting.texts, "tokens").sum()
    return float(np.exp(join_labels(setting.texts, "nll").sum() / tokens))


def write_samples(
    path: Path,
    settings: Sequence[SteeredSetting],
    rule: str,
    prompts: Sequence[str],
) -> None:
    """Writes all texts as examples."""
    examples: list[Example] = []
    for setting in settings:
        system = f"{rule} {setting.strength:g} k={setting.k}"
        for texts in setting.texts:
            examples += make_examples(texts, system, prompts)
    write_examples(path, examples)


def make_examples(texts: SteeredTexts, system: str, prompts: Sequence[str]) -> list[Example]:
    """Makes the texts of a label into examples of a system; texts of one label and prompt are a group."""
    examples: list[Example] = []
    for number, (place, text) in enumerate(zip(texts.prompts, texts.texts, strict=True)):
        prompt = prompts[int(place)]
        examples.append(
            Example(
                f"{system}-{texts.label}-{number}",
                text=text,
                prefix=prompt,
                label=texts.label,
                system=system,
                group=f"{texts.label}: {prompt}",
            )
        )
    return examples
