"""Self-planning as an augmenter: a causal language model and how it fills blanks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from language_models.causal import CausalLM
from language_models.identity import weights_fingerprint
from mars.augmentation import augment
from mars.cloze import Augmentation, Augmented, Job


@dataclass(frozen=True)
class SelfPlanningAugmenter:
    """Cloze augmentation by generate, judge and revise (MARS, section 2.2); see `Augmentation` for the settings."""

    lm: CausalLM
    settings: Augmentation
    token_budget: int = 16_384

    @property
    def depends(self) -> dict[str, Any]:
        """What a filled reference depends on beside its job."""
        return {"augmenter": "self_planning", "model": self._weights, **asdict(self.settings)}

    @cached_property
    def _weights(self) -> str:
        return weights_fingerprint(self.lm.model)

    def but(self, **changes: Any) -> "SelfPlanningAugmenter":
        """The same model with other settings."""
        return replace(self, settings=replace(self.settings, **changes))

    def augment(self, jobs: Sequence[Job]) -> list[Augmented]:
        """The augmented references of the jobs, in their order. Raises as `mars.augmentation.augment` does."""
        return augment(self.lm, jobs, self.settings, self.token_budget)
