"""Settings of guided decoding: which guidance is compared, and how texts are sampled."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.faults import SettingFault
from core.settings import check_choice, check_count, counts, is_number, is_text, listed, seeds
from oumg.guidance import GuidanceRule


@dataclass(frozen=True)
class Steering:
    """The settings of guidance that are compared.

    Attributes:
        rule: `normalised` (Eq. 5, the strength is alpha) or `fudge` (the strength is lambda).
        strengths: the first is 0, the unguided generator with top-k sampling; the others are compared with it.
        ks: candidates that are scored and kept.
        labels: to steer to; None for all labels of the data.
    """

    rule: GuidanceRule
    strengths: Sequence[float]
    ks: Sequence[int]
    labels: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, GuidanceRule)
        listed("strengths", self.strengths, "finite numbers from 0 on", lambda each: is_number(each) and each >= 0)
        if self.strengths[0] != 0:
            raise SettingFault(f"strengths must begin with 0, the generator alone, but is {list(self.strengths)}")
        counts(self.ks, "ks")
        if self.labels is not None:
            listed("labels", self.labels, "labels, in quotation marks where they are numbers", is_text)


@dataclass(frozen=True)
class TextSampling:
    """How texts are sampled.

    Attributes:
        inputs: the most prompts.
        samples: texts of each prompt, seed, label, strength and k.
        new_tokens: the most new tokens of a text.
        batch_size: texts generated at once.
        seeds: of the draws.
        prompts: None for the prefixes of the data, or the first words of its held-out texts.
        prompt_words: the words of such a prompt, where the data has no prefixes.
    """

    inputs: int
    samples: int
    new_tokens: int
    batch_size: int
    seeds: Sequence[int]
    prompts: Sequence[str] | None = None
    prompt_words: int = 3

    def __post_init__(self) -> None:
        for name in ("inputs", "samples", "new_tokens", "batch_size", "prompt_words"):
            check_count(f"sampling.{name}", getattr(self, name))
        seeds(self.seeds, "sampling.seeds")
        if self.prompts is not None:
            listed("sampling.prompts", self.prompts, "texts to continue, none blank", is_text)
