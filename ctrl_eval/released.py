"""Published values: the example of the released README, and the six texts of Figures 6 and 7.

Computing the example again with google/pegasus-large checks what nothing else does: that vocabulary, mask and weights
fit together as in the paper.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

from core.errors import InputError, fault
from core.example import Example

NAME = "google/pegasus-large"
SHAPE = {
    "model_type": "pegasus",
    "d_model": 1024,
    "encoder_layers": 16,
    "vocab_size": 96103,
}
EXAMPLE = Example(
    "released",
    text="The book is about NLP. It depicts fancy models.",
    prefix="The book",
    label="positive",
)
VALUES = {
    "coherence": -4.723990,
    "consistency": -7.385560,
    "attribute_relevance": 0.891626,
}
TOLERANCE = 1e-3


class Printed(NamedTuple):
    """One value that Figure 6 or 7 prints, for one text of the released sentiment set."""

    text: str  # its id in `data.sets.ctrleval`, whose number is its row, counted from 0
    aspect: str
    metric: str  # the row of the experiment with the same metric
    value: float
    rank: int  # among the 360 texts; the best has 1


FIGURES = (
    Printed("ctrleval-sentiment-016", "coherence", "ctrleval", -1.4495, 3),
    Printed("ctrleval-sentiment-016", "coherence", "perplexity_backbone", 2.6089, 29),
    Printed("ctrleval-sentiment-016", "coherence", "bartscore", -3.2914, 84),
    Printed("ctrleval-sentiment-017", "coherence", "ctrleval", -2.1080, 42),
    Printed("ctrleval-sentiment-017", "coherence", "perplexity_backbone", 2.6052, 28),
    Printed("ctrleval-sentiment-017", "coherence", "bartscore", -2.9722, 22),
    Printed("ctrleval-sentiment-288", "consistency", "ctrleval", -3.2493, 123),
    Printed("ctrleval-sentiment-288", "consistency", "perplexity_backbone", 3.3785, 181),
    Printed("ctrleval-sentiment-288", "consistency", "bartscore", -3.7656, 185),
    Printed("ctrleval-sentiment-295", "consistency", "ctrleval", -4.1035, 259),
    Printed("ctrleval-sentiment-295", "consistency", "perplexity_backbone", 3.0690, 122),
    Printed("ctrleval-sentiment-295", "consistency", "bartscore", -3.5702, 139),
    Printed("ctrleval-sentiment-012", "attribute_relevance", "ctrleval", 0.9326, 97),
    Printed("ctrleval-sentiment-012", "attribute_relevance", "discriminator", 0.9982, 10),
    Printed("ctrleval-sentiment-013", "attribute_relevance", "ctrleval", 0.9858, 38),
    Printed("ctrleval-sentiment-013", "attribute_relevance", "discriminator", 0.9978, 48),
)


def is_released(
    name: str | None,
    config: Any,
    dtype: str,
) -> bool:
    """Whether a model should give the published values: the paper's model, by name and shape, in float32."""
    if name != NAME or dtype != "float32":
        return False
    return all(getattr(config, key, None) == value for key, value in SHAPE.items())


def check_values(values: Mapping[str, float]) -> None:
    """Raises InputError if the values for `EXAMPLE` differ from the published ones; the message says what to report."""
    versions = ", ".join(f"{library} {version(library)}" for library in ("torch", "transformers", "tokenizers"))
    faults: list[str] = []
    for aspect, value in values.items():
        published = VALUES[aspect]
        if not abs(value - published) <= TOLERANCE:
            rule = f"the released README's example must have {aspect} {published:.6f}, but here it has {value:.6f}"
            faults.append(fault(NAME, 0, f"{rule}: report this with {versions} and the files of this model"))
    if faults:
        raise InputError(faults)
