"""The baselines of CTRLEval's tables: likelihoods, BARTScore, BLEURT, and discriminators that learn perturbed texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from baselines.bartscore import BartScore
from baselines.bleurt import Bleurt
from baselines.perplexity import InfillingPerplexity, Perplexity
from baselines.perturbation import perturb_as_union, perturb_for_discriminator
from baselines.word_count import WordCount
from core.example import Example
from core.scores import Metric, Scores, fields
from ctrl_eval.metric import CTRLEval
from data.corpus import Corpus
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore
from discriminators.texts import LabelledText
from experiments.contracts import Run
from experiments.training.discriminators import DiscriminatorPlan, find_or_train_discriminator
from experiments.training.trained import Trained
from models.seq2seq import Seq2SeqLM


@dataclass(frozen=True)
class Judges:
    """The trained discriminators of the baselines.

    Attributes:
        quality: tells human texts from perturbed ones (coherence and consistency).
        label: tells all labels apart (attribute relevance).
        union: tells human texts from UNION's negatives.
    """

    quality: Trained
    label: Trained
    union: Trained


@dataclass(frozen=True)
class DisScore:
    """The discriminator score of the paper: one discriminator for the quality of texts and one for their labels."""

    requires = fields("label")
    quality: DiscriminatorScore
    label: LabelDiscriminatorScore

    @property
    def signature(self) -> str:
        """The signatures of both discriminators."""
        return f"{self.quality.signature} + {self.label.signature}"

    def score(self, examples: Sequence[Example]) -> Scores:
        """All three aspects; NaN for a blank text, and without label."""
        quality, label = self.quality.score(examples), self.label.score(examples)
        logits, probabilities = quality.values["quality"], label.values["quality"]
        return Scores(
            {"coherence": logits, "consistency": logits, "attribute_relevance": probabilities},
            self.signature,
            [of_text or of_label for of_text, of_label in zip(quality.reasons, label.reasons, strict=True)],
            [max(lost) for lost in zip(quality.dropped_tokens, label.dropped_tokens, strict=True)],
        )


def train_judges(run: Run, plan: DiscriminatorPlan, data: Corpus) -> Judges:
    """All discriminators of the baselines, which learn the labelled texts.

    The negatives are perturbed here; the code that damages the built-in rated sets has no part in it.
    """
    texts = [example.full_text for example in data.train[: plan.per_class]]
    per_label = None if plan.texts is None else plan.texts // len(data.labels)
    of_labels = [
        LabelledText((example.full_text,), number, group=example.id)
        for number, label in enumerate(data.labels)
        for example in [e for e in data.train if e.label == label][:per_label]
    ]
    of_label = replace(plan, build=partial(plan.build, labels=list(data.labels)))
    train = partial(find_or_train_discriminator, run, seed=run.seed)
    return Judges(
        quality=train("discriminator_quality", plan, _pair(texts, perturb_for_discriminator(texts, run.seed))),
        label=train("discriminator_label", of_label, of_labels),
        union=train("discriminator_union", plan, _pair(texts, perturb_as_union(texts, run.seed))),
    )


def _pair(texts: Sequence[str], negatives: Sequence[str | None]) -> list[LabelledText]:
    """Each text and its negative; texts without a negative are left out."""
    return [
        LabelledText((segment,), label, group=str(i))
        for i, (text, negative) in enumerate(zip(texts, negatives, strict=True))
        if negative is not None
        for label, segment in ((1, text), (0, negative))
    ]


def make_baselines(
    metric: CTRLEval,
    backbone: Trained,
    causal: Trained,
    judges: Judges | None,
    bart: str | None,
    bleurt: str | None,
    device: str,
    dtype: str,
) -> dict[str, Callable[[], Metric]]:
    """How to make each baseline; one that is not asked for is left out.

    BARTScore is the log-probability of the text given its prefix (Yuan et al. 2021: the score without reference). The
    rows of the backbone share the model of `metric`.
    """

    def backbone_model() -> Seq2SeqLM:
        lm = metric.infiller.lm
        assert isinstance(lm, Seq2SeqLM), "the infilling backbone is an encoder-decoder model"
        return lm

    found: dict[str, Callable[[], Metric]] = {
        "perplexity": lambda: Perplexity.from_pretrained(causal.source, device, dtype),
        "perplexity_backbone": lambda: InfillingPerplexity(metric.infiller, backbone.source),
        "bartscore_backbone": lambda: BartScore(backbone_model(), backbone.source, source="prefix"),
    }
    if bart:
        found["bartscore"] = lambda: BartScore.from_pretrained(bart, device, dtype, source="prefix")
    if bleurt:
        found["bleurt"] = lambda: Bleurt.from_pretrained(bleurt, device, dtype, reference="prefix")
    if judges:
        found["discriminator"] = lambda: DisScore(
            DiscriminatorScore.from_pretrained(judges.quality.source, device),
            LabelDiscriminatorScore.from_pretrained(judges.label.source, device),
        )
        found["union"] = lambda: DiscriminatorScore.from_pretrained(judges.union.source, device)
    return {**found, "word_count": WordCount}
