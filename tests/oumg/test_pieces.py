"""Units of length and templates: exact values by hand."""

from oumg.pieces import find_shared_start, normalise_text, split_pieces, strip_templates


def test_a_template_leaves_two_pieces_and_is_held_by_nearly_all() -> None:
    assert find_shared_start([["a ", "b ", "c"]] * 3) == ("a ",)
    assert find_shared_start([["a ", "b ", "c"]] * 18 + [["x ", "y ", "z"]]) == ()
    assert find_shared_start([["a ", "b ", "c"]] * 19 + [["x ", "y ", "z"]]) == ("a ",)
    assert find_shared_start([["a ", "b"]]) == ()
    assert strip_templates(["a ", "b ", "c ", "d"], {("a ",), ("a ", "b ")}, {("d",)}) == ["a ", "b ", "c ", "d"]
    assert strip_templates(["a ", "b ", "c ", "d ", "e"], {("a ",), ("a ", "b ")}, {("e",)}) == ["c ", "d "]


def test_pieces_of_a_text_are_the_text() -> None:
    text = normalise_text("  Well,\n don't  好的！e\u0301 x_y 3.5")
    assert text == "Well, don't 好的！é x_y 3.5"
    for kind in ("words", "characters", "jieba", "bpe"):
        assert "".join(split_pieces(text, kind)) == text
    assert [p.strip() for p in split_pieces(text, "words")] == [
        *("Well", ",", "don", "'", "t", "好", "的", "！", "é", "x_y", "3", ".", "5")
    ]
    assert split_pieces("今天 天气好", "jieba") == ["今天 ", "天气", "好"]
    assert split_pieces("", "words") == []
