from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from transformers import ByT5Tokenizer

from core.errors import SettingError
from data.words import RUNS_AND_MARKS
from discriminators.vocabulary import borrowed_vocabulary, load_vocabulary, train_vocabulary
from models.tiny import train_tokenizer

TEXT = ["don't stop, stop", "stop <sep> now now", "明月几时有 把酒问青天", "明月 明月"]


def train(kind: str, size: int = 500, texts: Sequence[str] = TEXT, min_count: int = 1) -> Any:
    return train_vocabulary([(text,) for text in texts], kind, size, 64, min_count=min_count)


def spelled(segment: str, kind: str) -> list[str]:
    vocabulary = train(kind, texts=(*TEXT, segment))
    return [str(vocabulary.tokenizer.id_to_token(i)) for i in vocabulary.encode([segment])[0]]


def test_what_a_token_is():
    assert spelled("don't  go", "words") == ["don", "'", "t", "go"]
    for text in (
        "Ann didn’t pay $1,000.50, x_y!",
        "&amp; [MALE]'s km²",
        "明月几时有？ab把酒3",
        "ㄅㄆ ニャー 안녕 café",
        " \n",
        "",
    ):
        assert spelled(text, "words") == RUNS_AND_MARKS.findall(text)  # two engines of regular expressions
    assert spelled("हिन्दी", "words") == ["हिन्दी"] != RUNS_AND_MARKS.findall("हिन्दी")
    assert spelled("明月,a b", "characters") == ["明", "月", ",", "a", " ", "b"]
    assert spelled("我们今天去公园", "jieba") == ["我们", "今天", "去", "公园"]
    assert "".join(spelled("stop now", "bpe")) == "stopĠnow"


@pytest.mark.parametrize("kind", ["characters", "jieba", "words", "bpe"])
def test_special_tokens_are_reserved_and_saved_alike(kind: str, tmp_path: Path):
    vocabulary = train(kind)
    assert [vocabulary.tokenizer.id_to_token(i) for i in range(3)] == ["<pad>", "<unk>", "<sep>"]
    assert vocabulary.layout.separator == 2
    ids = vocabulary.encode(["<sep> <pad> stop", *TEXT, ""])
    assert not {0, 2} & {i for segment in ids for i in segment}
    vocabulary.save(tmp_path)
    kept = load_vocabulary(tmp_path)
    assert kept.encode(["<sep> <pad> stop", *TEXT, ""]) == ids
    assert (len(kept), kept.max_length, kept.kind) == (len(vocabulary), 64, kind)
    written = (tmp_path / "vocabulary.json").read_bytes()
    train(kind).save(tmp_path)
    assert (tmp_path / "vocabulary.json").read_bytes() == written


def test_rare_words_are_unknown_and_bytes_never():
    words = train("words", min_count=2)
    assert words.encode(["stop other"])[0] == [words.tokenizer.token_to_id("stop"), 1]
    assert len(train("words", size=4)) == 4
    assert 1 not in train("bpe", size=300).encode(["zebra 龍 🙂"])[0]


def test_tokens_of_another_model_stand_behind_the_special_ones(tmp_path: Path):
    tokenizer = train_tokenizer(TEXT, 300, sentinels=())
    tokenizer.model_max_length = 2
    vocabulary = borrowed_vocabulary(tokenizer, 64)
    words = ["don't stop", "now </s> <sep>"]
    plain = tokenizer(words, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert vocabulary.encode(words) == [[i + 3 for i in ids] for ids in plain]
    assert len(vocabulary) == len(tokenizer) + 3
    assert vocabulary.layout.separator == 2
    with pytest.raises(SettingError, match=r"a tokenizer needs a tokenizer.json \(a fast one\), but 'mine' has none"):
        borrowed_vocabulary(ByT5Tokenizer(name_or_path="mine"), 64)
    vocabulary.save(tmp_path)
    kept = load_vocabulary(tmp_path)
    assert (kept.encode(words), kept.kind, len(kept)) == (vocabulary.encode(words), "tokenizer", len(vocabulary))
