"""Tokens of a classifier: a learned vocabulary, the vocabulary of another model, or the tokenizer of an encoder."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerBase

from core.errors import SettingError, blame_file
from core.settings import Count, checked_dataclass, read_settings
from core.stages import fingerprint
from data.words import RUNS_AND_MARKS, split_chinese
from discriminators.segments import Segments, TokenFrame, clean
from models.loading import check_tokens, copy_backend, load_tokenizer, tokenizer_fingerprint
from models.model import plain_token_ids
from models.tiny import train_byte_level_bpe

LEARNED = ("characters", "jieba", "words", "bpe")
BORROWED = "tokenizer"
FILE = "vocabulary.json"
SPECIAL = ["<pad>", "<unk>", "<sep>"]  # ids 0, 1 and 2


@dataclass(frozen=True)
class Vocabulary:
    """Tokens and their ids; text that spells a special token is read as plain text."""

    # `characters`; `jieba` words; `words`, which are runs of word characters and single other marks; `bpe`, byte-level
    # byte-pair encoding, which knows no unknown token; or `tokenizer`, one of another model
    kind: str
    # the trained tokenizer, or that of the other model
    tokenizer: Tokenizer
    # the longest sequence to read at once
    max_length: int

    def __len__(self) -> int:
        return self.first + max(self.tokenizer.get_vocab().values()) + 1

    @property
    def first(self) -> int:
        """The id that the tokenizer's token 0 has here; another model's tokens come after our special tokens."""
        return len(SPECIAL) if self.kind == BORROWED else 0

    @property
    def layout(self) -> TokenFrame:
        """The special tokens around segments: `<sep>` between them, nothing at the ends."""
        return TokenFrame(
            start=(),
            separator=SPECIAL.index("<sep>"),
            end=(),
            pad=0,
            max_length=self.max_length,
        )

    def encode(self, segments: Sequence[str]) -> list[list[int]]:
        """Returns the token ids of each segment, without special tokens that the tokenizer may add (T5's end token)."""
        is_jieba = self.kind == "jieba"
        encoded = self.tokenizer.encode_batch_fast(
            list(map(_jieba_words, segments)) if is_jieba else list(segments),
            is_pretokenized=is_jieba,
            add_special_tokens=False,
        )
        return [self._shift(encoding.ids) for encoding in encoded]

    @property
    def ids(self) -> dict[str, int]:
        """The ids that the tokenizer gives its tokens."""
        return self.tokenizer.get_vocab()

    @property
    def identity(self) -> str:
        """What changes with how texts are encoded."""
        return fingerprint([self.kind, self.tokenizer.to_str()])

    def _shift(self, ids: Sequence[int]) -> list[int]:
        """The ids behind those of the special tokens."""
        return [self.first + number for number in ids]

    def save(self, folder: Path) -> None:
        content = {
            "kind": self.kind,
            "max_length": self.max_length,
            "tokenizer": json.loads(self.tokenizer.to_str()),
        }
        (folder / FILE).write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


@checked_dataclass
class SavedVocabulary:
    """The content of `vocabulary.json`."""

    kind: Literal["characters", "jieba", "words", "bpe", "tokenizer"]
    max_length: Count
    tokenizer: dict[str, Any]


def load_vocabulary(folder: Path) -> Vocabulary:
    """Loads the vocabulary that `save` wrote. Raises InputError for a broken file."""
    path = folder / FILE
    content = read_settings(path, SavedVocabulary)
    with blame_file(path):
        tokenizer = Tokenizer.from_str(json.dumps(content["tokenizer"]))
    tokenizer.encode_special_tokens = True  # not kept in the tokenizer's own json
    return Vocabulary(content["kind"], tokenizer, content["max_length"])


@dataclass(frozen=True)
class ModelTokens:
    """The tokenizer of a language model; text that spells a special token is read as plain text."""

    # where it lies in the folder of a saved classifier
    folder: ClassVar[str]
    tokenizer: PreTrainedTokenizerBase
    # the longest sequence to read at once
    max_length: int

    def __len__(self) -> int:
        return len(self.tokenizer)

    @property
    def layout(self) -> TokenFrame:
        """The special tokens around segments."""
        raise NotImplementedError

    @property
    def ids(self) -> dict[str, int]:
        """The ids of the tokens."""
        return self.tokenizer.get_vocab()

    @property
    def identity(self) -> str:
        """What changes with how texts are encoded."""
        return tokenizer_fingerprint(self.tokenizer)

    def encode(self, segments: Sequence[str]) -> list[list[int]]:
        """Returns the token ids of each segment, without special tokens."""
        return plain_token_ids(self.tokenizer, segments)

    def save(self, folder: Path) -> None:
        self.tokenizer.save_pretrained(folder / self.folder)


class EncoderTokens(ModelTokens):
    """The tokenizer of an encoder."""

    folder = "encoder"

    @property
    def layout(self) -> TokenFrame:
        """The special tokens around segments: [CLS] segment [SEP] segment [SEP], as the tokenizer spells them."""
        ids = {name: getattr(self.tokenizer, f"{name}_token_id") for name in ("cls", "sep", "pad")}
        missing = [name for name, value in ids.items() if value is None]
        if missing:
            raise SettingError(f"the tokenizer of an encoder needs cls, sep and pad tokens, but has no {missing}")
        return TokenFrame(
            start=(ids["cls"],),
            separator=ids["sep"],
            end=(ids["sep"],),
            pad=ids["pad"],
            max_length=self.max_length,
        )


class GeneratorTokens(ModelTokens):
    """The tokenizer of a generator, whose tokens a causal guide reads as they are."""

    folder = "tokenizer"

    @property
    def layout(self) -> TokenFrame:
        """How a text to learn begins and ends: the end token follows it, if the tokenizer has one."""
        end: Any = self.tokenizer.eos_token_id
        return TokenFrame(
            (),
            separator=0,
            end=() if end is None else (end,),
            pad=0,
            max_length=self.max_length,
        )


def load_tokens(folder: Path, max_length: int) -> Vocabulary | GeneratorTokens:
    """Loads the tokens of a saved classifier that has no encoder. Raises InputError for broken ones."""
    place = folder / GeneratorTokens.folder
    if not place.is_dir():
        return load_vocabulary(folder)
    tokenizer = load_tokenizer(place)
    check_tokens(folder, tokenizer, len(tokenizer))
    return GeneratorTokens(tokenizer, max_length)


def drop_repeated_texts(texts: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Removes repeated texts, and texts that are the beginning of another one; keeps the order of first occurrence.

    A text may be in several training pairs, cut to a different length in each. If each copy counted, its rare tokens
    would enter the vocabulary, but rare tokens of texts in one pair would not. This would reveal the class.

    >>> drop_repeated_texts([("ab",), ("abc",), ("b",), ("abc",), ("x", "ab")])
    [('abc',), ('b',), ('x', 'ab')]
    """
    distinct = list(dict.fromkeys(texts))
    by_length = sorted(distinct, key=lambda text: (len(text), text))  # the texts that begin with a text follow it
    begun = {text for text, following in pairwise(by_length) if _begins(following, text)}
    return [text for text in distinct if text not in begun]


def _begins(whole: tuple[str, ...], text: tuple[str, ...]) -> bool:
    """Whether a text of as many segments begins with `text`: its last segment alone may go on."""
    if not text or len(text) != len(whole):
        return False
    return text[:-1] == whole[:-1] and whole[-1].startswith(text[-1])


def train_vocabulary(
    texts: Iterable[Segments],
    kind: str,
    size: int,
    max_length: int,
    min_count: int = 2,
) -> Vocabulary:
    """Makes a vocabulary of at most `size` tokens (three are special): those with `min_count` occurrences.

    The most frequent ones come first. Repeated texts count once (`drop_repeated_texts`).

    Raises SettingError for an unknown kind, and for `tokenizer`, which needs `borrowed_vocabulary`.
    """
    if kind not in LEARNED:
        raise SettingError(f"tokens must be {', '.join(LEARNED)}, but are {kind!r}")
    distinct = drop_repeated_texts(map(tuple, texts))
    segments = [clean(segment) for text in distinct for segment in text]
    if kind == "bpe":
        tokenizer = train_byte_level_bpe(
            segments,
            size,
            SPECIAL,
            min_count,
        )
    else:
        tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
        if kind == "characters":
            tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        elif kind == "words":
            words = pre_tokenizers.Split(Regex(RUNS_AND_MARKS.pattern), "isolated")
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), words])
        trainer = trainers.WordLevelTrainer(
            vocab_size=size,
            min_frequency=min_count,
            special_tokens=SPECIAL,
            show_progress=False,
        )
        read = map(_jieba_words, segments) if kind == "jieba" else segments
        tokenizer.train_from_iterator(read, trainer)
    tokenizer.encode_special_tokens = True
    return Vocabulary(kind, tokenizer, max_length)


def borrowed_vocabulary(tokenizer: PreTrainedTokenizerBase, max_length: int) -> Vocabulary:
    """Makes a vocabulary of the tokens of another model.

    Raises SettingError for a slow tokenizer, which is written in Python.
    """
    if not tokenizer.is_fast:
        raise SettingError(f"a tokenizer needs a tokenizer.json (a fast one), but {tokenizer.name_or_path!r} has none")
    own = copy_backend(tokenizer)
    own.encode_special_tokens = True
    return Vocabulary(BORROWED, own, max_length)


def _jieba_words(segment: str) -> list[str]:
    return [word for word in split_chinese(segment) if not word.isspace()]
