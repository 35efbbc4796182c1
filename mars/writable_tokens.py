"""Which tokens a fill may contain: no end of text, no line break, and never half a character at the end.

Byte-level BPE may spread a character over several tokens. `WritableTokens` knows the bytes of every token, so that a
fill is valid UTF-8 at every step and ends with a whole character. A fill begins a new word: after "car" it must not
begin with "pet".
"""

import codecs
import unicodedata
from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor
from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from core.errors import SettingError
from data.words import begins_inside_word, ends_in_word, is_punctuation

BANNED = {"Cc", "Zl", "Zp"}  # control characters, among them all line breaks; separators of lines and paragraphs
LONGEST = 4  # bytes of a character in UTF-8


def count_missing_bytes(text: bytes) -> int | None:
    """Counts the bytes that the last character lacks; None for bytes that no valid text has or that are banned.

    >>> count_missing_bytes("né".encode()), count_missing_bytes("é".encode()[:1]), count_missing_bytes("é".encode()[1:])
    (0, 1, None)
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        complete = decoder.decode(text)
    except UnicodeDecodeError:
        return None
    if any(unicodedata.category(character) in BANNED for character in complete):
        return None
    pending = decoder.getstate()[0]
    if not pending:
        return 0
    if pending[0] == 0xED and pending[1:2] >= b"\xa0":  # the decoder accepts the beginning of a surrogate
        return None
    return _count_bytes(pending[0]) - len(pending)


def _count_bytes(first: int) -> int:
    """How many bytes a character has that begins with this byte, of which there are several."""
    if first < 0xE0:
        return 2
    return 3 if first < 0xF0 else LONGEST


class WritableTokens:
    """The bytes of every token, which decide what may be written next; `size` is the model's number of logits."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        size: int,
        device: torch.device | str = "cpu",
    ) -> None:
        """Raises SettingError for a tokenizer that is not a byte-level BPE."""
        table = {character: byte for byte, character in bytes_to_unicode().items()}
        special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
        tokens = tokenizer.convert_ids_to_tokens(list(range(min(size, len(tokenizer)))))
        self.bytes: list[bytes] = []
        for index, token in enumerate(tokens):
            if index in special or token is None:
                self.bytes.append(b"")
            elif all(character in table for character in token):
                self.bytes.append(bytes(table[character] for character in token))
            else:
                raise SettingError(
                    f"MARS needs a byte-level BPE (GPT-2, Llama 3, Qwen), but {type(tokenizer).__name__} of "
                    f"{tokenizer.name_or_path!r} has the token {token!r}"
                )
        self.size = size
        self.device = device
        single = {token for token in self.bytes if len(token) == 1}
        # Unless every byte is a token, it may be impossible to complete a character.
        following = {bytes([byte]) for byte in range(0x80, 0xC0)}
        self.most = LONGEST - 1 if following <= single else 0
        self._allowed: dict[tuple[bytes, int, bool], Bool[Tensor, " vocabulary"]] = {}
        self._missing: dict[bytes, list[int | None]] = {}
        if not self.allowed(b"", 0).any():
            raise SettingError(f"none of the {len(tokens)} tokens of {tokenizer.name_or_path!r} may be written")
        if not self.allowed(b"", 0, after_word=True).any():
            raise SettingError(
                f"MARS needs a tokenizer with a token that begins a new word, such as a space, but none of the "
                f"{len(tokens)} tokens of {tokenizer.name_or_path!r} does"
            )

    def allowed(
        self,
        pending: bytes,
        room: int,
        after_word: bool = False,
    ) -> Bool[Tensor, " vocabulary"]:
        """Says which tokens may follow `pending`, the first bytes of a character, if `room` more tokens fit after them.

        With `after_word`, a token must not continue the word before it, nor end inside a character.
        """
        key = pending, min(room, self.most), after_word
        if key not in self._allowed:
            if pending not in self._missing:
                self._missing[pending] = [
                    count_missing_bytes(pending + token) if token else None for token in self.bytes
                ]
            _, room, _ = key
            may = [missing is not None and missing <= room for missing in self._missing[pending]]
            if after_word:
                may = [ok and self._begins_word(token) for ok, token in zip(may, self.bytes, strict=True)]
            without_bytes = [False] * (self.size - len(may))
            self._allowed[key] = torch.tensor(may + without_bytes, device=self.device)
        return self._allowed[key]

    def _begins_word(self, token: bytes) -> bool:
        text = token.decode("utf-8", errors="ignore")
        return text != "" and not begins_inside_word(text)

    def ends_in_word(self, tokens: Sequence[int]) -> bool:
        """Whether a letter after the tokens would continue their last word; only the last few tokens are examined.

        A special token is not the end of a word.
        """
        last = b"".join(self.bytes[token] for token in tokens[-8:])
        return ends_in_word(last.decode("utf-8", errors="ignore"))

    def is_mark(self, token: int) -> bool:
        """Whether a token consists only of punctuation and spaces."""
        return is_punctuation(self.bytes[token].decode("utf-8", errors="replace").strip())

    def pending(self, pending: bytes, *tokens: int) -> bytes:
        """Returns the bytes of an incomplete character that remain after the tokens; empty if there are none."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        decoder.decode(pending + b"".join(self.bytes[token] for token in tokens))
        return decoder.getstate()[0]

    def text(self, tokens: list[int]) -> str:
        """Returns the text of the tokens. Raises UnicodeDecodeError if a character is incomplete."""
        return b"".join(self.bytes[token] for token in tokens).decode("utf-8")
