"""MoverScore (Zhao et al., EMNLP 2019): the cheapest way to turn the tokens of a text into those of a reference.

Our own small implementation of the unigram form with power means of BERT's last layers. The released code leaves out
subwords after the first of a word, and weighs tokens by their IDF among the texts, or among the references, of the
call, so that a score depends on the other texts. Here all tokens count. They weigh by their IDF in a corpus, on both
sides, or alike without one.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from baselines.sentence_mover import Masses, move
from core.example import Example
from core.metric import BaseMetric
from core.scores import Scores, require
from core.selection import references_of
from core.settings import Count, checked_dataclass
from core.signature import MODEL_LIBRARIES, Setting
from core.stages import fingerprint
from data.documents import DocumentFrequencies, count_documents, read_documents
from models.batching import pad_with_mask, read_in_batches
from models.encoders import Encoder
from models.model import plain_token_ids, special_frame
from models.windows import CutTruncation, cut_end, refuse_cut

AT_ONCE = 256  # examples whose token embeddings are held in memory


@checked_dataclass
class MoverScore(BaseMetric):
    """1 / (1 + distance), where the distance is the least cost of moving the tokens of a text to those of a reference.

    Tokens are unit vectors, weighted by IDF or equally. The score is at most 1, higher is better. With several
    references the highest score counts. A blank text scores 0.
    """

    name = "mover_score"
    requires = require("references")
    composes = True
    scores_empty = True
    libraries = MODEL_LIBRARIES
    # gives the states of tokens; the paper's is BERT tuned on entailment (MNLI)
    encoder: Encoder
    # a corpus for the IDF of tokens, which the signature names; without one all tokens weigh alike
    documents: Sequence[str] | None = None
    # how many of the last layers are read, at most all of them and the word embeddings, as the signature says; their
    # minimum, mean and maximum make a token's vector
    layers: Count = 5
    # a longer text or reference is cut at its end (`warn`) or refused (`error`)
    truncation: CutTruncation = "warn"
    # padded tokens in a batch
    token_budget: Count = 8192

    @classmethod
    def from_pretrained(
        cls,
        encoder: str = "offline",
        documents: str | Path | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        **settings: Any,
    ) -> "MoverScore":
        """Loads `offline` (all-MiniLM-L6-v2), a hub name or a folder, and a corpus file (`read_documents`)."""
        corpus = None if documents is None else read_documents(documents)
        return cls(Encoder.from_pretrained(encoder, device, dtype), corpus, **settings)

    @property
    def settings(self) -> dict[str, Setting]:
        documents = None if self.documents is None else fingerprint(sorted(self.documents))
        known = self.encoder.model[0].auto_model.config.num_hidden_layers + 1
        return {
            **super().settings,
            "encoder": self.encoder.name,
            "identity": self.encoder.identity,
            "documents": documents,
            "layers": min(self.layers, known),
        }

    def score_all(self, examples: Sequence[Example]) -> Scores:
        texts = [[example.full_text.strip(), *map(str.strip, references_of(example))] for example in examples]
        tokenizer = self.encoder.tokenizer
        room = self.encoder.max_length - sum(map(len, special_frame(tokenizer)))
        distinct = list_distinct(texts)
        ids: dict[str, list[int]] = {}
        lost: dict[str, int] = {}
        for text, row in zip(distinct, plain_token_ids(tokenizer, distinct), strict=True):
            ids[text], lost[text] = cut_end(row, room)
        dropped = [sum(lost[text] for text in several) for several in texts]
        rule = f"{self.encoder.name} reads {room} tokens at once, but the text or a reference has more"
        refuse_cut(self.truncation, rule, dropped)
        frequencies = None
        if self.documents is not None:
            frequencies = count_documents(self.documents, partial(list_tokens, tokenizer))
        quality: list[float] = []
        for start in range(0, len(texts), AT_ONCE):
            chunk = texts[start : start + AT_ONCE]
            with_tokens = [text for text in list_distinct(chunk) if ids[text]]
            vectors = self._embed([ids[text] for text in with_tokens])
            masses: dict[str, Masses] = {}
            for text, of_tokens in zip(with_tokens, vectors, strict=True):
                masses[text] = weigh(ids[text], frequencies), of_tokens
            for text, *references in chunk:
                similarities = [measure_similarity(masses.get(text), masses.get(each)) for each in references]
                quality.append(max(similarities))
        return Scores({"quality": np.array(quality)}, self.signature, dropped_tokens=dropped)

    @torch.inference_mode()
    def _embed(self, rows: Sequence[list[int]]) -> list[NDArray[np.float64]]:
        """The unit vectors of the tokens of each row, shape (tokens, 3 dim)."""
        prefix, suffix = special_frame(self.encoder.tokenizer)
        transformer = self.encoder.model[0].auto_model
        padding: Any = self.encoder.tokenizer.pad_token_id

        def read(batch: list[int]) -> list[NDArray[np.float64]]:
            framed = [[*prefix, *rows[place], *suffix] for place in batch]
            inputs = pad_with_mask(framed, padding, self.encoder.model.device)
            hidden = transformer(**inputs, output_hidden_states=True).hidden_states
            states = torch.stack(hidden[-self.layers :]).double()
            means = torch.cat([states.amin(0), states.mean(0), states.amax(0)], dim=-1)
            unit = torch.nn.functional.normalize(means, dim=-1).cpu().numpy()
            vectors = unit[:, len(prefix) :]
            lengths = [len(rows[place]) for place in batch]
            return [of_row[:length] for of_row, length in zip(vectors, lengths, strict=True)]

        costs = list(map(len, rows))
        return read_in_batches(costs, self.token_budget, read)


def measure_similarity(text: Masses | None, reference: Masses | None) -> float:
    """Returns the score of a text with one reference; 0 if either is blank."""
    if text is None or reference is None:
        return 0.0
    return 1 / (1 + move(text, reference))


def list_distinct(texts: Sequence[Sequence[str]]) -> list[str]:
    """Lists the different texts and references, each once."""
    return list(dict.fromkeys(text for several in texts for text in several))


def list_tokens(tokenizer: Any, text: str) -> list[str]:
    """Lists the ids of the tokens of a text, as strings."""
    (ids,) = plain_token_ids(tokenizer, [text])
    return [str(token) for token in ids]


def weigh(tokens: Sequence[int], frequencies: DocumentFrequencies | None) -> NDArray[np.float64]:
    """Returns the weight of each token: its IDF, or 1 without a corpus."""
    if frequencies is None:
        return np.ones(len(tokens))
    return np.array([frequencies.idf(str(token)) for token in tokens])
