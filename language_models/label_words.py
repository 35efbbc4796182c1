"""Log-probabilities of a few words in the gap of many texts: one encoder pass per text, whatever the words."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from language_models.batching import batches_by_budget, halving_on_out_of_memory, pad
from language_models.seq2seq import Seq2SeqLM

LOGIT_BUDGET = 2**26


def label_word_log_probabilities(
    lm: Seq2SeqLM,
    sources: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]],
    *,
    before: Sequence[int] = (),
    token_budget: int = 2048,
    logit_budget: int = LOGIT_BUDGET,
) -> NDArray[np.float64]:
    """Mean log P(token | source, tokens of the word before it) of every word for every source, in nats.

    Words of one token share one decoder step; each longer word takes a decoder pass more, on the same encoder states.
    Equal sources are read once.

    Args:
        lm: an encoder-decoder model.
        sources: encoder input ids.
        words: the token ids of each word, at least one.
        before: target ids in front of the word, given to the model.
        token_budget: padded source tokens in a batch.
        logit_budget: logits held at a time.

    Returns shape (sources, words).
    """
    if any(not word for word in words):
        raise ValueError("a label word needs at least one token")
    distinct: dict[tuple[int, ...], int] = {}
    row_of = [distinct.setdefault(tuple(source), len(distinct)) for source in sources]
    found = np.zeros((len(distinct), len(words)))
    unread = list(distinct)
    batches = batches_by_budget([len(source) for source in unread], token_budget)
    for batch in tqdm(batches, desc="label words", delay=3, leave=False, disable=None):
        rows = halving_on_out_of_memory(
            lambda at: list(_score(lm, [unread[i] for i in at], words, before, logit_budget)), batch
        )
        found[batch] = rows
    return found[row_of]


@torch.inference_mode()
def _score(
    lm: Seq2SeqLM,
    sources: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]],
    before: Sequence[int],
    logit_budget: int,
) -> NDArray[np.float64]:
    lm.model.eval()
    config = lm.model.config
    ids = pad(sources, config.pad_token_id, lm.device)
    mask = pad([[1] * len(source) for source in sources], 0, lm.device)
    encoded = lm.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
    start = [config.decoder_start_token_id, *before]
    scores = np.zeros((len(sources), len(words)))
    short = [w for w, word in enumerate(words) if len(word) == 1]
    passes = [(short, start)] if short else []
    passes += [([w], [*start, *word[:-1]]) for w, word in enumerate(words) if len(word) > 1]
    for chosen, given in passes:
        positions = len(given) - len(start) + 1  # how many steps are scored
        rows = max(1, logit_budget // (config.vocab_size * len(given)))
        targets = torch.tensor([words[w] for w in chosen], device=lm.device)  # (words, positions)
        for first in range(0, len(sources), rows):
            part = slice(first, first + rows)
            here = encoded[part]
            logits = lm.model(
                encoder_outputs=(here,),
                attention_mask=mask[part],
                decoder_input_ids=torch.tensor([given] * len(here), device=lm.device),
                use_cache=False,
            ).logits[:, -positions:]
            logits = logits.float()
            normaliser = logits.logsumexp(-1)  # once for all words
            chosen_logits = [logits[:, range(positions), target] for target in targets]
            log_p = torch.stack([(row - normaliser).double().mean(-1) for row in chosen_logits], dim=-1)
            scores[part, chosen] = log_p.cpu().numpy()
    return scores
