"""Content words and their neighbours in the tokens of real vocabularies."""

import random

from cdm.content import content_gap, is_content
from cdm.pair import Pair


def test_a_gap_holds_a_content_word_and_whole_words_around_it(pair: Pair, dialogues: list[tuple[str, ...]]) -> None:
    tokenised = pair.tokenise(dialogues)
    for i, turns in enumerate(tokenised.dialogues):
        gap = content_gap(tokenised.spell(turns), random.Random(i), given=1)
        assert gap is not None
        assert gap.turn >= 1
        turn = list(turns[gap.turn])
        text, part = pair.amateur.tokenizer.batch_decode([turn, turn[gap.start : gap.stop]])
        words = part.split()
        assert 1 <= len(words) <= 5
        assert set(words) <= set(text.split())
        assert any(is_content(word) for word in words)


def test_without_content_words_there_is_no_gap() -> None:
    assert content_gap([["i", "Ġam"], ["Ġ7"]], random.Random(0)) is None
