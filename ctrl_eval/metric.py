"""CTRLEval: coherence, consistency and attribute relevance of controlled text as text infilling (Ke et al., ACL 2022).

Higher is better in every aspect. Three departures from the paper follow its released code. A target's score is the mean
of its tokens' log-probabilities, not their sum (Eq. 4), and a label word of several tokens scores exp(mean log P), not
P (Eq. 14-15); `length_norm=sum` is as printed. Only coherence targets include the token that closes a sentence.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from core.errors import ExampleError, SettingError, format_value
from core.example import Example
from core.metric import BaseMetric
from core.scores import Field, Scores, fields_by_settings
from core.settings import Count, Several, checked_dataclass
from core.signature import MODEL_LIBRARIES, Setting
from core.stages import Stages, fingerprint
from ctrl_eval import released
from ctrl_eval.ensemble import Weights, aggregate, relevance_score, relevance_weight, shares
from ctrl_eval.frequency import RELEASED, WordFrequencies, load_frequencies, normalised_isf
from ctrl_eval.patterns import Pattern, coherence_patterns, consistency_patterns, relevance_pattern
from ctrl_eval.prompts import Prompts, load_prompts
from data.sentences import Splitter, make_splitter, split_english
from models.families import PEGASUS, Order
from models.infilling import Infill, Infiller
from models.loading import load_tokenizer
from models.windows import Truncation

log = logging.getLogger(__name__)

Aspect = Literal["coherence", "consistency", "attribute_relevance"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
LengthNorm = Literal["mean", "sum"]
RELEVANCE: Aspect = "attribute_relevance"
READ: dict[Aspect, Field] = {"consistency": "prefix", RELEVANCE: "label"}  # beside the text
Asked = list[tuple[Pattern, Infill]]  # the patterns of one text in one aspect


@dataclass(frozen=True)
class Evaluations:
    """The scores and weights of all patterns of one text in one aspect, which explain its score."""

    scores: Float[NDArray[np.float64], " evaluators"]  # one per evaluator
    weights: Float[NDArray[np.float64], " evaluators"]
    patterns: Sequence[Mapping[str, Any]]  # the question of each evaluator, for readers
    dropped: int  # how many tokens one of them lost at most
    remarks: tuple[str, ...] = ()  # anything unusual about the text

    def explanation(self) -> dict[str, Any]:
        """The scores and weights of the patterns, as JSON values."""
        evaluators: list[dict[str, Any]] = []
        for pattern, score, share in zip(self.patterns, self.scores, shares(self.weights), strict=True):
            evaluators.append(
                {
                    **pattern,
                    "score": float(score),
                    "weight": float(share),
                }
            )
        return {"evaluators": evaluators, "remarks": list(self.remarks)}


def _list_fields(aspects: Sequence[Aspect] = ASPECTS) -> tuple[Field, ...]:
    """The fields that the aspects read besides the text."""
    return tuple(READ[aspect] for aspect in aspects if aspect in READ)


@checked_dataclass
class CTRLEval(BaseMetric):
    """Coherence, consistency and attribute relevance of a text by text infilling; higher is better.

    Each aspect is a weighted mean over patterns (Eq. 1). Coherence and consistency are mean log-probabilities (nats) of
    the target of a pattern, at most 0. Attribute relevance is the share of the label's words among all label words, 0
    to 1.
    """

    name = "ctrleval"
    libraries = MODEL_LIBRARIES
    unsigned = ("token_budget", "kept", "frequencies", "prompts")
    requires = fields_by_settings(_list_fields)
    infiller: Infiller  # the model that fills gaps, loaded after all texts have been checked
    # IWF by token; None weighs all targets of a text alike, which a warning and the signature say
    frequencies: WordFrequencies | None = None
    prompts: Prompts | None = None  # of attribute relevance; None without that aspect
    aspects: Several[Aspect] = ASPECTS  # those to score
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
    # the folder that keeps the values of the released example (`ctrl_eval.released`); None computes them each time
    kept: str | Path | None = None

    def __post_init__(self) -> None:
        if RELEVANCE in self.aspects:
            _ = self._prompts

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = "google/pegasus-large",
        *,
        iwf: str | Path | None = None,
        iwf_tokenizer: str | Path | None = None,
        prompts: str | Path | None = "sentiment",
        aspects: Sequence[Aspect] = ASPECTS,
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
        infiller = Infiller.from_pretrained(model, device, dtype, order)
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

        Raises InputError if google/pegasus-large does not give the published values (`ctrl_eval.released`). Raises
        ExampleError, before the model is loaded, for every text without a sentence, every prefix that does not begin
        its text, every label that the verbalizers lack and, with truncation `error`, every text that does not fit.
        """
        scores = self.scores_of(self.evaluations(examples))
        values = {aspect: column.copy() for aspect, column in scores.values.items()}
        reasons: list[str | None] = list(scores.reasons)
        for i, example in enumerate(examples):
            says_nothing = not any(map(str.isalnum, example.full_text))
            is_dialogue = bool(example.turns) and not example.text
            is_bare = "coherence" in self.aspects and is_dialogue and len(self.split(example.full_text)) == 1
            if says_nothing:
                reasons[i] = "the text has no words"
            elif is_bare:
                reasons[i] = "coherence needs two sentences, but sentence_split finds only one in all turns"
            for aspect in values:
                if says_nothing or (is_bare and aspect == "coherence"):
                    values[aspect][i] = np.nan
        return replace(scores, values=values, reasons=reasons)

    def scores_of(self, evaluations: Mapping[Aspect, Sequence[Evaluations]]) -> Scores:
        """Scores texts from known evaluations: by Eq. 1, or by the alternative that `weights` names."""
        values: dict[str, NDArray[np.float64]] = {}
        for aspect, rows in evaluations.items():
            scores = [aggregate(row.scores, row.weights, self.weights) for row in rows]
            values[aspect] = np.array(scores)
        dropped: list[int] = []
        explanations: list[dict[str, Any]] = []
        for rows in zip(*evaluations.values(), strict=True):
            dropped.append(max(row.dropped for row in rows))
            explanations.append({aspect: row.explanation() for aspect, row in zip(evaluations, rows, strict=True)})
        return Scores(
            values=values,
            signature=self.signature,
            dropped_tokens=dropped,
            explanations=explanations,
            notes=self.infiller.lm.notes,
        )

    def evaluations(self, examples: Sequence[Example]) -> dict[Aspect, list[Evaluations]]:
        """Computes the score and weight of every pattern of each text, by aspect; raises as `score_all` does."""
        faults = [(i, what) for i, example in enumerate(examples) for what in self._find_faults(example)]
        if faults:
            raise ExampleError(faults)
        asked: dict[Aspect, list[Asked]] = {aspect: self._asked(aspect, examples) for aspect in self.aspects}
        if self.truncation == "error":
            self._refuse_long(asked)
        self._check_released_example()
        evaluations: dict[Aspect, list[Evaluations]] = {}
        for aspect, texts in asked.items():
            if aspect == RELEVANCE:
                evaluations[aspect] = self._relevance(examples, texts)
            else:
                evaluations[aspect] = self._by_target(aspect, texts)
            remarks = [remark for row in evaluations[aspect] for remark in row.remarks]
            for remark in dict.fromkeys(remarks):
                log.warning("%s: %d of %d texts: %s", aspect, remarks.count(remark), len(examples), remark)
        return evaluations

    def _check_released_example(self) -> None:
        """`released.check_values` of the model, whatever else the settings are, where its values are published."""
        lm = self.infiller.lm
        if not released.is_released(self.described.get("model"), lm.model.config, lm.dtype):
            return
        has_table = self.frequencies is not None and self.frequencies.corpus == RELEASED
        aspects = ASPECTS if has_table else (RELEVANCE,)
        infiller = replace(self.infiller, family=PEGASUS)
        plain = CTRLEval(
            infiller=infiller,
            frequencies=self.frequencies,
            prompts=load_prompts("sentiment"),
            aspects=aspects,
            token_budget=self.token_budget,
        )

        def compute() -> dict[str, float]:
            values = plain.score([released.EXAMPLE]).values
            return {aspect: float(value[0]) for aspect, value in values.items()}

        if self.kept is None:
            released.check_values(compute())
        else:
            depends = {
                "model": lm.identity,
                "prompts": fingerprint([plain._prompts.prompts, plain._prompts.verbalizers]),
            }
            cache = Stages(Path(self.kept)).open_cache("released_example", depends, code=[CTRLEval])
            released.check_values(cache.get("+".join(aspects), compute))

    @property
    def settings(self) -> dict[str, Setting]:
        prompts = self.prompts
        return {
            **super().settings,
            **self.described,
            "aspects": "+".join(self.aspects),
            "infilling": self.infiller.family.name,
            "iwf": None if self.frequencies is None else self.frequencies.name,
            "prompts": None if prompts is None else fingerprint([prompts.prompts, prompts.verbalizers])[:8],
            "weights": "paper_without_iwf" if self._lacks_frequencies else self.weights,
            "max_length": self.infiller.max_length,
            "identity": self.infiller.lm.identity,
        }

    @property
    def _lacks_frequencies(self) -> bool:
        """Whether the paper's weights are asked for where no table gives them (coherence and consistency)."""
        needs_table = any(aspect != RELEVANCE for aspect in self.aspects)
        return self.weights == "paper" and self.frequencies is None and needs_table

    def _find_faults(self, example: Example) -> Iterator[str]:
        text = example.full_text
        if not self.split(text):
            yield f"a text needs at least one sentence, found {format_value(text)}"
        if "consistency" in self.aspects:
            if not example.prefix or not text.startswith(example.prefix):
                yield f"the prefix must begin the text, found {format_value(example.prefix)} and {format_value(text)}"
            elif not text[len(example.prefix) :].strip():
                yield f"consistency needs text after the prefix, found {format_value(text)}"
        if RELEVANCE in self.aspects and example.label not in self._prompts.labels:
            labels = ", ".join(self._prompts.labels)
            yield f"the label must be one of {labels}, found {format_value(example.label)}"

    def _asked(self, aspect: Aspect, examples: Sequence[Example]) -> list[Asked]:
        """The patterns of every text in one aspect, as text and as token ids."""
        of_texts = [self._patterns(aspect, example) for example in examples]
        patterns = list(chain.from_iterable(of_texts))
        gaps = [(pattern.before, pattern.target, pattern.after) for pattern in patterns]
        infills = self.infiller.encode(gaps, closed=aspect == "coherence")
        pairs = zip(patterns, infills, strict=True)
        return [list(islice(pairs, len(text))) for text in of_texts]

    def _patterns(self, aspect: Aspect, example: Example) -> list[Pattern]:
        text = example.full_text
        if aspect == "coherence":
            return coherence_patterns(self.split(text))
        if aspect == "consistency":
            return consistency_patterns(example.prefix or "", text)
        prompts = self._prompts
        patterns = [relevance_pattern(prompt, text) for prompt in prompts.prompts]
        return [replace(pattern, target=word) for pattern in patterns for word in prompts.words]

    @property
    def _prompts(self) -> Prompts:
        if self.prompts is None:
            raise SettingError(f"{RELEVANCE} needs prompts and verbalizers; set them, or leave the aspect out")
        return self.prompts

    def _refuse_long(self, asked: Mapping[Aspect, Sequence[Asked]]) -> None:
        """Raises ExampleError for texts that take more tokens than the model reads."""
        max_length = self.infiller.max_length
        rule = f"the model reads {max_length} tokens at once, but this text takes"
        faults: list[tuple[int, str]] = []
        for i, patterns_by_aspect in enumerate(zip(*asked.values(), strict=True)):
            needed = max(infill.longest for _, infill in chain.from_iterable(patterns_by_aspect))
            if needed > max_length:
                faults.append((i, f"{rule} {needed}; set truncation to window or warn"))
        if faults:
            raise ExampleError(faults)

    def _by_target(self, aspect: Aspect, texts: Sequence[Asked]) -> list[Evaluations]:
        """Coherence and consistency: the log-probability of each target, weighted by how much the target says."""
        family = self.infiller.family
        evaluations: list[Evaluations] = []
        for text, scores, dropped in zip(texts, *self._score_targets(texts), strict=True):
            isf = np.ones(len(text))
            if self.frequencies is not None:
                isf = self.frequencies.weigh([pattern.target for pattern, _ in text])
            remarks = []
            if aspect == "coherence" and len(text) == 1:
                remarks.append("a text of one sentence leaves only the mask to read")
            if self._lacks_frequencies:
                remarks.append("no table of word frequencies (iwf), so all targets weigh alike")
            if not isf.any():
                remarks.append("all weights are zero; its evaluators weigh alike")
            questions: list[dict[str, str]] = []
            for pattern, _ in text:
                source = family.show(pattern.before, pattern.after)
                questions.append({"source": source, "target": pattern.target})
            evaluations.append(
                Evaluations(
                    scores=scores,
                    weights=normalised_isf(isf),
                    patterns=questions,
                    dropped=dropped,
                    remarks=tuple(remarks),
                )
            )
        return evaluations

    def _score_targets(self, texts: Sequence[Asked]) -> tuple[list[NDArray[np.float64]], list[int]]:
        """Per text, the log-probabilities of its targets or label words, and how many tokens a pattern lost at most.

        The mean or the sum over tokens (Eq. 4, 14-15).
        """
        around = self.truncation == "window"
        infills: list[Infill] = []
        dropped: list[int] = []
        for text in texts:
            cut = [infill.cut(self.infiller.max_length, around) for _, infill in text]
            infills += [infill for infill, _ in cut]
            dropped.append(max(lost for _, lost in cut))
        rows = self.infiller.log_probabilities(infills, self.token_budget)
        normalise = np.mean if self.length_norm == "mean" else np.sum
        values = np.array([float(normalise(row, dtype=np.float64)) for row in rows])
        of_texts: list[NDArray[np.float64]] = []
        start = 0
        for text in texts:
            of_texts.append(values[start : start + len(text)])
            start += len(text)
        return of_texts, dropped

    def _relevance(self, examples: Sequence[Example], texts: Sequence[Asked]) -> list[Evaluations]:
        """Attribute relevance (Eq. 12-17)."""
        prompts = self._prompts
        evaluations: list[Evaluations] = []
        for example, log_p, dropped in zip(examples, *self._score_targets(texts), strict=True):
            probabilities = np.exp(log_p).reshape(len(prompts.prompts), len(prompts.words))
            label = prompts.labels.index(example.label or "")
            scores: list[float] = []
            weights: list[float] = []
            questions: list[dict[str, Any]] = []
            for verbalizer in prompts.verbalizers:
                columns = [prompts.words.index(word) for word in verbalizer]
                for row, prompt in zip(probabilities[:, columns], prompts.prompts, strict=True):
                    scores.append(relevance_score(row, label))
                    weights.append(relevance_weight(row))
                    questions.append({"prompt": prompt, "words": list(verbalizer)})
            evaluations.append(Evaluations(np.array(scores), np.array(weights), questions, dropped))
        return evaluations
