"""Label words against one pair at a time, and how often the encoder runs."""

import numpy as np
import pytest
import torch

from models.label_words import label_word_log_probabilities
from models.seq2seq import Seq2SeqLM, target_log_probabilities
from models.tiny import TinyT5

WORDS = [[7], [8], [9, 10, 11], [7, 12]]


@pytest.fixture(scope="module")
def lm() -> Seq2SeqLM:
    found = TinyT5(300, 16, 32, 2, 1, 1).build(["a b c d"], (), seed=1)
    with torch.no_grad():
        for parameter in found.model.parameters():
            parameter.mul_(2.0)
    return found


@pytest.mark.parametrize("before", [[], [3]])
@pytest.mark.parametrize(("token_budget", "logit_budget"), [(16_384, 2**26), (10, 1)])
def test_every_word_against_its_own_pass(
    lm: Seq2SeqLM, before: list[int], token_budget: int, logit_budget: int
) -> None:
    rng = np.random.default_rng(0)
    sources = [rng.integers(20, 200, rng.integers(1, 9)).tolist() for _ in range(7)]
    sources.append(sources[2])
    budgets = {"token_budget": token_budget, "logit_budget": logit_budget}
    found = label_word_log_probabilities(lm, sources, WORDS, before=before, **budgets)
    for i, source in enumerate(sources):
        for w, word in enumerate(WORDS):
            (row,) = target_log_probabilities(lm, [(source, [*before, *word])])
            assert found[i, w] == pytest.approx(row[len(before) :].sum(), abs=1e-5 * len(word))


def test_the_encoder_reads_every_text_once(lm: Seq2SeqLM, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    encoder = lm.model.get_encoder()
    forward = encoder.forward
    monkeypatch.setattr(encoder, "forward", lambda **kw: seen.append(len(kw["input_ids"])) or forward(**kw))
    label_word_log_probabilities(lm, [[20], [21], [20]], WORDS)
    assert sum(seen) == 2


@pytest.mark.parametrize("token_budget", [12, 40])
def test_no_batch_exceeds_the_budget(lm: Seq2SeqLM, monkeypatch: pytest.MonkeyPatch, token_budget: int) -> None:
    rng = np.random.default_rng(0)
    sources = [rng.integers(20, 200, n).tolist() for n in rng.integers(1, 9, 30)]
    sizes: list[int] = []
    forward = lm.model.forward

    def watched(**inputs: torch.Tensor) -> object:
        rows, read = inputs["attention_mask"].shape if "attention_mask" in inputs else (0, 0)
        sizes.append(rows * (read + inputs["decoder_input_ids"].shape[1]))
        return forward(**inputs)

    monkeypatch.setattr(lm.model, "forward", watched)
    label_word_log_probabilities(lm, sources, WORDS, before=[3], token_budget=token_budget)
    assert token_budget / 2 < max(sizes) <= token_budget


def test_a_word_without_a_token_is_refused(lm: Seq2SeqLM) -> None:
    with pytest.raises(ValueError, match="at least one token"):
        label_word_log_probabilities(lm, [[20]], [[7], []])
