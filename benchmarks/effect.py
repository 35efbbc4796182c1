"""What the tiny models of `make models` show: guided texts, dialogues in order, sentiment in order, each as a row.

    python benchmarks/effect.py [FOLDER] [--texts 20]

FOLDER is that of the models, by default outputs/tiny/models. `--texts` prints so many unguided and guided texts. The
rows on built-in text are for choosing settings; those on examples/, which no model learned, are the ones to report.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau, spearmanr

from cdm.discriminative import DiscriminativeCDM
from core.example import Example
from core.scores import Metric
from ctrl_eval.metric import CTRLEval
from data.builtin.dialogues import rated_dialogues
from data.builtin.remarks import SENTIMENTS, TOPICS, find_topics, rated_remarks
from data.files import read_examples
from discriminators.discriminator import Discriminator
from discriminators.metric import DiscriminatorScore
from experiments.steering.models import LabelJudges
from judge import steer

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROMPTS = {SENTIMENTS: "The food", tuple(sorted(TOPICS)): "Last week we"}  # as in the README
STRENGTHS = (2.0, 4.0, 8.0)
SAMPLES, NEW_TOKENS, K = 50, 60, 32
HELD_OUT = 10_000  # a seed of built-in text that no model learned


def print_steering(models: Path, shown: int) -> None:
    """Accuracy of judges that learned other texts than the guides, and the share of texts that the grammar knows."""
    print("prompt | strength | accuracy of independent judges | grammatical | n")
    for labels, prompt in PROMPTS.items():
        if not all((models / f"guide_{label}").is_dir() for label in labels):
            print(f"{prompt} | no guides to {', '.join(labels)}")
            continue
        judged = labels[1:] if len(labels) == 2 else labels
        judges = LabelJudges(labels, {each: Discriminator.from_pretrained(models / f"judge_{each}") for each in judged})
        for strength in STRENGTHS:
            by_label = {
                label: steer(
                    *(models / "generator", models / f"guide_{label}", [prompt], strength, K),
                    new_tokens=NEW_TOKENS,
                    samples=SAMPLES,
                ).texts
                for label in labels
            }
            sides = {strength: "text"} | ({0.0: "unguided"} if strength == STRENGTHS[0] else {})
            for at, side in sorted(sides.items()):
                texts = {label: [getattr(each, side) for each in found] for label, found in by_label.items()}
                hits = [found == label for label in labels for found in judges.find_labels(texts[label])]
                known = [bool(find_topics(text)) for label in labels for text in texts[label]]
                print(f"{prompt} | {at:g} | {np.mean(hits):.3f} | {np.mean(known):.3f} | {len(hits)}", flush=True)
                for label in labels:
                    print("".join(f"    {label}: {text}\n" for text in texts[label][: shown // len(labels)]), end="")


def print_agreement(name: str, metric: Metric, sets: Mapping[str, Sequence[Example]]) -> None:
    """Spearman's rho of scores with ratings, and the neighbours of a group that are in their order."""
    for source, examples in sets.items():
        (scores,) = metric.score(examples).values.values()
        ratings = [next(iter(example.ratings.values())) for example in examples]
        rho, tau = (float(np.asarray(measure(scores, ratings))[0]) for measure in (spearmanr, kendalltau))
        pairs = [
            scores[i] < scores[j]
            for i, first in enumerate(examples)
            for j, second in enumerate(examples)
            if first.group == second.group and ratings[i] < ratings[j]
        ]
        order = f"{sum(pairs)} of {len(pairs)}" if pairs else "-"
        print(f"{name} | {source} | {rho:.3f} | {tau:.3f} | {order} | {len(examples)}", flush=True)


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="?", type=Path, default=Path("outputs/tiny/models"))
    parser.add_argument("--texts", type=int, default=0)
    chosen = parser.parse_args()
    models: Path = chosen.models
    print("metric | texts | rho | tau | pairs of a group in order | n")
    dialogues = {"built-in": rated_dialogues(100, HELD_OUT), "examples": read_examples(EXAMPLES / "dialogues.jsonl")}
    print_agreement("cdm_discriminative", DiscriminativeCDM.from_pretrained(models), dialogues)
    for folder in sorted(models.glob("discriminator_*")):
        print_agreement(f"cdm_generative, {folder.name}", DiscriminatorScore.from_pretrained(folder), dialogues)
    texts = {"built-in": rated_remarks(96, HELD_OUT), "examples": read_examples(EXAMPLES / "texts.jsonl")}
    ctrleval = CTRLEval.from_pretrained(
        models / "infiller", iwf=models / "iwf" / "iwf.json", aspects=["attribute_relevance"], truncation="window"
    )
    print_agreement("ctrleval, attribute relevance", ctrleval, texts)
    print_steering(models, chosen.texts)


if __name__ == "__main__":
    main()
