"""Log-probabilities of a few words in the gap of many texts, with one encoder pass per text for all words."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from models.batching import batches_by_budget, halve_when_out_of_memory, pad
from models.seq2seq import Seq2SeqLM, output_layer_given

LOGIT_BUDGET = 2**25


def label_word_log_probabilities(
    lm: Seq2SeqLM,
    sources: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]],
    *,
    before: Sequence[int] = (),
    token_budget: int = 2048,
    logit_budget: int = LOGIT_BUDGET,
) -> NDArray[np.float64]:
    """log P(word | source) of every word for every source, in nats: the sum over the tokens of the word.

    Words of one token share one decoder step. Each longer word takes one more decoder pass on the same encoder states.
    Equal sources are read once.

    Args:
        lm: an encoder-decoder model.
        sources: encoder input ids.
        words: the token ids of each word, at least one.
        before: target ids in front of the word, given to the model.
        token_budget: padded source and target tokens in a batch.
        logit_budget: logits held at a time.

    Returns shape (sources, words).
    """
    if any(not word for word in words):
        raise ValueError("a label word needs at least one token")
    distinct: dict[tuple[int, ...], int] = {}
    row_of = [distinct.setdefault(tuple(source), len(distinct)) for source in sources]
    unread = list(distinct)
    start = [lm.model.config.decoder_start_token_id, *before]
    short = [w for w, word in enumerate(words) if len(word) == 1]
    passes = [(short, start)] if short else []
    passes += [([w], [*start, *word[:-1]]) for w, word in enumerate(words) if len(word) > 1]
    read = _Reader(lm, words, passes, len(start), logit_budget)
    found = np.zeros((len(distinct), len(words)))
    written = max((len(given) for _, given in passes), default=0)
    batches = batches_by_budget([len(source) + written for source in unread], token_budget)
    for batch in tqdm(batches, desc="label words", delay=3, leave=False, disable=None):
        halve_when_out_of_memory(lambda at: read([unread[i] for i in at], at), batch)
        for at, scores in read.finished(last=batch is batches[-1]):
            found[at] = scores
    return found[row_of]


class _Reader:
    """Reads batches of sources, and multiplies with the vocabulary only when it has collected enough decoder states.

    For a few states, reading the output layer costs more than everything else. One product for many batches reads it
    once.
    """

    def __init__(
        self,
        lm: Seq2SeqLM,
        words: Sequence[Sequence[int]],
        passes: Sequence[tuple[Sequence[int], Sequence[int]]],
        start: int,
        logit_budget: int,
    ) -> None:
        self.lm = lm
        self.words = words
        self.passes = passes
        self.start = start
        self.rows = max(1, logit_budget // lm.model.config.vocab_size)
        self.at: list[int] = []
        self.states: list[list[Tensor]] = [[] for _ in passes]  # per pass, tensors of (rows, positions, width)

    @torch.inference_mode()
    def __call__(self, sources: Sequence[Sequence[int]], at: list[int]) -> list[int]:
        model, config = self.lm.model.eval(), self.lm.model.config
        ids = pad(sources, config.pad_token_id, self.lm.device)
        mask = pad([[1] * len(source) for source in sources], 0, self.lm.device)
        encoded = model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        states: list[Tensor] = []
        for _, given in self.passes:
            positions = len(given) - self.start + 1  # how many steps are scored
            with output_layer_given(model, lambda hidden: hidden[:0]) as seen:
                model(
                    encoder_outputs=(encoded,),
                    attention_mask=mask,
                    decoder_input_ids=torch.tensor([given] * len(sources), device=self.lm.device),
                    use_cache=False,
                )
            states.append(seen[0][:, -positions:])
        for kept, state in zip(self.states, states, strict=True):
            kept.append(state)
        self.at += at
        return at

    def finished(self, last: bool) -> Iterator[tuple[list[int], NDArray[np.float64]]]:
        """Scores of the collected rows, if there are enough of them or these are the last."""
        if not self.at or (len(self.at) < self.rows and not last):
            return
        joined = [torch.cat(kept) for kept in self.states]
        for first in range(0, len(self.at), self.rows):
            part = slice(first, first + self.rows)
            scores = np.zeros((len(self.at[part]), len(self.words)))
            for (chosen, _), states in zip(self.passes, joined, strict=True):
                scores[:, list(chosen)] = self._log_probabilities(states[part], [self.words[w] for w in chosen])
            yield self.at[part], scores
        self.at, self.states = [], [[] for _ in self.passes]

    @torch.inference_mode()
    def _log_probabilities(self, states: Tensor, words: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """log P of each word, shape (rows, words)."""
        config = self.lm.model.config
        some = torch.zeros(1, 1, dtype=torch.long, device=self.lm.device)
        width = states.shape[-1]
        with output_layer_given(self.lm.model, lambda hidden: states.reshape(-1, width)):
            logits = self.lm.model(  # of any text: the output layer reads our states instead
                encoder_outputs=(torch.zeros(1, 1, width, device=self.lm.device, dtype=states.dtype),),
                decoder_input_ids=some + config.decoder_start_token_id,
                use_cache=False,
            ).logits
        logits = logits.float().reshape(*states.shape[:-1], -1)
        normaliser = logits.logsumexp(-1)  # once for all words
        targets = torch.tensor(words, device=self.lm.device)  # (words, positions)
        steps = torch.arange(targets.shape[1], device=self.lm.device)
        log_p = [(logits[:, steps, target] - normaliser).double().sum(-1) for target in targets]
        return torch.stack(log_p, dim=-1).cpu().numpy()
