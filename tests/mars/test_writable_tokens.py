"""Tokens that may be written: text stays valid at every step and is whole at the end."""

import random

import pytest
from transformers import BertTokenizer

from mars.writable_tokens import WritableTokens
from models.causal import CausalLM


@pytest.fixture(scope="module")
def writable(lm: CausalLM) -> WritableTokens:
    return WritableTokens(lm.tokenizer, lm.model.config.vocab_size)


def test_special_tokens_and_line_breaks_are_banned(lm: CausalLM, writable: WritableTokens) -> None:
    may = writable.allowed(b"", 9)
    banned = [*lm.tokenizer.all_special_ids, lm.tokenizer.convert_tokens_to_ids("<title>")]
    banned += lm.tokenizer("\n\r\t\x0b\x00", add_special_tokens=False)["input_ids"]
    assert not may[banned].any()
    assert may[lm.tokenizer(" The cat", add_special_tokens=False)["input_ids"]].all()


@pytest.mark.parametrize("seed", range(20))
def test_any_way_through_the_allowed_tokens_is_a_text(writable: WritableTokens, seed: int) -> None:
    """Byte tokens are preferred, so that characters are begun all the time."""
    rng = random.Random(seed)
    length = rng.randint(1, 7)
    tokens: list[int] = []
    pending = b""
    for m in range(length):
        may = writable.allowed(pending, length - m - 1).nonzero().flatten().tolist()
        high = [token for token in may if writable.bytes[token][0] >= 0x80]
        tokens.append(rng.choice(high or may))
        pending = writable.pending(pending, tokens[-1])
        if not pending:
            assert writable.text(tokens).isprintable() or not writable.text(tokens).isascii()
    assert pending == b""
    assert len(writable.text(tokens).splitlines()) == 1


def test_without_all_bytes_no_character_is_begun(counting: CausalLM) -> None:
    writable = WritableTokens(counting.tokenizer, 5)
    assert writable.most == 0
    assert writable.allowed(b"", 3).tolist() == [False, True, True, True, True]  # 0 is the end of a text


def test_a_larger_output_layer_is_banned_beyond_the_tokenizer(counting: CausalLM) -> None:
    assert WritableTokens(counting.tokenizer, 8).allowed(b"", 3).tolist() == [False] + [True] * 4 + [False] * 3


def test_other_tokenizers_are_refused() -> None:
    words = BertTokenizer({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "猫": 5})
    with pytest.raises(ValueError, match="needs a byte-level BPE"):
        WritableTokens(words, 6)
