"""CTRLEval: coherence, consistency and attribute relevance of controlled text as text infilling (Ke et al., ACL 2022).

Higher is better in every aspect. Three departures from the paper follow its released code. A target's score is the mean
of its tokens' log-probabilities, not their sum (Eq. 4), and a label word of several tokens scores exp(mean log P), not
P (Eq. 14-15); `length_norm=sum` is as printed. Only coherence targets include the token that closes a sentence.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import ExampleError, format_value
from core.example import Example
from core.metric import BaseMetric
from core.scores import Field, Scores, fields_by_settings
from core.settings import Count, Several, check, checked_dataclass, one_of
from core.signature import MODEL_LIBRARIES, Setting
from core.stages import fingerprint
from ctrl_eval.aspects import ASPECTS, RELEVANCE, Evaluations, Material, find_prompts
from ctrl_eval.ensemble import Weights, aggregate
from ctrl_eval.frequency import WordFrequencies, load_frequencies
from ctrl_eval.patterns import Pattern
from ctrl_eval.prompts import Prompts, load_prompts
from data.sentences import Splitter, make_splitter, split_english
from models.families import Order
from models.infilling import Infill, Infiller
from models.loading import load_tokenizer
from models.windows import Truncation

log = logging.getLogger(__name__)

LengthNorm = Literal["mean", "sum"]


@dataclass(frozen=True)
class Asked:
    """What one aspect asks about all texts."""

    patterns: list[list[Pattern]]  # of each text
    infills: list[Infill]  # of the patterns of all texts

    def split(self, values: Sequence[Any]) -> list[NDArray[Any]]:
        """Splits a value for each pattern into an array for each text."""
        ends = np.cumsum([len(of_text) for of_text in self.patterns])
        return np.split(np.array(values), ends)[:-1]


def _list_fields(aspects: Sequence[str] = tuple(ASPECTS)) -> tuple[Field, ...]:
    """The fields that the aspects read besides the text."""
    fields: list[Field] = []
    for aspect in aspects:
        if aspect in ASPECTS:
            fields += ASPECTS[aspect].reads
    return tuple(fields)


@checked_dataclass
class CTRLEval(BaseMetric):
    """Coherence, consistency and attribute relevance of a text by text infilling; higher is better.

    Each aspect is a weighted mean over patterns (Eq. 1). Coherence and consistency are mean log-probabilities (nats) of
    the target of a pattern, at most 0. Attribute relevance is the share of the label's words among all label words, 0
    to 1.
    """

    name = "ctrleval"
    libraries = MODEL_LIBRARIES
    unsigned = ("token_budget", "frequencies", "prompts")
    requires = fields_by_settings(_list_fields)
    infiller: Infiller  # the model that fills gaps, loaded after all texts have been checked
    # IWF by token; None weighs all targets of a text alike, which a warning and the signature say
    frequencies: WordFrequencies | None = None
    prompts: Prompts | None = None  # of attribute relevance; None without that aspect
    aspects: Several[str] = tuple(ASPECTS)  # those to score (`ctrl_eval.aspects`)
    split: Splitter = split_english  # text into sentences
    # the log-probability of a target or a label word is the mean (as released) or the sum (Eq. 4, 14-15, as printed)
    # over its tokens.
    length_norm: LengthNorm = "mean"
    weights: Weights = "paper"  # `paper` (Eq. 5, 15-17), or mean, max, min instead (Table 5).
    # `error` refuses a text that does not fit, before the model is loaded; `window` keeps the tokens nearest to the
    # gap; `warn` cuts the end of the source, never the gap. Cut tokens are counted.
    truncation: Truncation = "error"
    token_budget: Count = 2048  # padded tokens in a batch; on a CPU small batches that stay in its caches are faster
    described: Mapping[str, str | None] = field(default_factory=dict)  # settings for the signature

    def __post_init__(self) -> None:
        check(Several[one_of(ASPECTS)], aspects=self.aspects)
        if RELEVANCE in self.aspects:
            find_prompts(self.material)

    @property
    def material(self) -> Material:
        """What the aspects need beside a text."""
        return Material(
            self.split,
            self.prompts,
            self.frequencies,
            self.weights,
            self.infiller.family,
        )

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = "google/pegasus-large",
        *,
        iwf: str | Path | None = None,
        iwf_tokenizer: str | Path | None = None,
        prompts: str | Path | None = "sentiment",
        aspects: Sequence[str] = tuple(ASPECTS),
        sentence_split: str = "english",
        order: Order | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        **settings: Any,
    ) -> "CTRLEval":
        """Builds the metric on a PEGASUS, T5, BART or causal model, by hub name or folder.

        A causal model fills in the middle where its vocabulary has the tokens for it (Qwen2.5-Coder, StarCoder,
        CodeGemma and others of `models.families`). Otherwise, or with `order=left-to-right`, it reads only what
        precedes a gap, and the signature says so. `iwf` is a table (`frequency.load_frequencies`) of the tokens of
        `iwf_tokenizer`, or of `model`; without one all targets weigh alike. `prompts` is `sentiment`, `topic` or a YAML
        file, `sentence_split` as in `make_splitter`. `settings` are the other fields. The weights are loaded by the
        first `score`.

        Raises InputError for a faulty file, SettingError for a faulty setting, MissingModelError for a missing model.
        """
        known_prompts = load_prompts(prompts) if prompts is not None else None
        split = make_splitter(sentence_split)
        infiller = Infiller.from_pretrained(
            model,
            device,
            dtype,
            order,
        )
        tokenizer = infiller.tokenizer
        if iwf_tokenizer is not None:
            tokenizer = load_tokenizer(iwf_tokenizer)
        return cls(
            infiller=infiller,
            frequencies=load_frequencies(iwf, tokenizer) if iwf is not None else None,
            prompts=known_prompts,
            aspects=tuple(aspects),
            split=split,
            described={"model": str(model), "sentence_split": fingerprint(sentence_split)[:8]},
            **settings,
        )

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """Computes one score per example and aspect; the scores of all patterns are the explanation.

        Coherence and consistency are log-probabilities in nats (at most 0), attribute relevance is in [0, 1].

        A text without words gets NaN. So does the coherence of a dialogue with one sentence, because nothing remains
        around the mask. A text with one sentence gets a number, as in the released code, and a remark.

        Raises ExampleError, before the model is loaded, for every text without a sentence, every prefix that does not
        begin its text, every label that the verbalizers lack and, with truncation `error`, every text that does not
        fit.
        """
        return self.scores_of(self.evaluations(examples))

    def scores_of(self, evaluations: Mapping[str, Sequence[Evaluations]]) -> Scores:
        """Scores texts from known evaluations: by Eq. 1, or by the alternative that `weights` names."""
        values: dict[str, list[float]] = {}
        for aspect, rows in evaluations.items():
            scores = [aggregate(row.scores, row.weights, self.weights) for row in rows]
            values[aspect] = [np.nan if row.reason else score for row, score in zip(rows, scores, strict=True)]
        reasons: list[str | None] = []
        dropped: list[int] = []
        explanations: list[dict[str, Any]] = []
        for rows in zip(*evaluations.values(), strict=True):
            lacks = [row.reason for row in rows if row.reason]
            reasons.append(lacks[-1] if lacks else None)
            dropped.append(max(row.dropped for row in rows))
            explanations.append({aspect: row.explanation() for aspect, row in zip(evaluations, rows, strict=True)})
        return Scores(
            values={aspect: np.array(column) for aspect, column in values.items()},
            signature=self.signature,
            reasons=reasons,
            dropped_tokens=dropped,
            explanations=explanations,
            notes=self.infiller.lm.notes,
        )

    def evaluations(self, examples: Sequence[Example]) -> dict[str, list[Evaluations]]:
        """Computes the score and weight of every pattern of each text, by aspect; raises as `score_all` does."""
        faults: list[tuple[int, str]] = []
        for i, example in enumerate(examples):
            if not self.split(example.full_text):
                faults.append((i, f"a text needs at least one sentence, found {format_value(example.full_text)}"))
            for aspect in self.aspects:
                faults += [(i, what) for what in ASPECTS[aspect].find_faults(example, self.material)]
        if faults:
            raise ExampleError(faults)
        asked = {aspect: self._ask(aspect, examples) for aspect in self.aspects}
        if self.truncation == "error":
            self._refuse_long(asked.values())
        evaluations: dict[str, list[Evaluations]] = {}
        for aspect, patterns in asked.items():
            rows: list[Evaluations] = []
            scored = self._score_targets(patterns)
            for example, of_text, log_p, dropped in zip(
                examples,
                patterns.patterns,
                *scored,
                strict=True,
            ):
                found = ASPECTS[aspect].evaluate(
                    example,
                    of_text,
                    log_p,
                    self.material,
                )
                reason = ASPECTS[aspect].find_reason(example, self.material)
                rows.append(replace(found, dropped=int(dropped.max()), reason=reason))
            evaluations[aspect] = rows
            remarks = [remark for row in rows for remark in row.remarks]
            for remark in dict.fromkeys(remarks):
                log.warning(
                    "%s: %d of %d texts: %s",
                    aspect,
                    remarks.count(remark),
                    len(examples),
                    remark,
                )
        return evaluations

    @property
    def settings(self) -> dict[str, Setting]:
        prompts = self.prompts
        weigh_words = any(ASPECTS[aspect].weighs_words for aspect in self.aspects)
        lacks_frequencies = weigh_words and self.material.lacks_frequencies
        return {
            **super().settings,
            **self.described,
            "aspects": "+".join(self.aspects),
            "infilling": self.infiller.family.name,
            "iwf": None if self.frequencies is None else self.frequencies.name,
            "prompts": None if prompts is None else fingerprint([prompts.prompts, prompts.verbalizers])[:8],
            "weights": "paper_without_iwf" if lacks_frequencies else self.weights,
            "max_length": self.infiller.max_length,
            "identity": self.infiller.lm.identity,
        }

    def _ask(self, aspect: str, examples: Sequence[Example]) -> Asked:
        """The patterns of every text in one aspect, as text and as token ids."""
        patterns = [ASPECTS[aspect].patterns(example, self.material) for example in examples]
        gaps = [(pattern.before, pattern.target, pattern.after) for pattern in chain.from_iterable(patterns)]
        return Asked(patterns, self.infiller.encode(gaps, closed=ASPECTS[aspect].is_closed))

    def _refuse_long(self, asked: Iterable[Asked]) -> None:
        """Raises ExampleError for texts that take more tokens than the model reads."""
        max_length = self.infiller.max_length
        rule = f"the model reads {max_length} tokens at once, but this text takes"
        by_aspect = [patterns.split([infill.longest for infill in patterns.infills]) for patterns in asked]
        faults: list[tuple[int, str]] = []
        for i, of_text in enumerate(zip(*by_aspect, strict=True)):
            needed = np.concatenate(of_text).max()
            if needed > max_length:
                faults.append((i, f"{rule} {needed}; set truncation to window or warn"))
        if faults:
            raise ExampleError(faults)

    def _score_targets(self, asked: Asked) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
        """Per text, the log-probabilities of its targets or label words, and how many tokens each pattern lost.

        The mean or the sum over tokens (Eq. 4, 14-15).
        """
        around = self.truncation == "window"
        cut = [infill.cut(self.infiller.max_length, around) for infill in asked.infills]
        rows = self.infiller.log_probabilities([infill for infill, _ in cut], self.token_budget)
        normalise = np.mean if self.length_norm == "mean" else np.sum
        log_p = [float(normalise(row, dtype=np.float64)) for row in rows]
        return asked.split(log_p), asked.split([lost for _, lost in cut])
