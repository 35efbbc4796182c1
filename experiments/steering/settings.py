"""Settings of guided decoding: which guidance is compared, and how texts are sampled."""

from core.settings import Count, NonNegative, Seed, Several, Text, checked_dataclass
from oumg.guidance import GuidanceRule


@checked_dataclass
class Steering:
    """The settings of guidance that are compared.

    Attributes:
        rule: `normalised` (Eq. 5, the strength is alpha) or `fudge` (the strength is lambda).
        strengths: the first is 0, the unguided generator with top-k sampling; the others are compared with it.
        ks: candidates that are scored and kept.
        labels: to steer to; None for all labels of the data.
    """

    rule: GuidanceRule
    strengths: Several[NonNegative]
    ks: Several[Count]
    labels: Several[Text] | None = None

    def __post_init__(self) -> None:
        if self.strengths[0] != 0:
            raise ValueError(f"strengths must begin with 0, the generator alone, but is {list(self.strengths)}")


@checked_dataclass
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

    inputs: Count
    samples: Count
    new_tokens: Count
    batch_size: Count
    seeds: Several[Seed]
    prompts: Several[Text] | None = None
    prompt_words: Count = 3
