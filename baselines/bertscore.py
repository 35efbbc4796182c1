"""BERTScore (Zhang et al., ICLR 2020) through bert-score: tokens matched greedily by the cosine of their states."""

import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from bert_score import BERTScorer
from bert_score.utils import model2layers
from numpy.typing import NDArray
from transformers import AutoConfig

from core.errors import SettingError
from core.example import Example
from core.metric import BaseMetric
from core.scores import Scores, require
from core.selection import references_of
from core.settings import Count, checked_dataclass
from core.signature import MODEL_LIBRARIES, Setting
from models.encoders import encoder_source
from models.loading import check_tokens, load_pretrained, model_fingerprint
from models.model import readable_tokens
from models.windows import CutTruncation, refuse_cut

log = logging.getLogger(__name__)

USUAL = "roberta-large"  # the model of most published figures
UNKNOWN_SHARE = 0.1  # of tokens, from which a note says that the tokenizer cannot spell the language
PARTS: tuple[str, ...] = ("precision", "recall", "f1")  # in explanations; the last is the score


def find_layers(model: str, depth: int) -> int:
    """The number of layers that bert-score recommends for a model (with or without the owner in its name); else all."""
    name = model if model in model2layers or Path(model).exists() else model.rpartition("/")[2]
    return int(model2layers.get(name, depth))


@checked_dataclass
class BertScore(BaseMetric):
    """F1 of greedy matching, without IDF weights and rescaling; at most 1, higher is better.

    If an example has several references, the highest F1 counts, as in bert-score. A blank text scores 0. The
    explanation of a score has precision, recall, and the share of unknown tokens if there are any. A note names any
    model other than roberta-large. Another note warns if the tokenizer does not know many tokens of the texts.
    """

    name = "bertscore"
    requires = require("references")
    composes = True
    scores_empty = True
    libraries = ("bert-score", *MODEL_LIBRARIES)
    # bert-score's object with its model
    scorer: Any
    # the model's name, for the signature
    model: str
    # how many of its layers are used
    layers: int
    # how many tokens it reads at once
    max_length: int
    # a longer text or reference is cut at its end (`warn`) or refused (`error`)
    truncation: CutTruncation = "warn"
    # pairs at a time
    batch_size: Count = 64

    @classmethod
    def from_pretrained(
        cls,
        model: str = "offline",
        layers: int | None = None,
        device: str = "cpu",
        **settings: Any,
    ) -> "BertScore":
        """Loads `offline` (all-MiniLM-L6-v2), a hub name or a folder; `settings` are the other fields.

        By default `layers` is the number that bert-score recommends for the model, or all layers of an unknown model.
        Raises SettingError for more layers than it has.
        """
        source = encoder_source(model)
        config = load_pretrained(AutoConfig.from_pretrained, source)
        if "t5" in source and "t5" not in config.model_type:
            # bert-score would load it as a T5 with random weights
            rule = "bert-score reads a T5 from a name with 't5'"
            raise SettingError(f"{rule}, but {source} is a {config.model_type}: rename it")
        depth = int(config.num_hidden_layers)
        layers = find_layers(model, depth) if layers is None else layers
        if not 1 <= layers <= depth:
            raise SettingError(f"layers must be between 1 and the {depth} of {model}, but is {layers}")

        def load(name: str, trust_remote_code: bool) -> BERTScorer:
            """Builds the scorer without `trust_remote_code`, which bert-score cannot pass on (`load_pretrained`)."""
            return BERTScorer(model_type=name, num_layers=layers, device=device)

        scorer = load_pretrained(load, source)
        check_tokens(model, scorer._tokenizer, config.vocab_size)
        max_length = readable_tokens(config, scorer._tokenizer)
        scorer._tokenizer.model_max_length = max_length  # where the library cuts; some tokenizers state no limit
        scorer._tokenizer.split_special_tokens = True  # "[SEP]" in a text is plain text
        name = "all-MiniLM-L6-v2" if model == "offline" else model
        return cls(scorer, name, layers, max_length, **settings)

    @cached_property
    def identity(self) -> str:
        """A fingerprint of model and tokenizer, for the signature."""
        return model_fingerprint(self.scorer._model, self.scorer._tokenizer)

    @property
    def settings(self) -> dict[str, Setting]:
        return super().settings | {"identity": self.identity}

    def score_all(self, examples: Sequence[Example]) -> Scores:
        texts = [example.full_text for example in examples]
        references = [references_of(example) for example in examples]
        dropped, unknown = self._read_tokens(texts, references)
        matched = np.zeros((len(examples), len(PARTS)))
        places = [place for place, text in enumerate(texts) if text.strip()]  # the library cannot read a blank text
        if places:
            parts = self.scorer.score(
                [texts[place] for place in places], [references[place] for place in places], batch_size=self.batch_size
            )
            matched[places] = np.stack([part.numpy() for part in parts], axis=1)
        explanations = [dict(zip(PARTS, row, strict=True)) for row in matched.tolist()]
        for place in np.flatnonzero(unknown):
            explanations[place]["unknown_tokens"] = float(unknown[place])
        return Scores(
            {"quality": matched[:, -1]},
            self.signature,
            dropped_tokens=dropped,
            explanations=explanations,
            notes=self._list_notes(unknown),
        )

    def _list_notes(self, unknown: NDArray[np.float64]) -> tuple[str, ...]:
        """Sentences for readers of the scores; `unknown` is the share of unknown tokens of each example."""
        name = Path(self.model).name
        unusual = f"bertscore reads {name}, not {USUAL}: the scores are not those of most papers"
        unspelled = (
            f"bertscore: {name} knows less than {1 - UNKNOWN_SHARE:.0%} of the tokens: use a model of this language"
        )
        notes = [unusual] if name != USUAL else []
        if unknown.sum() > UNKNOWN_SHARE * len(unknown):
            notes.append(unspelled)
        return tuple(notes)

    def _read_tokens(
        self, texts: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[list[int], NDArray[np.float64]]:
        """Per example, the tokens cut from its text and references, and the share that the tokenizer does not know.

        Raises ExampleError with `error` where some are cut.
        """
        tokenizer = self.scorer._tokenizer
        dropped: list[int] = []
        unknown: list[float] = []
        for text, others in zip(texts, references, strict=True):
            read = [text.strip(), *map(str.strip, others)]
            rows = tokenizer(read, truncation=False, verbose=False)["input_ids"]
            dropped.append(sum(max(0, len(row) - self.max_length) for row in rows))
            lost = sum(row.count(tokenizer.unk_token_id) for row in rows)
            unknown.append(lost / max(1, sum(map(len, rows))))
        rule = f"{self.model} reads {self.max_length} tokens at once, but the text or a reference has more"
        refuse_cut(self.truncation, rule, dropped)
        if any(dropped):
            log.warning("%d of %d examples lost tokens to %s", sum(map(bool, dropped)), len(dropped), self.model)
        return dropped, np.array(unknown)
