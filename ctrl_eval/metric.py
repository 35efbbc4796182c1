"""CTRLEval: coherence, consistency and attribute relevance of controlled text as text infilling (Ke et al., ACL 2022).

Higher is better in every aspect. Departures from the paper that its released code makes, kept here: a target's score
is the mean of its tokens' log-probabilities, not their sum (Eq. 4; `length_norm=sum` is as printed); what closes a
sentence is a token of coherence targets only; a label word of several tokens scores exp(mean log P).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from ctrl_eval.ensemble import Weights, aggregate, relevance_score, relevance_weight
from ctrl_eval.frequency import WordFrequencies, check_length, load_frequencies, normalised_isf, target_isf
from ctrl_eval.patterns import Pattern, coherence_patterns, consistency_patterns, relevance_pattern
from ctrl_eval.prompts import Prompts, load_prompts
from ctrl_eval.sentences import Splitter, english, splitter
from data.example import Example
from data.faults import ExampleFaults, shown
from data.scores import Scores
from data.signature import MODEL_LIBRARIES, signature
from data.stages import fingerprint
from language_models.infilling import Convention, Infill, convention_of, encode_infills, segment_tokens
from language_models.label_words import label_word_log_probabilities
from language_models.seq2seq import Seq2SeqLM, target_log_probabilities

log = logging.getLogger(__name__)

Aspect = Literal["coherence", "consistency", "attribute_relevance"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
LengthNorm = Literal["mean", "sum"]
Truncation = Literal["error", "warn", "window"]


@dataclass(frozen=True)
class Evaluations:
    """The pattern evaluators of one text in one aspect: what explains its score.

    Attributes:
        scores, weights: one per evaluator.
        patterns: what each evaluator asked, for reading.
        dropped: the most tokens that any of them lost.
        remarks: what was out of the ordinary.
    """

    scores: NDArray[np.float64]
    weights: NDArray[np.float64]
    patterns: Sequence[Mapping[str, Any]]
    dropped: int
    remarks: tuple[str, ...] = ()

    def explanation(self) -> dict[str, Any]:
        """JSON-able."""
        total = self.weights.sum()
        shares = self.weights / total if total > 0 else np.full(len(self.weights), 1 / len(self.weights))
        rows = zip(self.patterns, self.scores, shares, strict=True)
        evaluators = [{**pattern, "score": float(score), "weight": float(share)} for pattern, score, share in rows]
        return {"evaluators": evaluators, "remarks": list(self.remarks)}


@dataclass(frozen=True)
class CTRLEval:
    """The metric. `from_pretrained` builds it from names and files.

    Attributes:
        load: gives the model; called at the first text to score, after all texts have been checked.
        tokenizer: of that model.
        convention: how the model fills gaps.
        longest: tokens that the model reads or writes at once.
        frequencies: IWF by token; None weighs all targets of a text alike.
        prompts: of attribute relevance; None where that aspect is not asked for.
        aspects: those to score.
        split: text into sentences.
        length_norm: a target's score is the mean (as released) or the sum (Eq. 4, as printed) over its tokens.
        weights: `paper` (Eq. 5, 15-17), or mean, max, min in their place (Table 5).
        truncation: `error` refuses a text that does not fit, before the model is loaded; `window` keeps what is nearest
            to the gap; `warn` cuts the end of what is read, never the gap. What was cut is counted.
        token_budget: padded tokens in a batch.
        described: settings for the signature.
    """

    load: Callable[[], Seq2SeqLM]
    tokenizer: PreTrainedTokenizerBase
    convention: Convention
    longest: int
    frequencies: WordFrequencies | None = None
    prompts: Prompts | None = None
    aspects: tuple[Aspect, ...] = ASPECTS
    split: Splitter = english
    length_norm: LengthNorm = "mean"
    weights: Weights = "paper"
    truncation: Truncation = "error"
    token_budget: int = 16_384
    described: Mapping[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _one_of("length_norm", self.length_norm, LengthNorm)
        _one_of("truncation", self.truncation, Truncation)
        _one_of("weights", self.weights, Weights)
        unknown = [aspect for aspect in self.aspects if aspect not in ASPECTS]
        if unknown or not self.aspects:
            raise ValueError(f"aspects must be some of {', '.join(ASPECTS)}, but are {list(self.aspects)}")
        if "attribute_relevance" in self.aspects and self.prompts is None:
            raise ValueError("attribute_relevance needs prompts and verbalizers; set them, or leave the aspect out")

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = "google/pegasus-large",
        *,
        iwf: str | Path | None = None,
        prompts: str | Path | None = "sentiment",
        verbalizers: str | Path | None = None,
        aspects: Sequence[Aspect] = ASPECTS,
        sentence_split: str = "english",
        length_norm: LengthNorm = "mean",
        weights: Weights = "paper",
        truncation: Truncation = "error",
        convention: Convention | None = None,
        longest: int | None = None,
        token_budget: int = 16_384,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "CTRLEval":
        """The metric on a hub name or a folder.

        Args:
            model: PEGASUS, T5, BART or another encoder-decoder that was trained to fill gaps.
            iwf: the IWF table (see `frequency.load_frequencies`); None weighs all targets alike.
            prompts: `sentiment`, `topic`, a YAML file, or a text file with `verbalizers` beside it.
            verbalizers: the second file of the released form.
            aspects: which to score.
            sentence_split: `english`, or a regular expression to split at.
            length_norm, weights, truncation, token_budget: see the class.
            convention: how the model fills gaps; known for the types of `language_models.infilling.OF_MODEL_TYPE`.
            longest: tokens that the model reads at once; by default what its tokenizer and configuration say.
            device, dtype: of the model.

        Raises InputFaults for what is wrong with a file, ValueError for a setting, OSError for a model that is not
        there; the weights themselves are loaded by the first `score`.
        """
        loaded = load_prompts(prompts, verbalizers) if prompts is not None else None
        frequencies = load_frequencies(iwf) if iwf is not None else None
        split = splitter(sentence_split)
        config = AutoConfig.from_pretrained(str(model))
        tokenizer = AutoTokenizer.from_pretrained(str(model))
        if frequencies is not None and iwf is not None:
            check_length(frequencies, config.vocab_size, iwf)
        limit = min(tokenizer.model_max_length, getattr(config, "max_position_embeddings", None) or 10**6)
        return cls(
            load=lambda: Seq2SeqLM.from_pretrained(model, device, dtype),
            tokenizer=tokenizer,
            convention=convention or convention_of(config.model_type),
            longest=longest or limit,
            frequencies=frequencies,
            prompts=loaded,
            aspects=tuple(aspects),
            split=split,
            length_norm=length_norm,
            weights=weights,
            truncation=truncation,
            token_budget=token_budget,
            described={"model": str(model), "sentence_split": fingerprint(sentence_split)[:8]},
        )

    @cached_property
    def lm(self) -> Seq2SeqLM:
        """The model, loaded when it is first asked for."""
        return self.load()

    def score(self, examples: Sequence[Example]) -> Scores:
        """One score per example and aspect, with the evaluators behind it as explanations.

        Coherence and consistency are log-probabilities in nats (at most 0), attribute relevance is in [0, 1].

        Raises ExampleFaults, before the model is loaded, for every text without a sentence, prefix that does not begin
        its text, label that the verbalizers lack, and, with truncation `error`, text that does not fit.
        """
        found = self.evaluations(examples)
        explanations = [{aspect: found[aspect][i].explanation() for aspect in found} for i in range(len(examples))]
        return Scores(
            values={aspect: self.aggregated(rows) for aspect, rows in found.items()},
            signature=self.signature,
            dropped_tokens=[max(found[aspect][i].dropped for aspect in found) for i in range(len(examples))],
            explanations=explanations,
        )

    def aggregated(self, rows: Sequence[Evaluations], weights: Weights | None = None) -> NDArray[np.float64]:
        """Eq. 1 for every text, or what `weights` puts in its place."""
        return np.array([aggregate(row.scores, row.weights, weights or self.weights) for row in rows])

    def evaluations(self, examples: Sequence[Example]) -> dict[Aspect, list[Evaluations]]:
        """Every pattern evaluator's score and weight, by aspect; raises as `score` does."""
        self._check(examples)
        targets = {
            "coherence": lambda: self._by_target([self._coherence(e) for e in examples], closed=True),
            "consistency": lambda: self._by_target([self._consistency(e) for e in examples], closed=False),
            "attribute_relevance": lambda: self._relevance(examples),
        }
        found: dict[Aspect, list[Evaluations]] = {aspect: targets[aspect]() for aspect in self.aspects}
        for aspect, rows in found.items():
            remarks = [remark for row in rows for remark in row.remarks]
            for remark in dict.fromkeys(remarks):
                log.warning("%s: %d of %d texts: %s", aspect, remarks.count(remark), len(examples), remark)
        return found

    @property
    def signature(self) -> str:
        """The metric, its settings, model and tables."""
        return signature(
            "ctrleval",
            libraries=MODEL_LIBRARIES,
            **self.described,
            aspects="+".join(self.aspects),
            iwf=None if self.frequencies is None else self.frequencies.corpus,
            prompts=None if self.prompts is None else fingerprint([self.prompts.prompts, self.prompts.verbalizers])[:8],
            length_norm=self.length_norm,
            weights=self.weights,
        )

    def _check(self, examples: Sequence[Example]) -> None:
        faults: list[tuple[int, str]] = []
        for i, example in enumerate(examples):
            faults += [(i, what) for what in self._faults(example)]
        if not faults and self.truncation == "error":
            faults = self._too_long(examples)
        if faults:
            raise ExampleFaults(faults)

    def _faults(self, example: Example) -> list[str]:
        found: list[str] = []
        text = example.full_text
        if not self.split(text):
            found.append(f"a text needs at least one sentence, found {shown(text)}")
        if self.convention.mask and self.convention.mask in text:
            found.append(f"a text must not hold the model's mask {self.convention.mask}, found it in {shown(text)}")
        if "consistency" in self.aspects:
            if not example.prefix:
                found.append("consistency needs the prefix that the text had to begin with, found none")
            elif not text.startswith(example.prefix):
                found.append(f"the prefix must begin the text, found {shown(example.prefix)} and {shown(text)}")
            elif not text[len(example.prefix) :].strip():
                found.append(f"consistency needs text after the prefix, found {shown(text)}")
        if "attribute_relevance" in self.aspects and self.prompts is not None:
            labels = self.prompts.labels
            if example.label not in labels:
                found.append(f"the label must be one of {', '.join(labels)}, found {shown(example.label)}")
        return found

    def _too_long(self, examples: Sequence[Example]) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        for i, example in enumerate(examples):
            needed = 0
            for closed, patterns in self._patterns(example):
                for infill in self._encoded(patterns, closed):
                    needed = max(needed, len(infill.source), len(infill.target))
            if needed > self.longest:
                rule = f"the model reads {self.longest} tokens at once"
                found.append((i, f"{rule}, but this text takes {needed}; set truncation to window or warn"))
        return found

    def _patterns(self, example: Example) -> list[tuple[bool, list[Pattern]]]:
        """Every pattern of an example, with whether its target is closed."""
        found: list[tuple[bool, list[Pattern]]] = []
        if "coherence" in self.aspects:
            found.append((True, self._coherence(example)))
        if "consistency" in self.aspects:
            found.append((False, self._consistency(example)))
        if "attribute_relevance" in self.aspects and self.prompts is not None:
            longest = max(self.prompts.prompts, key=len)  # the others have fewer words beside the same text
            found.append((False, [relevance_pattern(longest, example.full_text)]))
        return found

    def _coherence(self, example: Example) -> list[Pattern]:
        return coherence_patterns(self.split(example.full_text))

    def _consistency(self, example: Example) -> list[Pattern]:
        return consistency_patterns(example.prefix or "", example.full_text)

    def _encoded(self, patterns: Sequence[Pattern], closed: bool) -> list[Infill]:
        gaps = [(pattern.before, pattern.target, pattern.after) for pattern in patterns]
        return encode_infills(self.tokenizer, self.convention, gaps, closed)

    def _by_target(self, texts: Sequence[Sequence[Pattern]], closed: bool) -> list[Evaluations]:
        """Coherence and consistency: the log-probability of each target, weighted by how much the target says."""
        whole = self._encoded([pattern for patterns in texts for pattern in patterns], closed)
        cut = [self._cut(infill) for infill in whole]
        log_p = target_log_probabilities(
            self.lm, [(infill.source, infill.target) for infill, _ in cut], token_budget=self.token_budget
        )
        places = iter(zip(whole, cut, log_p, strict=True))
        found: list[Evaluations] = []
        for patterns in texts:
            mine = [next(places) for _ in patterns]
            scores = np.array([self._normalised(row[kept.start : kept.stop]) for _, (kept, _), row in mine])
            isf = np.ones(len(patterns))
            if self.frequencies is not None:
                targets = [infill.target[infill.start : infill.stop] for infill, _, _ in mine]
                isf = target_isf(self.frequencies, targets)
            remarks = ["a text of one sentence leaves a bare mask"] if closed and len(patterns) == 1 else []
            if not isf.any():
                remarks.append("all weights are zero; its evaluators weigh alike")
            shown_patterns = [
                {"source": f"{p.before}{self.convention.mask}{p.after}", "target": p.target} for p in patterns
            ]
            dropped = max(dropped for _, (_, dropped), _ in mine)
            found.append(Evaluations(scores, normalised_isf(isf), shown_patterns, dropped, tuple(remarks)))
        return found

    def _normalised(self, log_p: NDArray[np.float32]) -> float:
        """The mean or the sum of a target's token log-probabilities (Eq. 4)."""
        values = log_p.astype(np.float64)
        return float(values.mean() if self.length_norm == "mean" else values.sum())

    def _relevance(self, examples: Sequence[Example]) -> list[Evaluations]:
        """Attribute relevance (Eq. 12-17)."""
        prompts = self.prompts
        if prompts is None:
            raise ValueError("attribute_relevance needs prompts and verbalizers")
        words = prompts.words
        patterns = [relevance_pattern(prompt, e.full_text) for e in examples for prompt in prompts.prompts]
        log_p, dropped = self._word_log_probabilities(patterns, words)
        probabilities = np.exp(log_p).reshape(len(examples), len(prompts.prompts), len(words))
        lost = dropped.reshape(len(examples), len(prompts.prompts))
        found: list[Evaluations] = []
        for i, example in enumerate(examples):
            label = prompts.labels.index(example.label or "")
            scores, weights, told = [], [], []
            for verbalizer in prompts.verbalizers:
                at = [words.index(word) for word in verbalizer]
                for p, prompt in enumerate(prompts.prompts):
                    scores.append(relevance_score(probabilities[i, p, at], label))
                    weights.append(relevance_weight(probabilities[i, p, at]))
                    told.append({"prompt": prompt, "words": list(verbalizer)})
            found.append(Evaluations(np.array(scores), np.array(weights), told, int(lost[i].max())))
        return found

    def _word_log_probabilities(
        self, patterns: Sequence[Pattern], words: Sequence[str]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Mean log P of every word in the gap of every pattern, and how many tokens each pattern lost."""
        if self.convention.whole_text:  # the word stands in the middle of the target: no two words share a pass
            filled = [Pattern(p.before, word, p.after) for p in patterns for word in words]
            cut = [self._cut(infill) for infill in self._encoded(filled, closed=False)]
            pairs = [(infill.source, infill.target[: infill.stop]) for infill, _ in cut]
            rows = target_log_probabilities(self.lm, pairs, token_budget=self.token_budget)
            values = [
                float(row[infill.start :].mean(dtype=np.float64)) for row, (infill, _) in zip(rows, cut, strict=True)
            ]
            lost = np.array([dropped for _, dropped in cut]).reshape(len(patterns), len(words)).max(axis=1)
            return np.array(values).reshape(len(patterns), len(words)), lost
        cut = [self._cut(infill) for infill in self._encoded(patterns, closed=False)]
        before, ids = segment_tokens(self.tokenizer, self.convention, words)
        log_p = label_word_log_probabilities(
            self.lm, [infill.source for infill, _ in cut], ids, before=before, token_budget=self.token_budget
        )
        return log_p, np.array([dropped for _, dropped in cut])

    def _cut(self, infill: Infill) -> tuple[Infill, int]:
        """What fits into the model, and how many tokens do not."""
        return infill.cut(self.longest, around=self.truncation == "window")


def _one_of(name: str, value: str, allowed: Any) -> None:
    if value not in get_args(allowed):
        raise ValueError(f"{name} must be one of {', '.join(get_args(allowed))}, but is {value!r}")
