"""The models of guided decoding: a generator, a guide for each label, and judges trained on other texts and seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.example import Example
from data.corpus import Corpus
from discriminators.discriminator import Discriminator
from experiments.contracts import Run
from experiments.steering.parts import label_texts, name_file
from experiments.training import DiscriminatorPlan, GuidePlan, LanguageModelPlan, Pretrained, Trained, find_or_train
from models.causal import CausalLM


@dataclass(frozen=True)
class TextGenerator:
    """A trained generator and the loaded model."""

    trained: Trained
    lm: CausalLM


@dataclass(frozen=True)
class LabelJudges:
    """Discriminators that find the label of a text.

    Attributes:
        labels: all labels of the data.
        judges: by label, the label against the others; with two labels only the second has one.
    """

    labels: Sequence[str]
    judges: Mapping[str, Discriminator]

    def find_labels(self, texts: Sequence[str]) -> list[str]:
        """The label of each text: that of the highest logit; with two labels, the sign of the logit decides."""
        logits = {label: judge.logits([(text,) for text in texts])[0] for label, judge in self.judges.items()}
        if len(self.labels) == 2:
            return [self.labels[int(logit > 0)] for logit in logits[self.labels[1]]]
        return [self.labels[int(i)] for i in np.stack([logits[label] for label in self.labels]).argmax(axis=0)]


def plan_generator(plan: LanguageModelPlan | Pretrained, name: str | None) -> LanguageModelPlan | Pretrained:
    """The causal language model of this hub name or folder; the plan where `name` is None."""
    return plan if name is None else Pretrained(name)


def generator_share(plan: LanguageModelPlan | Pretrained, share: float) -> float:
    """The share of the training texts for the generator: 0 for a pretrained one."""
    return 0.0 if isinstance(plan, Pretrained) else share


def load_generator(
    run: Run,
    plan: LanguageModelPlan | Pretrained,
    texts: Sequence[Example],
    data: Corpus,
    device: str,
    dtype: str = "float32",
) -> TextGenerator:
    """A pretrained generator, or one that learns these texts without their labels."""
    learned, held_out = ([example.full_text for example in each] for each in (texts, data.held_out))
    trained = find_or_train(run, "generator", plan, learned, held_out)
    return TextGenerator(trained, CausalLM.from_pretrained(trained.source, device, dtype))


def train_label_guide(run: Run, plan: GuidePlan, lm: CausalLM, label: str, texts: Sequence[Example]) -> Trained:
    """The guide to a label, the label against the others.

    It learns whole texts and should read the prompt too. Then the prefixes that it scores begin like those it learned,
    whatever the prompt, and no text has to be cut where a prompt would end.
    """
    learned = label_texts(texts, label, plan.texts, run.seed)
    return find_or_train(run, f"guide_{name_file(label)}", plan, learned, tokenizer=lm.tokenizer)


def train_label_judges(
    run: Run, plan: DiscriminatorPlan, labels: Sequence[str], texts: Sequence[Example]
) -> dict[str, Trained]:
    """The judge of each label, the label against the others; with two labels only that of the second.

    Their seed differs from that of the guides.
    """
    seed = run.seed + 1
    return {
        label: find_or_train(
            run, f"judge_{name_file(label)}", plan, label_texts(texts, label, plan.texts, seed), seed=seed
        )
        for label in (labels[1:] if len(labels) == 2 else labels)
    }
