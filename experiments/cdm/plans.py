"""Plans of CDM: which pair of models, which negatives, and which models learn from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from cdm.amr import Graphs
from cdm.infilling import Untrained
from cdm.rules import Rule
from cdm.sampling import Sampling
from cdm.segments import Strategy
from core.errors import InputError, SettingError
from core.settings import Count, Positive, Several, check, checked_dataclass, one_of
from experiments.training import DiscriminatorPlan, LanguageModelPlan, Pretrained


@checked_dataclass
class NegativesPlan:
    """Which negatives the discriminators learn from, and how they are made."""

    strategy: Strategy  # where and how often a dialogue is manipulated
    sampling: Sampling  # how segments are drawn from the degraded distribution
    # how many training dialogues get a negative; one is held out from the discriminators, so at least 2
    dialogues: Annotated[int, Field(ge=2)]
    # longer dialogues are cut into windows of at most this many turns; None keeps them whole
    turns: Annotated[int, Field(ge=2)] | None = None
    graphs: str | None = None  # for `amr-multi`, a file of AMR graphs in PENMAN notation with alignments (`cdm.amr`)

    def __post_init__(self) -> None:
        if (self.strategy == "amr-multi") != (self.graphs is not None):
            raise ValueError(
                "graphs must be a file of AMR graphs for amr-multi, as a parser such as amrlib writes it (see "
                "cdm/amr.py), and null for any other strategy, but the strategy is "
                f"{self.strategy} and graphs is {self.graphs}"
            )

    def read_graphs(self) -> Graphs | None:
        """Reads the file `graphs`; None if the plan names no file. Raises InputError for a missing file."""
        if self.graphs is None:
            return None
        if not Path(self.graphs).is_file():
            raise InputError([f"{self.graphs}: model.negatives.graphs must name a file, but there is none"])
        return Graphs.read(Path(self.graphs))

    @property
    def writer(self) -> str:
        """Names the distribution that draws segments: the contrast of both models, or one model (CDM, Table 5)."""
        alone = {-1.0: "expert alone", 0.0: "amateur alone"}
        return alone.get(self.sampling.gamma, "contrast")

    def without_contrast(self) -> "NegativesPlan":
        """Returns the same plan with negatives drawn by the amateur alone: the paper's baseline (CDM, Table 5)."""
        sampling = replace(self.sampling, gamma=0.0, plausibility=0.0)
        return replace(self, sampling=sampling)


@checked_dataclass
class PoolerPlan:
    """What the classifier pooler learns from: whole held-out dialogues and their negatives by a rule."""

    dialogues: Count  # how many held-out dialogues, at most
    strength: Positive = 0.1  # scikit-learn's C
    negatives: Rule = "deam_like"


@dataclass(frozen=True)
class DiscrepancyPlan(LanguageModelPlan):
    """The plan to train one model of an amateur-expert pair, and keep the epoch with the largest discrepancy.

    The discrepancy is the amateur's held-out loss minus the expert's. The authors' trainer keeps the same epoch.
    """

    # the amateur's held-out loss after each epoch, in nats per token; None for the amateur, which keeps every epoch
    against: Sequence[float] | None = None

    def checkpoint_options(self) -> Mapping[str, Any]:
        """Returns the options of the checkpoint.

        The amateur keeps every epoch, the expert the epoch with the largest discrepancy.
        """
        return {"against": self.against, "every_epoch": self.against is None}


KeptEpoch = Literal["loss", "discrepancy"]


@dataclass(frozen=True)
class CdmPlan:
    """The models of CDM and what they learn from."""

    # the pair, which learns `cdm.infilling.Gaps`, or a pretrained one; both must have one vocabulary
    amateur: LanguageModelPlan | Pretrained
    expert: LanguageModelPlan | Pretrained
    negatives: NegativesPlan  # what the discriminators learn from
    discriminators: Mapping[str, DiscriminatorPlan]  # by name; each gives the row `cdm_generative_NAME`
    pooler: PoolerPlan  # what the classifier pooler learns from
    # earlier metrics, whose negatives rules make (`cdm.rules`); every discriminator learns these too
    rules: Sequence[Rule]
    device: str  # where the trained models score and sample; the trainer's settings say where they train
    dtype: str  # of the weights of the pair while it scores and samples
    chosen: str  # how the default settings were chosen, a phrase that stands beside every result
    # which epoch of the pair is kept: that of the lowest held-out loss of each model, or of both that of the largest
    # discrepancy (`DiscrepancyPlan`)
    keep: KeptEpoch = "loss"
    # which of the discriminators also learn negatives of the amateur alone, the paper's baseline (Table 5); None for
    # no baseline
    baseline: Sequence[str] | None = None
    # how a pretrained pair reads dialogues; None for a pair that learned gaps
    untrained: Untrained | None = None

    def __post_init__(self) -> None:
        if self.baseline is not None:
            check(Several[one_of(tuple(self.discriminators))], baseline=self.baseline)
        check(KeptEpoch, keep=self.keep)
        check(Sequence[Rule], rules=self.rules)
        if self.keep == "discrepancy":
            self._check_discrepancy()

    def _check_discrepancy(self) -> None:
        """Raises SettingError unless amateur and expert are trained here, for the same epochs, with whole weights."""
        if isinstance(self.amateur, Pretrained) or isinstance(self.expert, Pretrained):
            raise SettingError("keep=discrepancy chooses an epoch, but a pretrained pair has none: set keep=loss")
        amateur = self.amateur.schedule
        expert = self.expert.schedule
        if amateur.epochs != expert.epochs or amateur.lora is not None:
            raise SettingError(
                "keep=discrepancy compares amateur and expert after the same epochs and keeps all weights of the "
                f"amateur: set as many epochs for both (they are {amateur.epochs} and {expert.epochs}) and "
                "amateur.schedule.lora=null, or keep=loss"
            )
