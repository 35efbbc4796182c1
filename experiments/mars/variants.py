"""The rows of MARS in its tables: the metric, its ablations, Naive, word vectors, other masking ratios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.scores import Scores
from core.settings import ascending_ratios
from data.rated import RatedSet
from experiments.mars.findings import row_up_to
from language_models.causal import CausalLM
from language_models.embedders import Embedder, load_embedder
from language_models.masked import MaskedLM
from mars.augmentation import SelfPlanningAugmenter
from mars.cloze import Augmentation
from mars.keeping import Augmenter
from mars.metric import MARS, RATIOS, Compared
from mars.naive import NaiveAugmenter
from mars.score import ratio_weights
from mars.tagging import Tagger


@dataclass(frozen=True)
class MetricPlan:
    """Settings of MARS; its language model may still have to be trained.

    Attributes:
        encoder: `offline`, a hub name, a folder, or a file of word vectors.
        ratios: masking ratios lambda, ascending from 0.
        q: the weight of each ratio relative to the one before (Eq. 7).
        augmentation: how self-planning fills blanks.
        tagger: `builtin`, `nltk` or `spacy:MODEL`.
        token_budget: padded tokens in a batch.
        device: of the models.

    Raises ValueError for ratios that do not ascend from 0, and for a q that is not above 0 and finite.
    """

    encoder: str = "offline"
    ratios: Sequence[float] = RATIOS
    q: float = 0.8
    augmentation: Augmentation = field(default_factory=Augmentation)
    tagger: str = "builtin"
    token_budget: int = 8192
    device: str = "cpu"

    def __post_init__(self) -> None:
        ascending_ratios(self.ratios, "ratios")
        ratio_weights(len(self.ratios), self.q)


def load_variants(
    plan: MetricPlan, embedder: Embedder, tagger: Tagger, kept: Path, language_model: str, masked: str | None
) -> dict[str, MARS]:
    """MARS, its ablations and, with a masked model, Naive, by their rows; augmented references are kept in `kept`."""

    def metric(augmenter: Augmenter, model: str) -> MARS:
        described = {"language_model": model, "encoder": plan.encoder}
        return MARS(augmenter, embedder, tagger, described, tuple(map(float, plan.ratios)), plan.q, kept)

    lm = CausalLM.from_pretrained(language_model, plan.device)
    usual = SelfPlanningAugmenter(lm, plan.augmentation, plan.token_budget)
    changes = {
        "mars": {},
        "mars_without_planning": {"planning_steps": 0},
        "mars_without_context": {"use_context": False},
        "mars_without_both": {"planning_steps": 0, "use_context": False},
    }
    found = {row: metric(usual.but(**change), language_model) for row, change in changes.items()}
    if masked is not None:
        filler = MaskedLM.from_pretrained(masked, plan.device)
        found["mars_naive"] = metric(NaiveAugmenter(filler, plan.augmentation.use_context, plan.token_budget), masked)
    return found


def score_variants(
    variants: Mapping[str, MARS], rated: RatedSet, largest_ratios: Sequence[float], static_encoder: str | None
) -> tuple[dict[str, Scores], list[Compared]]:
    """The scores of all rows, and the cosines of `mars` at all ratios of Table 5."""
    usual = variants["mars"]
    compared = replace(usual, ratios=tuple(sorted({*usual.ratios, *largest_ratios}))).compared(rated.examples)
    # Each variant compares anew: at the wider ratios above, some references may be too long.
    found = {row: variant.score(rated.examples) for row, variant in variants.items()}
    if static_encoder is not None:
        found["mars_static"] = replace(usual, embedder=load_embedder(static_encoder, static=True)).score(rated.examples)
    for largest in largest_ratios:
        up_to = replace(usual, ratios=tuple(ratio for ratio in largest_ratios if ratio <= largest))
        found[row_up_to(largest)] = up_to.scored(compared)
    return found, compared
