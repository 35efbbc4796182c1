"""Tables of guided decoding: scores by strength and k, candidates step by step, the texts themselves, a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.text import Text

from core.example import Example
from core.faults import printable
from data.files import write_examples
from data.text_files import open_atomically
from experiments.report.plots import trade_off
from meta_eval.bootstrap import estimate_perplexity, estimate_ratio, number_groups
from oumg.diversity import distinct_n
from oumg.generation import WrittenToken

if TYPE_CHECKING:
    from experiments.steering.experiment import SteeredSetting, SteeredTexts


CAPTION = (
    "strength: alpha (normalised) or lambda (fudge); 0 is the unguided generator, which samples from its k likeliest "
    "tokens. accuracy: share of texts that judges, trained on other texts than the guides, give the label steered "
    "to, higher is better. perplexity: of the continuations given their prompts, under the unguided generator and its "
    "whole vocabulary, lower is likelier. distinct n: different n-grams of words among those of one label and seed, "
    "higher is more varied. tokens: of a continuation. overhead: time of guided over unguided generate(), same "
    "prompts, k and number of tokens; larger for smaller generators. 95 % bootstrap intervals over prompts."
)
STEPS_CAPTION = (
    "before: the generator's probability among its k likeliest tokens. attribute: the guide's probability that the "
    "text with the candidate has the label. after: the probability under guidance, from which the token marked in "
    "`chosen` was drawn. Candidates that are among the first before or after are shown."
)
TAIL = 30  # characters of the text so far
SHADES: Mapping[str, str] = {  # blue and orange, which colour-blind people tell apart
    "much likelier": "#58a8e0",
    "likelier": "#9ccbef",
    "slightly likelier": "#d6eafa",
    "slightly less likely": "#fde3cf",
    "less likely": "#fbbd8a",
    "much less likely": "#f28a3c",
}
BOUNDS = (0.1, 0.7, 2.0)  # nats, from which a token is slightly likelier, likelier, much likelier


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


def step_rows(prompt: str, tokens: Sequence[WrittenToken], shown: int) -> list[dict[str, Any]]:
    """The candidates of each step, likeliest first: the `shown` first before and the `shown` first after guidance."""
    rows: list[dict[str, Any]] = []
    text = prompt
    for number, token in enumerate(tokens):
        candidates = token.candidates
        after = sorted(range(len(candidates)), key=lambda place: -candidates[place].after)
        places = sorted({*range(min(shown, len(candidates))), *after[:shown], token.chosen})
        for place in places:
            candidate = candidates[place]
            rows.append(
                {
                    "step": number + 1,
                    "text": f"…{text[-TAIL:]}" if place == places[0] else "",
                    "candidate": repr(candidate.text),
                    "before": candidate.before,
                    "attribute": candidate.attribute,
                    "after": candidate.after,
                    "chosen": "←" if place == token.chosen else "",
                }
            )
        text += token.text
    return rows


def print_colored(console: Console, name: str, prompt: str, tokens: Sequence[WrittenToken]) -> None:
    """Prints a text on a terminal: guidance made blue tokens likelier and orange ones less likely."""
    if not console.is_terminal:
        return
    text = Text(printable(prompt))
    for token in tokens:
        shade = name_shade(token.moved)
        text.append(printable(token.text), style=f"black on {SHADES[shade]}" if shade else "")
    console.print(Text(printable(name), style="bold"), text, sep="\n")


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
