"""Results of guided decoding: texts by label, strength and k, and their table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.example import Example
from data.files import write_examples
from meta_eval.design import Floats, lay_out
from meta_eval.estimates import estimate_difference, estimate_perplexity, estimate_share
from oumg.diversity import distinct_n
from report.tables import Table
from report.wording import format_cell

CAPTION = (
    "strength: alpha (normalised) or lambda (fudge); 0 is the unguided generator, which samples from its k likeliest "
    "tokens. accuracy: share of texts that judges, trained on other texts than the guides, give the label steered "
    "to, higher is better. perplexity: of the continuations given their prompts, under the unguided generator and its "
    "whole vocabulary, lower is likelier. distinct n: different n-grams of words among those of one label and seed, "
    "higher is more varied. tokens: of a continuation. overhead: time of guided over unguided generate(), same "
    "prompts, k and number of tokens; larger for smaller generators. 95 % intervals over prompts."
)
SHOWN = ("label", "strength", "k", "n", "accuracy", "perplexity", "distinct_2", "overhead")


@dataclass(frozen=True)
class SteeredText:
    """A text that was steered to a label, and what was found about it."""

    label: str
    strength: float
    k: int
    # the index of its prompt
    prompt: int
    # of the draw
    seed: int
    # with the prompt
    text: str
    # the tokens of the continuation
    ids: tuple[int, ...]
    # of the continuation
    words: tuple[str, ...] = ()
    # whether the judges find the label
    is_hit: bool = False
    # of the whole continuation in nats, under the unguided generator
    nll: float = 0.0

    @property
    def tokens(self) -> int:
        """The number of tokens of the continuation."""
        return len(self.ids)


def tabulate(texts: Sequence[SteeredText], overheads: Mapping[tuple[float, int], float], rule: str) -> Table:
    """Makes the table of steered texts: for each strength and k all labels together, then each label."""
    labels = dict.fromkeys(text.label for text in texts)
    rows: list[dict[str, Any]] = []
    for (strength, k), overhead in overheads.items():
        of_setting = [text for text in texts if (text.strength, text.k) == (strength, k)]
        for label in ("all", *labels):
            chosen = [text for text in of_setting if label in ("all", text.label)]
            about = {
                "label": label,
                "rule": rule,
                "strength": float(strength),
                "k": k,
            }
            rows.append({**about, **measure_texts(chosen), "overhead": overhead})
    rows.sort(key=lambda row: row["label"] != "all")
    return Table(
        "Steered texts",
        CAPTION,
        rows,
        SHOWN,
    )


def measure_texts(texts: Sequence[SteeredText]) -> dict[str, Any]:
    """Measures the texts of some labels together.

    Accuracy and perplexity have intervals over prompts; distinct-n is the mean over labels and seeds.
    """
    layout = lay_out(len(texts), inputs=[text.prompt for text in texts])
    nll = list_values(texts, "nll")
    tokens = list_values(texts, "tokens")
    measured: dict[str, Any] = {
        "n": len(texts),
        "accuracy": estimate_share(list_values(texts, "is_hit"), layout).only,
        "perplexity": estimate_perplexity(nll, tokens, layout),
    }
    pools: dict[tuple[str, int], list[tuple[str, ...]]] = {}
    for text in texts:
        pools.setdefault((text.label, text.seed), []).append(text.words)
    for n in (1, 2, 3):
        measured[f"distinct_{n}"] = float(np.mean([distinct_n(pool, n) for pool in pools.values()]))
    return {**measured, "tokens": float(tokens.mean())}


def list_values(texts: Sequence[SteeredText], name: str) -> Floats:
    """Lists a field of each text as numbers; a hit is 1."""
    return np.array([getattr(text, name) for text in texts], dtype=np.float64)


def describe_guidance(texts: Sequence[SteeredText], are_judges_known: bool) -> str:
    """Says in one sentence the effect of the strongest guidance with the most candidates; "" without guidance.

    This setting is fixed before anything is measured, so that no figure is picked for its size.
    """
    most = max(text.k for text in texts)
    of_most = [text for text in texts if text.k == most]
    strength = max(text.strength for text in of_most)
    plain = [text for text in of_most if text.strength == 0]
    guided = [text for text in of_most if text.strength == strength]
    if strength == 0:
        return ""
    named = f"of strength {strength:g} at k {most}"
    if not are_judges_known:
        return f"No verdict on guidance {named}: the judges are not shown to tell the labels apart"
    before = list_values(plain, "is_hit")
    after = list_values(guided, "is_hit")
    layout = lay_out(len(after), inputs=[text.prompt for text in guided])
    added = estimate_difference(after - before, layout).only
    shares = f"from {before.mean():.2f} to {after.mean():.2f}"
    if added.reason:
        return f"Guidance {named} takes the share of wanted labels {shares}, without an interval: {added.reason}"
    if added.low <= 0 <= added.high:
        return f"Guidance {named} is not shown to change the share of wanted labels ({shares})"
    does = "raises" if added.low > 0 else "lowers"
    size = added if added.low > 0 else added.negate()
    perplexity = f"perplexity goes from {measure_perplexity(plain):.1f} to {measure_perplexity(guided):.1f}"
    return f"Guidance {named} {does} the share of wanted labels by {format_cell(size)}, {shares}; {perplexity}"


def measure_perplexity(texts: Sequence[SteeredText]) -> float:
    """Computes the perplexity of all continuations under the unguided generator."""
    return float(np.exp(list_values(texts, "nll").sum() / list_values(texts, "tokens").sum()))


def write_samples(
    path: Path,
    texts: Sequence[SteeredText],
    rule: str,
    prompts: Sequence[str],
) -> None:
    """Writes all texts as examples of their system; texts of one label and prompt are a group."""
    numbers: Counter[tuple[str, str]] = Counter()
    examples: list[Example] = []
    for text in texts:
        system = f"{rule} {text.strength:g} k={text.k}"
        prompt = prompts[text.prompt]
        example = Example(
            f"{system}-{text.label}-{numbers[system, text.label]}",
            text=text.text,
            prefix=prompt,
            label=text.label,
            system=system,
            group=f"{text.label}: {prompt}",
        )
        examples.append(example)
        numbers[system, text.label] += 1
    write_examples(path, examples)


def mean_equal(wanted: Sequence[str], found: Sequence[str]) -> float:
    """Computes the share of positions at which two lists are equal."""
    return float(np.mean(np.array(wanted) == np.array(found)))


def is_above_chance(wanted: Sequence[str], found: Sequence[str], labels: int) -> bool:
    """Whether the mean accuracy over labels, minus two standard errors, is above 1 / `labels`.

    >>> is_above_chance(["a", "b"] * 20, ["a", "b"] * 20, 2), is_above_chance(["a", "b"] * 20, ["b"] * 40, 2)
    (True, False)
    """
    is_hit = np.array(wanted) == np.array(found)
    of_labels = [is_hit[np.array(wanted) == label] for label in set(wanted)]
    accuracies = [hits.mean() for hits in of_labels]
    error = np.sqrt(sum(hits.var() / len(hits) for hits in of_labels)) / len(of_labels)
    return bool(np.mean(accuracies) - 2 * error > 1 / labels)
