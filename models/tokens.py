"""The text of a generator's tokens."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase


def decode_tokens(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], keep_special: bool = False) -> str:
    """The text of token ids, exactly as the tokens spell it; special tokens only with `keep_special`."""
    return str(tokenizer.decode(list(ids), skip_special_tokens=not keep_special, clean_up_tokenization_spaces=False))
