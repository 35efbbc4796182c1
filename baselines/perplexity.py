"""Perplexity of a text under a causal language model or an encoder-decoder model.

Scores are mean log-probabilities per token, -log(perplexity), so that higher is better; in nats, at most 0. They
compare texts under one model only: another tokenizer counts other tokens.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from baselines.pairs import ModelMetric, to_quality
from core.example import Example
from core.scores import Scores
from core.settings import checked_dataclass
from core.signature import Setting
from models.causal import CausalLM
from models.infilling import Infiller
from models.model import plain_token_ids
from models.windows import CutTruncation, overlapping_windows, refuse_cut

RAW_IS_LOWER = "the perplexity itself, as in the paper: lower is better, so a negative correlation is good"


@checked_dataclass
class Perplexity(ModelMetric):
    """The mean log-probability of the text's tokens under a causal model, in nats; at most 0, higher is better.

    A text follows the model's start token, so that its first token counts too; a long one is scored in overlapping
    windows. NaN for a text without tokens.
    """

    name = "perplexity"
    loader = CausalLM

    def score_all(self, examples: Sequence[Example]) -> Scores:
        ids = plain_token_ids(self.lm.tokenizer, [example.full_text.strip() for example in examples])
        fitted = [overlapping_windows(row, self.lm.max_length) for row in ids]
        flat = [window for windows in fitted for window in windows]
        rows = iter(self.lm.log_probabilities(flat, token_budget=self.token_budget))
        values: list[NDArray[np.float32]] = []
        for windows in fitted:
            of_windows = [next(rows) for _ in windows]
            values.append(np.concatenate(of_windows))
        return to_quality(
            values,
            self.signature,
            [0] * len(examples),
            self.notes,
        )


@checked_dataclass
class InfillingPerplexity(ModelMetric):
    """The mean log-probability of a text that fills an otherwise empty gap (CTRLEval's PPL-PEGASUS); higher is better.

    The paper does not say how to compute the perplexity of an encoder-decoder model. Here the source is only the
    model's mask, and the whole text is the target that fills it, in the form of the model's family; the tokens that
    frame or end a segment are not scored. NaN for a text without tokens.
    """

    name = "perplexity_seq2seq"
    loader = Infiller
    # the beginning of a text that is too long is scored (`warn`), or it is refused (`error`)
    truncation: CutTruncation = "warn"

    @property
    def settings(self) -> dict[str, Setting]:
        return super().settings | {"max_length": self.lm.max_length, "infilling": self.lm.family.name}

    def score_all(self, examples: Sequence[Example]) -> Scores:
        infiller: Infiller = self.lm
        infills = infiller.encode([("", example.full_text.strip(), "") for example in examples])
        # What ends a segment is not scored and need not be read.
        short = [replace(infill, target=infill.target[: infill.stop]) for infill in infills]
        cut = [infill.cut(infiller.max_length, around=False) for infill in short]
        dropped = [lost for _, lost in cut]
        rule = f"the model writes {infiller.max_length} tokens at once, but the text has more"
        refuse_cut(self.truncation, rule, dropped)
        scored = infiller.log_probabilities([infill for infill, _ in cut], self.token_budget)
        return to_quality(
            scored,
            self.signature,
            dropped,
            self.notes,
        )


def to_raw_perplexity(scores: Scores) -> Scores:
    """Turns scores that are -log(perplexity) into perplexities; lower is better, as in the paper's tables."""
    raw = {aspect: np.exp(-values) for aspect, values in scores.values.items()}
    return Scores(
        raw,
        f"{scores.signature}|scale=perplexity",
        scores.reasons,
        scores.dropped_tokens,
    )
