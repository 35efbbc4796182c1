"""Gaps in text, to train a small infilling model on what CTRLEval will ask of it.

The paper takes models that others trained this way at scale; this is the from-scratch stand-in (`scale=tiny`).
"""

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from core.faults import SettingFault
from ctrl_eval.prompts import Prompts
from data.sentences import split_english
from language_models.infilling import Infilling, sentinel_infilling
from language_models.seq2seq import Seq2SeqLM
from language_models.training import Batch, Task, seq2seq_batch

WORD = re.compile(r"\w+")
LABEL_SHARE = 0.35
KINDS = MappingProxyType({"sentence": 3.0, "beginning": 2.0, "rest": 1.0, "words": 1.0})  # by weight


def choose_gap(
    text: str,
    rng: random.Random,
    split: Callable[[str], Sequence[str]],
    label_words: Collection[str] = (),
    label_share: float = LABEL_SHARE,
    kinds: Mapping[str, float] = KINDS,
) -> tuple[int, int]:
    """Start and end of what is removed: a sentence, the beginning, the rest after the beginning, or a few words.

    These are the gaps of coherence (Eq. 2-3), of both directions of consistency (Eq. 9-10) and of a label word
    (Eq. 12-13): where the text holds some of `label_words`, one of them in a share `label_share` of the cases. The gap
    holds at least one word and no white space at its ends.

    Raises ValueError for a text without a word, and for a kind that there is not.
    """
    if unknown := set(kinds) - set(KINDS):
        raise SettingFault(f"kinds of gaps are {', '.join(KINDS)}, but got {', '.join(sorted(unknown))}")
    words = [match.span() for match in WORD.finditer(text)]
    if not words:
        raise ValueError(f"a gap needs a text with at least one word, but got {text!r}")
    labels = [(start, end) for start, end in words if text[start:end] in label_words]
    if labels and rng.random() < label_share:
        return rng.choice(labels)
    (kind,) = rng.choices(list(kinds), list(kinds.values()))
    if kind == "sentence":
        sentence = rng.choice([s for s in split(text) if WORD.search(s)])
        start = text.index(sentence)
        return start, start + len(sentence)
    if kind == "words":
        first = rng.randrange(len(words))
        last = min(len(words) - 1, first + rng.randrange(3))
        return words[first][0], words[last][1]
    border = rng.randint(1, min(8, len(words)))
    if kind == "beginning" or border == len(words):
        return 0, words[border - 1][1]
    return words[border][0], len(text.rstrip())


def gap_tasks(
    lm: Seq2SeqLM,
    infilling: Infilling,
    texts: Sequence[str],
    seed: int,
    split: Callable[[str], Sequence[str]],
    label_words: Collection[str] = (),
    label_share: float = LABEL_SHARE,
    kinds: Mapping[str, float] = KINDS,
) -> list[Task]:
    """A random gap in every text as a task for the model; the same for the same seed.

    Texts longer than the model reads are left out of training, not cut.
    """
    rng = random.Random(seed)
    pieces: list[str] = []
    for text in texts:
        start, end = choose_gap(text, rng, split, label_words, label_share, kinds)
        pieces += [text[:start], text[start:end], text[end:]]
    ids = lm.tokenizer(pieces, add_special_tokens=False, verbose=False)["input_ids"]
    tasks: list[Task] = []
    for before, gap, after in zip(ids[::3], ids[1::3], ids[2::3], strict=True):
        source = [*before, infilling.mask, *after]
        if max(len(source), len(gap)) < lm.tokenizer.model_max_length:
            tasks.append(Task(source, infilling.target(gap), len(infilling.before)))
    return tasks


@dataclass(frozen=True)
class TextGaps:
    """A model learns to fill a random gap in every text, as CTRLEval asks it to.

    Attributes:
        prompts: the prompts of the metric, for their label words.
        label_share: in which share of the texts that hold a label word the gap is one.
        kinds: what the other gaps are, by weight.
    """

    prompts: Prompts
    label_share: float = LABEL_SHARE
    kinds: Mapping[str, float] = field(default_factory=lambda: dict(KINDS))

    def build(self, model: Any, texts: Sequence[str], seed: int) -> Seq2SeqLM:
        """The model before training."""
        return model.build(texts, (), seed)

    def tasks(self, lm: Seq2SeqLM, texts: Sequence[str]) -> Callable[[int], list[Task]]:
        """The tasks of an epoch by its seed."""
        infilling = sentinel_infilling(lm.tokenizer)
        return lambda seed: gap_tasks(
            lm, infilling, texts, seed, split_english, self.prompts.words, self.label_share, self.kinds
        )

    def batch(self, lm: Seq2SeqLM, tasks: Sequence[Task]) -> Batch:
        """What the model is called with."""
        return seq2seq_batch(lm.model, tasks)
