"""How findings of comparisons are shown: rows of tables, scores of texts, plots and notes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from core.example import Example
from core.scores import Scores
from core.signature import MODEL_LIBRARIES, signature
from experiments.oumg.findings import KindFindings, SystemFindings
from experiments.training import Trained, folders_of
from meta_eval.scored_set import ScoredSet
from oumg.relative import SCORES

CAPTION = (
    "Discriminators learned human texts against outputs of both systems and score inputs that they have not seen. "
    "accuracy: of the discriminator, 0.5 is chance. hsr: share of a system's outputs taken for human. hsrd: hsr 1 - "
    "hsr 2. ur: share of inputs where the first system's output is closer to human than the second's; ties: where "
    "both are equal. texts cut: of the judged human texts and outputs (4 in a pair), those that were cut to the common "
    "length of their pair. pairs: all; where some text lost more than half of itself, these pairs and the others have "
    "rows of their own. Means over seeds, 95 % bootstrap intervals over inputs."
)
ANCHORED_CAPTION = (
    "Each system was compared with one fixed opponent, the anchor, by discriminators that learned human texts against "
    "outputs of these two. anchored score: hsr of the system - hsr of the anchor, in [-1, 1], higher is better; unlike "
    "hsr it puts several systems in one order. accuracy: of the discriminator, 0.5 is chance. Means over seeds, 95 % "
    "bootstrap intervals over inputs."
)


def relative_rows(found: SystemFindings) -> list[dict[str, Any]]:
    """A row for each kind of discriminator and part of the pairs: every relative score, with its value by seed."""
    cut = [sum(lost > 0 for lost in pair.lost) for pair in found.comparison.test]
    return [
        {
            "discriminator": kind,
            "system_1": found.names[0],
            "system_2": found.names[1],
            "pairs": part,
            "texts_cut": sum(cut[i] for i in found.parts[part]),
            **_columns(each, part, {name: name for name in SCORES}),
        }
        for kind, each in found.kinds.items()
        for part in found.parts
    ]


def anchored_rows(comparisons: Sequence[SystemFindings]) -> list[dict[str, Any]]:
    """For each kind of discriminator the systems, the best first; each was compared with the same second system."""
    rows = [
        {
            "discriminator": kind,
            "system": found.names[0],
            "anchor": found.names[1],
            **_columns(each, "all", {"anchored_score": "hsrd", "accuracy": "accuracy"}),
        }
        for found in comparisons
        for kind, each in found.kinds.items()
    ]
    kinds = list(comparisons[0].kinds)
    return sorted(rows, key=lambda row: (kinds.index(row["discriminator"]), -row["anchored_score"].value))


def _columns(found: KindFindings, part: str, names: Mapping[str, str]) -> dict[str, Any]:
    """How much was compared in a part of the pairs, scores by column with their intervals, and the values by seed."""
    scores = found.scores[part]
    columns: dict[str, Any] = {"n": scores.pairs, "inputs": scores.inputs}
    columns |= {column: getattr(scores, name) for column, name in names.items()}
    by_seed = {column: list(scores.by_seed[name]) for column, name in names.items()}
    return {**columns, "seeds": list(found.discriminators), "by_seed": by_seed}


def scored_sets(found: SystemFindings, synthetic: bool) -> list[ScoredSet]:
    """The logits of the test texts of each origin, by kind and seed.

    A human text of several pairs stands once for each way it was cut.
    """
    test = found.comparison.test
    human = [example for pair in test for example in pair.human]
    cuts = [tuple(segments) for pair in test for segments in pair.segments[:2]]
    once = list({(e.id, cut): i for i, (e, cut) in enumerate(zip(human, cuts, strict=True))}.values())
    origins: dict[str, tuple[list[Example], Any]] = {
        "human": ([human[i] for i in once], lambda judged: judged.human[:, once]),
        "g1": ([pair.first for pair in test], lambda judged: judged.first),
        "g2": ([pair.second for pair in test], lambda judged: judged.second),
    }
    return [
        ScoredSet(
            name,
            tuple(examples),
            {
                f"{kind}_seed_{seed}": Scores({"logit": logits}, logit_signature(trained))
                for kind, each in found.kinds.items()
                for (seed, trained), logits in zip(each.discriminators.items(), logits_of(each.judged), strict=True)
            },
            synthetic,
        )
        for name, (examples, logits_of) in origins.items()
    ]


def logit_signature(discriminator: Trained) -> str:
    """The signature of a discriminator's logits."""
    return signature("oumg_logit", libraries=MODEL_LIBRARIES, discriminator=discriminator.identity)


def model_folders(found: SystemFindings) -> dict[str, Path]:
    """The folders of the discriminators, as `Outcome.models` takes them."""
    return folders_of({f"discriminator_{name}": trained for name, trained in found.discriminators.items()})


def logit_plots(found: SystemFindings) -> dict[str, Figure]:
    """By kind of discriminator: logits of human texts and both systems, and of each pair of outputs.

    The left panel has the logits of all seeds, the right one means over seeds.
    """
    return {f"logits_{kind}": _logit_plot(each, found.names) for kind, each in found.kinds.items()}


def _logit_plot(found: KindFindings, names: tuple[str, str]) -> Figure:
    judged = found.judged
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    groups = {"human": judged.human, names[0]: judged.first, names[1]: judged.second}
    bins = np.histogram_bin_edges(np.concatenate([logits.ravel() for logits in groups.values()]), 40).tolist()
    for name, logits in groups.items():
        left.hist(logits.ravel(), bins=bins, histtype="step", density=True, label=name)
    left.axvline(0, color="grey", linewidth=0.8)
    left.set(xlabel="logit (above 0: taken for human)", ylabel="density")
    left.legend()
    first, second = judged.first.mean(axis=0), judged.second.mean(axis=0)
    right.plot(second, first, ".", alpha=0.5)
    ends = (min(first.min(), second.min()), max(first.max(), second.max()))
    right.plot(ends, ends, color="grey", linewidth=0.8)
    right.set(xlabel=f"logit of {names[1]}", ylabel=f"logit of {names[0]}", title=f"above the line: {names[0]} wins")
    return figure


def comparison_notes(found: SystemFindings, about: str = "") -> list[str]:
    """Templates that were removed, discriminators that are not above chance, and texts that lost tokens."""
    notes = [
        f"{template!r} was removed from the {where} of all texts: nearly every text of one origin has it there"
        for where, template in found.comparison.templates
    ]
    for kind, each in found.kinds.items():
        if not each.scores["all"].accuracy.low > 0.5:
            notes.append(
                f"{kind}: its accuracy is not above chance; it cannot tell human texts from outputs, and its other "
                "scores say little"
            )
        if each.judged.truncated:
            notes.append(f"{kind}: {each.judged.truncated} of {4 * len(found.comparison.test)} texts lost tokens")
    return [f"{about}{note}" for note in notes]


def pair_counts(found: SystemFindings) -> dict[str, float]:
    """The numbers of pairs."""
    return {"pairs to learn from": len(found.comparison.train), "pairs to judge": len(found.comparison.test)}
