"""CTRLEval: coherence, consistency and attribute relevance of controlled text as text infilling (Ke et al., ACL 2022).

Higher is better in every aspect. Three departures from the paper follow its released code. A target's score is the mean
of its tokens' log-probabilities, not their sum (Eq. 4), and a label word of several tokens scores exp(mean log P), not
P (Eq. 14-15); `length_norm=sum` is as printed. Only coherence targets include the token that closes a sentence.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from core.example import Example
from core.faults import ExampleFaults, SettingFault, shown
from core.scores import Field, Scores, fields_by_settings
from core.selection import score_complete
from core.settings import Count, Several, checked_dataclass
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from ctrl_eval.ensemble import Weights, aggregate, relevance_score, relevance_weight, shares
from ctrl_eval.frequency import WordFrequencies, load_frequencies, normalised_isf
from ctrl_eval.patterns import Pattern, coherence_patterns, consistency_patterns, relevance_pattern
from ctrl_eval.prompts import Prompts, load_prompts
from data.sentences import Splitter, make_splitter, split_english
from models.causal import CausalLM, continuation_log_probabilities, continuation_windows
from models.infilling import LEFT_TO_RIGHT, Convention, Infill, convention_of, encode_infills, segment_tokens
from models.label_words import label_word_log_probabilities
from models.loading import load_pretrained
from models.model import readable_tokens
from models.seq2seq import Seq2SeqLM, target_log_probabilities
from models.truncation import Truncation

log = logging.getLogger(__name__)

Aspect = Literal["coherence", "consistency", "attribute_relevance"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
LengthNorm = Literal["mean", "sum"]
RELEVANCE: Aspect = "attribute_relevance"
READ: dict[Aspect, Field] = {"consistency": "prefix", RELEVANCE: "label"}  # beside the text
Asked = list[tuple[Pattern, Infill]]  # the patterns of one text in one aspect


@dataclass(frozen=True)
class Evaluations:
    """The pattern evaluators of one text in one aspect, which explain its score.

    Attributes:
        scores, weights: one per evaluator.
        patterns: the question of each evaluator, for readers.
        dropped: the most tokens that any of them lost.
        remarks: anything unusual about the text.
    """

    scores: Float[NDArray[np.float64], " evaluators"]
    weights: Float[NDArray[np.float64], " evaluators"]
    patterns: Sequence[Mapping[str, Any]]
    dropped: int
    remarks: tuple[str, ...] = ()

    def explanation(self) -> dict[str, Any]:
        """JSON-able."""
        rows = zip(self.patterns, self.scores, shares(self.weights), strict=True)
        evaluators = [{**pattern, "score": float(score), "weight": float(share)} for pattern, score, share in rows]
        return {"evaluators": evaluators, "remarks": list(self.remarks)}


@checked_dataclass
class CTRLEval:
    """Coherence, consistency and attribute relevance of a text by text infilling; higher is better.

    Each is a weighted mean over patterns (Eq. 1). Coherence and consistency: mean log-probabilities of what is missing
    in a pattern, at most 0. Attribute relevance: the probability of the label's words against all label words, 0 to 1.

    Attributes:
        load: loads the model; called when the first text is scored, after all texts have been checked.
        tokenizer: of that model.
        convention: how the model fills gaps.
        longest: tokens that the model reads or writes at once; a causal model reads source and target together.
        frequencies: IWF by token; None weighs all targets of a text alike, which a warning and the signature say.
        prompts: of attribute relevance; None without that aspect.
        aspects: those to score.
        split: text into sentences.
        length_norm: the log-probability of a target or a label word is the mean (as released) or the sum (Eq. 4, 14-15,
            as printed) over its tokens.
        weights: `paper` (Eq. 5, 15-17), or mean, max, min instead (Table 5).
        truncation: `error` refuses a text that does not fit, before the model is loaded; `window` keeps the tokens
            nearest to the gap; `warn` cuts the end of the source, never the gap. Cut tokens are counted.
        token_budget: padded tokens in a batch; on a CPU small batches that stay in its caches are faster.
        described: settings for the signature.
    """

    requires = fields_by_settings(lambda aspects=ASPECTS: tuple(READ[aspect] for aspect in aspects if aspect in READ))
    load: Callable[[], Seq2SeqLM | CausalLM]
    tokenizer: PreTrainedTokenizerBase
    convention: Convention
    longest: Count
    frequencies: WordFrequencies | None = None
    prompts: Prompts | None = None
    aspects: Several[Aspect] = ASPECTS
    split: Splitter = split_english
    length_norm: LengthNorm = "mean"
    weights: Weights = "paper"
    truncation: Truncation = "error"
    token_budget: Count = 2048
    described: Mapping[str, str | None] = field(default_factory=dict)

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
        verbalizers: str | Path | None = None,
        aspects: Sequence[Aspect] = ASPECTS,
        sentence_split: str = "english",
        length_norm: LengthNorm = "mean",
        weights: Weights = "paper",
        truncation: Truncation = "error",
        convention: Convention | None = None,
        longest: int | None = None,
        token_budget: int = 2048,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "CTRLEval":
        """The metric on a hub name or a folder.

        Args:
            model: PEGASUS, T5, BART or another encoder-decoder that was trained to fill gaps; or a causal model, which
                reads the source and then the target.
            iwf: the IWF table (see `frequency.load_frequencies`); None weighs all targets alike, with a warning.
            iwf_tokenizer: the model whose tokens the table has; None for the tokens of `model`.
            prompts: `sentiment`, `topic`, a YAML file, or a text file with `verbalizers` beside it.
            verbalizers: the second file of the released form.
            aspects: which to score.
            sentence_split: see `data.sentences.make_splitter`.
            length_norm, weights, truncation, token_budget: see the class.
            convention: how the model fills gaps; known for the types of `models.infilling.OF_MODEL_TYPE`.
            longest: tokens that the model reads at once; by default as its tokenizer and configuration say.
            device, dtype: of the model.

        The weights are loaded by the first `score`.

        Raises InputFaults for a faulty file, SettingFault for a faulty setting, MissingModel for a missing model.
        """
        known = load_prompts(prompts, verbalizers) if prompts is not None else None
        split = make_splitter(sentence_split)
        config = load_pretrained(AutoConfig.from_pretrained, model)
        tokenizer = load_pretrained(AutoTokenizer.from_pretrained, model)
        words = (
            load_pretrained(AutoTokenizer.from_pretrained, iwf_tokenizer) if iwf_tokenizer is not None else tokenizer
        )
        frequencies = load_frequencies(iwf, words) if iwf is not None else None
        if convention is None:
            convention = convention_of(config.model_type) if config.is_encoder_decoder else LEFT_TO_RIGHT
        kind = Seq2SeqLM if config.is_encoder_decoder else CausalLM
        return cls(
            load=cache(lambda: kind.from_pretrained(model, device, dtype)),  # copies with other settings share it
            tokenizer=tokenizer,
            convention=convention,
            longest=longest or readable_tokens(config, tokenizer),
            frequencies=frequencies,
            prompts=known,
            aspects=tuple(aspects),
            split=split,
            length_norm=length_norm,
            weights=weights,
            truncation=truncation,
            token_budget=token_budget,
            described={"model": str(model), "sentence_split": fingerprint(sentence_split)[:8]},
        )

    @cached_property
    def lm(self) -> Seq2SeqLM | CausalLM:
        """The model, loaded at first use."""
        return self.load()

    def score(self, examples: Sequence[Example]) -> Scores:
        """One score per example and aspect, with the evaluators behind it as explanations.

        Coherence and consistency are log-probabilities in nats (at most 0), attribute relevance is in [0, 1]. An
        example without a required field is NaN in all aspects.

        Raises ExampleFaults, before the model is loaded, where no example has the required fields, and for every text
        without a sentence, prefix that does not begin its text, label that the verbalizers lack, and, with truncation
        `error`, text that does not fit.
        """
        return score_complete(examples, self.requires, "ctrleval", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        return self.scores_of(self.evaluations(examples))

    def scores_of(self, evaluations: Mapping[Aspect, Sequence[Evaluations]]) -> Scores:
        """The scores of texts whose evaluators are known: Eq. 1, or what `weights` puts in its place."""
        per_text = list(zip(*evaluations.values(), strict=True))
        return Scores(
            values={
                aspect: np.array([aggregate(row.scores, row.weights, self.weights) for row in rows])
                for aspect, rows in evaluations.items()
            },
            signature=self.signature,
            dropped_tokens=[max(row.dropped for row in rows) for rows in per_text],
            explanations=[
                {aspect: row.explanation() for aspect, row in zip(evaluations, rows, strict=True)} for rows in per_text
            ],
        )

    def evaluations(self, examples: Sequence[Example]) -> dict[Aspect, list[Evaluations]]:
        """Every pattern evaluator's score and weight, by aspect; raises as `score` does."""
        faults = [(i, what) for i, example in enumerate(examples) for what in self._faults(example)]
        if faults:
            raise ExampleFaults(faults)
        asked: dict[Aspect, list[Asked]] = {aspect: self._asked(aspect, examples) for aspect in self.aspects}
        if self.truncation == "error":
            self._refuse_long(asked)
        found: dict[Aspect, list[Evaluations]] = {}
        for aspect, texts in asked.items():
            found[aspect] = self._relevance(examples, texts) if aspect == RELEVANCE else self._by_target(aspect, texts)
            remarks = [remark for row in found[aspect] for remark in row.remarks]
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
            convention=fingerprint(self.convention)[:8],
            iwf=None if self.frequencies is None else self.frequencies.name,
            prompts=None if self.prompts is None else fingerprint([self.prompts.prompts, self.prompts.verbalizers])[:8],
            length_norm=self.length_norm,
            weights="paper_without_iwf" if self._lacks_frequencies else self.weights,
            truncation=self.truncation,
            longest=self.longest,
            identity=self.lm.identity,
        )

    @property
    def _lacks_frequencies(self) -> bool:
        """Whether the paper's weights are asked for where no table gives them (coherence and consistency)."""
        return self.weights == "paper" and self.frequencies is None and any(a != RELEVANCE for a in self.aspects)

    def _faults(self, example: Example) -> list[str]:
        found: list[str] = []
        text = example.full_text
        if not self.split(text):
            found.append(f"a text needs at least one sentence, found {shown(text)}")
        if self.convention.mask and self.convention.mask in text:
            found.append(f"a text must not hold the model's mask {self.convention.mask}, found it in {shown(text)}")
        if "consistency" in self.aspects:
            if not example.prefix or not text.startswith(example.prefix):
                found.append(f"the prefix must begin the text, found {shown(example.prefix)} and {shown(text)}")
            elif not text[len(example.prefix) :].strip():
                found.append(f"consistency needs text after the prefix, found {shown(text)}")
        if RELEVANCE in self.aspects:
            labels = self._prompts.labels
            if example.label not in labels:
                found.append(f"the label must be one of {', '.join(labels)}, found {shown(example.label)}")
        return found

    def _asked(self, aspect: Aspect, examples: Sequence[Example]) -> list[Asked]:
        """The patterns of every text in one aspect, as text and as token ids."""
        patterns = [self._patterns(aspect, example) for example in examples]
        gaps = [(p.before, p.target, p.after) for text in patterns for p in text]
        infills = iter(encode_infills(self.tokenizer, self.convention, gaps, closed=aspect == "coherence"))
        return [[(pattern, next(infills)) for pattern in text] for text in patterns]

    def _patterns(self, aspect: Aspect, example: Example) -> list[Pattern]:
        text = example.full_text
        if aspect == "coherence":
            return coherence_patterns(self.split(text))
        if aspect == "consistency":
            return consistency_patterns(example.prefix or "", text)
        prompts = self._prompts
        patterns = [relevance_pattern(prompt, text) for prompt in prompts.prompts]
        if self._words_apart:
            return [Pattern(p.before, word, p.after) for p in patterns for word in prompts.words]
        return patterns

    @property
    def _prompts(self) -> Prompts:
        if self.prompts is None:
            raise SettingFault(f"{RELEVANCE} needs prompts and verbalizers; set them, or leave the aspect out")
        return self.prompts

    @property
    def _words_apart(self) -> bool:
        """Whether each label word takes a pass of its own, because the model does not write a segment alone."""
        return self.convention.whole_text or self.convention.continues

    def _refuse_long(self, asked: Mapping[Aspect, Sequence[Asked]]) -> None:
        """Raises ExampleFaults for texts that take more tokens than the model reads."""
        needed: dict[int, int] = {}
        for texts in asked.values():
            for i, text in enumerate(texts):
                for _, infill in text:
                    source, target = len(infill.source), len(infill.target)
                    tokens = max(1, source) + target - 1 if self.convention.continues else max(source, target)
                    needed[i] = max(needed.get(i, 0), tokens)
        rule = f"the model reads {self.longest} tokens at once"
        what = "but this text takes {}; set truncation to window or warn"
        faults = [(i, f"{rule}, {what.format(n)}") for i, n in sorted(needed.items()) if n > self.longest]
        if faults:
            raise ExampleFaults(faults)

    def _by_target(self, aspect: Aspect, texts: Sequence[Asked]) -> list[Evaluations]:
        """Coherence and consistency: the log-probability of each target, weighted by how much the target says."""
        cut = [[self._cut(infill) for _, infill in text] for text in texts]
        pairs = [(infill.source, infill.target) for text in cut for infill, _ in text]
        log_p = iter(self._target_log_probabilities(pairs))
        found: list[Evaluations] = []
        for text, kept in zip(texts, cut, strict=True):
            scores = np.array([self._normalised(next(log_p)[infill.start : infill.stop]) for infill, _ in kept])
            isf = np.ones(len(text))
            if self.frequencies is not None:
                isf = self.frequencies.weigh([pattern.target for pattern, _ in text])
            remarks = []
            if aspect == "coherence" and len(text) == 1:
                remarks.append("a text of one sentence leaves a bare mask")
            if self._lacks_frequencies:
                remarks.append("no table of word frequencies (iwf), so all targets weigh alike")
            if not isf.any():
                remarks.append("all weights are zero; its evaluators weigh alike")
            questions = [{"source": f"{p.before}{self.convention.mask}{p.after}", "target": p.target} for p, _ in text]
            dropped = max(lost for _, lost in kept)
            found.append(Evaluations(scores, normalised_isf(isf), questions, dropped, tuple(remarks)))
        return found

    def _normalised(self, log_p: NDArray[np.float32]) -> float:
        """The mean or the sum of the token log-probabilities of a target or a label word (Eq. 4, 14-15)."""
        values = log_p.astype(np.float64)
        return float(values.mean() if self.length_norm == "mean" else values.sum())

    def _relevance(self, examples: Sequence[Example], texts: Sequence[Asked]) -> list[Evaluations]:
        """Attribute relevance (Eq. 12-17)."""
        prompts = self._prompts
        cut = [[self._cut(infill) for _, infill in text] for text in texts]
        log_p = self._word_log_probabilities([infill for text in cut for infill, _ in text])
        probabilities = np.exp(log_p).reshape(len(examples), len(prompts.prompts), len(prompts.words))
        found: list[Evaluations] = []
        for i, example in enumerate(examples):
            label = prompts.labels.index(example.label or "")
            scores, weights, questions = [], [], []
            for verbalizer in prompts.verbalizers:
                at = [prompts.words.index(word) for word in verbalizer]
                for p, prompt in enumerate(prompts.prompts):
                    scores.append(relevance_score(probabilities[i, p, at], label))
                    weights.append(relevance_weight(probabilities[i, p, at]))
                    questions.append({"prompt": prompt, "words": list(verbalizer)})
            dropped = max(lost for _, lost in cut[i])
            found.append(Evaluations(np.array(scores), np.array(weights), questions, dropped))
        return found

    def _word_log_probabilities(self, infills: Sequence[Infill]) -> NDArray[np.float64]:
        """log P of every label word in every gap, prompt by prompt, normalised by its length as targets are."""
        if self._words_apart:
            pairs = [(infill.source, infill.target[: infill.stop]) for infill in infills]
            rows = self._target_log_probabilities(pairs)
            return np.array([self._normalised(row[at.start :]) for row, at in zip(rows, infills, strict=True)])
        before, ids = segment_tokens(self.tokenizer, self.convention, self._prompts.words)
        sources = [infill.source for infill in infills]
        assert isinstance(self.lm, Seq2SeqLM), "a causal model reads the words apart"
        log_p = label_word_log_probabilities(self.lm, sources, ids, before=before, token_budget=self.token_budget)
        return log_p / [len(word) for word in ids] if self.length_norm == "mean" else log_p

    def _target_log_probabilities(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Any]:
        """log P of every target token given its source, and the target tokens before it."""
        if isinstance(self.lm, CausalLM):
            return continuation_log_probabilities(self.lm, pairs, token_budget=self.token_budget)
        return target_log_probabilities(self.lm, pairs, token_budget=self.token_budget)

    def _cut(self, infill: Infill) -> tuple[Infill, int]:
        """The part that the model can read, and how many tokens are lost."""
        if not self.convention.continues:
            return infill.cut(self.longest, around=self.truncation == "window")
        (pair,), lost = continuation_windows(infill.source, infill.target, self.longest, "warn")
        source, target = map(tuple, pair)
        return replace(infill, source=source, target=target, stop=min(infill.stop, len(target))), lost
