"""Texts as the tokens of a generator and back, without special tokens."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase


def encode_texts(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """The token ids of each text; text that spells a special token is read as plain text."""
    if not texts:
        return []
    return tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]  # pyright: ignore[reportReturnType]


def decode_tokens(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], keep_special: bool = False) -> str:
    """The text of token ids, exactly as the tokens spell it; special tokens only with `keep_special`."""
    return str(tokenizer.decode(list(ids), skip_special_tokens=not keep_special, clean_up_tokenization_spaces=False))
