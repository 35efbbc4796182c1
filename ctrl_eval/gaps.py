"""Gaps in text: training tasks, with which a small infilling model learns to fill what CTRLEval removes.

The paper uses pretrained infilling models. At `scale=tiny` this project trains a small one from scratch instead.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import Field

from core.errors import SettingError
from core.settings import NonNegative, Number, checked_dataclass
from ctrl_eval.prompts import Prompts
from data.sentences import split_english
from data.words import RUNS
from models.batching import Task
from models.families import T5
from models.infilling import make_infilling
from models.model import plain_token_ids
from models.seq2seq import Seq2SeqLM

Kind = Literal["sentence", "beginning", "rest", "words"]


@checked_dataclass
class TextGaps:
    """A training task: to fill a random gap in every text."""

    prompts: Prompts  # the prompts of the metric; their label words become gaps
    # the share of the texts with a label word in which the gap is a label word
    label_share: Annotated[Number, Field(ge=0, le=1)] = 0.35
    # the weight of each kind among the other gaps
    kinds: Mapping[Kind, NonNegative] = field(
        default_factory=lambda: {
            "sentence": 3.0,
            "beginning": 2.0,
            "rest": 1.0,
            "words": 1.0,
        }
    )

    def build(
        self,
        model: Any,
        texts: Sequence[str],
        seed: int,
    ) -> Seq2SeqLM:
        return model.build(texts, (), seed)

    def tasks(self, lm: Seq2SeqLM, texts: Sequence[str]) -> Callable[[int], list[Task]]:
        """Returns the tasks of an epoch as a function of its seed: a text with a random gap, and the missing segment.

        Texts that are longer than the model reads, and those without a word, are left out.
        Raises SettingError if no text has a word.
        """
        infilling = make_infilling(T5, lm.tokenizer)
        worded = [text for text in texts if RUNS.search(text)]
        if not worded:
            raise SettingError(
                "a model learns to fill gaps in texts with words, but no text has a word: choose other data"
            )

        def draw_tasks(seed: int) -> list[Task]:
            rng = random.Random(seed)
            pieces: list[str] = []
            for text in worded:
                start, end = self.choose_gap(text, rng)
                pieces += [text[:start], text[start:end], text[end:]]
            ids = iter(plain_token_ids(lm.tokenizer, pieces))
            most = lm.tokenizer.model_max_length
            tasks: list[Task] = []
            for before, gap, after in zip(ids, ids, ids, strict=True):  # three pieces of each text
                task = Task(infilling.read(before, after), infilling.target(gap), len(infilling.opening))
                if max(len(task.source), len(gap)) < most:
                    tasks.append(task)
            return tasks

        return draw_tasks

    def choose_gap(self, text: str, rng: random.Random) -> tuple[int, int]:
        """Draws a gap: a sentence, the beginning, the rest after the beginning, or a few words.

        These are the gaps of coherence (Eq. 2-3) and of both directions of consistency (Eq. 9-10). If the text contains
        label words, the gap is a label word with the probability `label_share` (Eq. 12-13). A gap has at least one word
        and no white space at its ends. The text must have a word. Returns the start and the end of the gap, in
        characters.
        """
        words = [match.span() for match in RUNS.finditer(text)]
        label_words = self.prompts.words
        labels = [(start, end) for start, end in words if text[start:end] in label_words]
        if labels and rng.random() < self.label_share:
            return rng.choice(labels)
        (kind,) = rng.choices(list(self.kinds), list(self.kinds.values()))
        if kind == "sentence":
            sentences = [sentence for sentence in split_english(text) if RUNS.search(sentence)]
            sentence = rng.choice(sentences)
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
