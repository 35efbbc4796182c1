"""How findings of guided decoding are shown: rows of tables, the plot of the trade-off, and the texts themselves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from core.example import Example
from data.files import write_examples
from data.text_files import open_atomically
from experiments.report.plots import trade_off
from experiments.steering.findings import SteeredSetting, SteeredTexts, score_texts

CAPTION = (
    "strength: alpha (normalised) or lambda (fudge); 0 is the unguided generator, which samples from its k likeliest "
    "tokens. accuracy: share of texts that judges, trained on other texts than the guides, give the label steered "
    "to, higher is better. perplexity: of the continuations given their prompts, under the unguided generator and its "
    "whole vocabulary, lower is likelier. distinct n: different n-grams of words among those of one label and seed, "
    "higher is more varied. tokens: of a continuation. overhead: time of guided over unguided generate(), same "
    "prompts, k and number of tokens; larger for smaller generators. 95 % bootstrap intervals over prompts."
)


def steering_rows(found: Sequence[SteeredSetting], rule: str, seed: int) -> list[dict[str, Any]]:
    """A row for each strength and k, all labels together."""
    return [steering_row(setting, "all", setting.texts, rule, seed) for setting in found]


def label_rows(found: Sequence[SteeredSetting], rule: str, seed: int) -> list[dict[str, Any]]:
    """A row for each strength, k and label."""
    return [steering_row(setting, texts.label, [texts], rule, seed) for setting in found for texts in setting.texts]


def steering_row(
    setting: SteeredSetting, label: str, texts: Sequence[SteeredTexts], rule: str, seed: int
) -> dict[str, Any]:
    """The row of some of the texts of a setting; `seed` is that of the bootstrap."""
    scores = score_texts(texts, seed)
    return {
        "label": label,
        "rule": rule,
        "strength": float(setting.strength),
        "k": setting.k,
        "n": scores.n,
        "accuracy": scores.accuracy,
        "perplexity": scores.perplexity,
        **{f"distinct_{n}": value for n, value in scores.distinct.items()},
        "tokens": scores.tokens,
        "overhead": setting.overhead,
        "seeds": list(scores.seeds),
        "by_seed": scores.by_seed,
    }


def plot_trade_off(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Accuracy by perplexity: a line for each k, a point for each strength."""
    lines = {
        f"k = {k}": [(f"{row['strength']:g}", row["perplexity"], row["accuracy"]) for row in rows if row["k"] == k]
        for k in dict.fromkeys(row["k"] for row in rows)
    }
    x = "perplexity under the unguided generator (lower is likelier)"
    return trade_off(lines, x, "accuracy by separate judges, strength by strength")


def write_samples(path: Path, found: Sequence[SteeredSetting], rule: str, prompts: Sequence[str]) -> None:
    """All texts as examples, and the first text of each prompt, label, k and strength side by side in a `.txt`."""
    write_examples(path, _examples(found, rule, prompts))
    with open_atomically(path.with_suffix(".txt")) as file:
        for number, prompt in enumerate(prompts):
            file.write(f"== {prompt}\n")
            for label_at in range(len(found[0].texts)):
                for setting in found:
                    texts = setting.texts[label_at]
                    first = int(np.flatnonzero(texts.prompts == number)[0])
                    text = " ".join(texts.texts[first].split())
                    file.write(f"{texts.label}, k {setting.k}, strength {setting.strength:g}: {text}\n")
            file.write("\n")


def _examples(found: Sequence[SteeredSetting], rule: str, prompts: Sequence[str]) -> list[Example]:
    return [
        Example(
            f"{system}-{texts.label}-{number}",
            text=text,
            prefix=prompts[int(of)],
            label=texts.label,
            system=system,
            group=f"{texts.label}: {prompts[int(of)]}",
        )
        for setting in found
        for system in [f"{rule} {setting.strength:g} k={setting.k}"]
        for texts in setting.texts
        for number, (of, text) in enumerate(zip(texts.prompts, texts.texts, strict=True))
    ]
