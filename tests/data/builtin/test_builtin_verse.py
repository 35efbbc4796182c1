"""Built-in verse: forms, rhymes and tones, confirmed by pypinyin."""

import pytest
from pypinyin import Style, lazy_pinyin

from core.example import Example
from data.builtin.verse import MODIFIERS, PATTERNS, RHYMES, THEMES, generate_verse

RHYME_OF = {word: final for final, words in RHYMES.items() for word in words}


def tone(word: str) -> str:
    """平 or 仄, of the last character, read as it is read in the word."""
    return "平" if lazy_pinyin(word, style=Style.TONE3)[-1][-1] in "12" else "仄"


def phrases(poem: Example) -> list[str]:
    """The phrases of a poem with their marks, cut by the form of its tune."""
    found, at = [], 0
    for pattern in PATTERNS[str(poem.prefix)]:
        found.append(poem.text[at : at + len(pattern)])
        at += len(pattern)
    assert at == len(poem.text)
    return found


def test_lines_of_a_poem_rhyme_on_different_words() -> None:
    for poem in generate_verse(300, 1):
        ends = [phrase[-3:-1] for phrase in phrases(poem) if phrase[-1] == "。"]
        assert len({RHYME_OF[end] for end in ends}) == 1
        assert len(set(ends)) == len(ends)


def test_pypinyin_confirms_tones() -> None:
    for theme in THEMES.values():
        assert {tone(w) for w in theme.level} == {"平"}
        assert {tone(w) for w in theme.oblique} == {"仄"}
        assert len(set(theme.level)) == len(set(theme.oblique)) == 12
    assert all(tone(w) == wanted for wanted, words in MODIFIERS.items() for w in words)


@pytest.mark.parametrize("final", RHYMES)
def test_pypinyin_confirms_rhymes(final: str) -> None:
    words = RHYMES[final]
    assert len(set(words)) == len(words) == 16
    assert {lazy_pinyin(w, style=Style.FINALS, strict=True)[-1] for w in words} == {final}
    assert {tone(w) for w in words} == {"平"}
