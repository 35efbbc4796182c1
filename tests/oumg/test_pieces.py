"""Units of length and templates: exact values by hand."""

from oumg.pieces import pieces, plain, shared_start, without


def test_a_template_leaves_two_pieces_and_is_held_by_nearly_all() -> None:
    assert shared_start([["a ", "b ", "c"]] * 3) == ("a ",)
    assert shared_start([["a ", "b ", "c"]] * 18 + [["x ", "y ", "z"]]) == ()
    assert shared_start([["a ", "b ", "c"]] * 19 + [["x ", "y ", "z"]]) == ("a ",)
    assert shared_start([["a ", "b"]]) == ()
    assert without(["a ", "b ", "c ", "d"], {("a ",), ("a ", "b ")}, {("d",)}) == ["a ", "b ", "c ", "d"]
    assert without(["a ", "b ", "c ", "d ", "e"], {("a ",), ("a ", "b ")}, {("e",)}) == ["c ", "d "]


def test_pieces_of_a_text_are_the_text() -> None:
    text = plain("  Well,\n don't  好的！e\u0301 x_y 3.5")
    assert text == "Well, don't 好的！é x_y 3.5"
    for kind in ("words", "characters", "jieba", "bpe"):
        assert "".join(pieces(text, kind)) == text
    assert [p.strip() for p in pieces(text, "words")] == [
        *("Well", ",", "don", "'", "t", "好", "的", "！", "é", "x_y", "3", ".", "5")
    ]
    assert pieces("今天 天气好", "jieba") == ["今天 ", "天气", "好"]
    assert pieces("", "words") == []
