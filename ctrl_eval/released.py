"""Published values: the six texts of Figures 6 and 7."""

from typing import NamedTuple


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
