"""The rows of MARS in its tables: the metric, its ablations, Naive, word vectors, other masking ratios."""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path

from core.scores import Scores
from core.settings import AscendingRatios, Count, Positive, checked_dataclass
from data.corpus import RatedSet
from experiments.mars.findings import name_ratio_row
from mars.augmentation import SelfPlanningAugmenter
from mars.cloze import Augmentation, Augmenter
from mars.documents import load_documents
from mars.masking import Masking
from mars.metric import MARS, RATIOS, Compared
from mars.naive import NaiveAugmenter
from mars.tagging import load_tagger
from models.causal import CausalLM
from models.encoders import CachedEmbedder, load_embedder
from models.masked import MaskedLM

MetricMaker = Callable[[Augmenter, str], MARS]
"""Makes the metric from an augmenter and the name of its model."""


@checked_dataclass
class MetricPlan:
    """Settings of MARS; its language model may still have to be trained.

    Attributes:
        encoder: `offline`, a hub name, a folder, or a file of word vectors.
        ratios: masking ratios lambda, ascending from 0.
        q: the weight of each ratio relative to the one before (Eq. 7).
        documents: a corpus or table for the IDF of Eq. 1; None takes the references of each rated set.
        masking: which words are masked first, and at what cost.
        augmentation: how self-planning fills blanks.
        tagger: `builtin`, `nltk` or `spacy:MODEL`.
        token_budget: padded tokens in a batch.
        device, dtype: of the models.
    """

    encoder: str = "offline"
    ratios: AscendingRatios = RATIOS
    q: Positive = 0.8
    documents: str | None = None
    masking: Masking = field(default_factory=Masking)
    augmentation: Augmentation = field(default_factory=Augmentation)
    tagger: str = "builtin"
    token_budget: Count = 8192
    device: str = "cpu"
    dtype: str = "float32"

    def load(self, kept: Path) -> MetricMaker:
        """Loads everything but the language model; the folder of stages `kept` gets augmented references.

        Raises InputFaults for a tagger, an encoder or a corpus that is missing.
        """
        tagger = load_tagger(self.tagger)
        embedder = CachedEmbedder(load_embedder(self.encoder, device=self.device, dtype=self.dtype))
        documents = None if self.documents is None else load_documents(self.documents)
        ratios = tuple(map(float, self.ratios))

        def make(augmenter: Augmenter, model: str) -> MARS:
            described = {"language_model": model, "encoder": self.encoder}
            return MARS(augmenter, embedder, tagger, described, ratios, self.q, kept, documents, self.masking)

        return make


@checked_dataclass
class Analyses:
    """Which further rows and sets an experiment has.

    Attributes:
        largest_ratios: masking ratios of Table 5 from 0 on; each is the largest one of a row (`mars_to_20` and so on).
        adversaries: whether Reorder and Retrieve are scored, as sets of their own with the ratings of the originals.
        clean: whether hashtags and URLs are removed from the rated texts first (section 3).
        static_encoder: whose input embeddings take the encoder's place in `mars_static`; None leaves the row out.
    """

    largest_ratios: AscendingRatios = (0.0, 0.2, 0.4, 0.6, 0.8)
    adversaries: bool = True
    clean: bool = False
    static_encoder: str | None = "offline"


def make_variants(
    plan: MetricPlan, make: MetricMaker, lm: CausalLM, language_model: str, masked: str | None
) -> dict[str, MARS]:
    """MARS, its ablations and, with a masked model, Naive, by their rows."""
    changes = {
        "mars": {},
        "mars_without_planning": {"planning_steps": 0},
        "mars_without_context": {"use_context": False},
        "mars_without_both": {"planning_steps": 0, "use_context": False},
    }
    found: dict[str, MARS] = {}
    for row, change in changes.items():
        settings = replace(plan.augmentation, **change)
        found[row] = make(SelfPlanningAugmenter(lm, settings, plan.token_budget), language_model)
    if masked is not None:
        filler = MaskedLM.from_pretrained(masked, plan.device, plan.dtype)
        found["mars_naive"] = make(NaiveAugmenter(filler, plan.augmentation.use_context, plan.token_budget), masked)
    return found


def score_variants(
    variants: Mapping[str, MARS], rated: RatedSet, analyses: Analyses, plan: MetricPlan
) -> tuple[dict[str, Scores], list[Compared]]:
    """The scores of all rows, and the cosines of `mars` at all ratios of Table 5."""
    usual = variants["mars"]
    compared = replace(usual, ratios=tuple(sorted({*usual.ratios, *analyses.largest_ratios}))).compare(rated.examples)
    # Each variant compares anew: at the wider ratios above, some references may be too long.
    found = {row: variant.score(rated.examples) for row, variant in variants.items()}
    if analyses.static_encoder is not None:
        static = load_embedder(analyses.static_encoder, True, plan.device, plan.dtype)
        found["mars_static"] = replace(usual, embedder=static).score(rated.examples)
    for largest in analyses.largest_ratios:
        up_to = replace(usual, ratios=tuple(ratio for ratio in analyses.largest_ratios if ratio <= largest))
        found[name_ratio_row(largest)] = up_to.score_compared(compared)
    return found, compared
