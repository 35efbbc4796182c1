"""Likelihood: how probable a model finds a text, per token. What CDM must beat with either of its models alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from core.scores import Scores, fields
from core.signature import MODEL_LIBRARIES, Setting, signature

NO_TOKENS = "the text has no tokens to score"


class TokenModel(Protocol):
    """A built model that knows how probable every token of an example is."""

    def token_log_probabilities(
        self, examples: Sequence[Example]
    ) -> tuple[Sequence[NDArray[np.floating]], Sequence[int]]:
        """Per example the log-probabilities (nats) of its tokens, of shape (tokens,), and how many tokens were cut.

        In the order of the examples, the same for any batch size.
        """
        ...


@dataclass(frozen=True)
class Likelihood:
    """Scores an example by the mean log-probability of its tokens (nats, at most 0, higher is better).

    Attributes:
        name: the metric's name in tables, such as `expert_likelihood`.
        model: gives the log-probabilities.
        settings: what the signature says of the model, such as `{"model": "t5-base"}`.
    """

    requires = fields()
    name: str
    model: TokenModel
    settings: Mapping[str, Setting] = field(default_factory=dict, hash=False)

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN for an example without tokens. Raises ValueError as `likelihood_scores` does."""
        log_probabilities, dropped = self.model.token_log_probabilities(examples)
        return likelihood_scores(log_probabilities, dropped, self.name, self.settings)


def likelihood_scores(
    log_probabilities: Sequence[NDArray[np.floating]],
    dropped_tokens: Sequence[int],
    name: str,
    settings: Mapping[str, Setting],
) -> Scores:
    """The scores of examples whose token log-probabilities are known already; see `Likelihood`.

    Raises ValueError for a log-probability that is above 0 or not finite.
    """
    for i, tokens in enumerate(log_probabilities):
        wrong = tokens[~(np.isfinite(tokens) & (tokens <= 1e-5))]  # float32 rounds a certain token to just above 0
        if wrong.size:
            raise ValueError(
                f"a log-probability must be finite and at most 0, but {name} has {wrong[0]} in example {i}"
            )
    values = [float(np.mean(tokens, dtype=np.float64)) if len(tokens) else math.nan for tokens in log_probabilities]
    return Scores(
        {"quality": np.array(values, dtype=np.float64)},
        signature(name, libraries=MODEL_LIBRARIES, **settings),
        reasons=[None if len(tokens) else NO_TOKENS for tokens in log_probabilities],
        dropped_tokens=dropped_tokens,
    )
