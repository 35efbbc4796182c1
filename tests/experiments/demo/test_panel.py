"""Twenty texts that the generator of `make models` wrote, guided but for two, as they are kept in `panel.tsv`."""

import re
from pathlib import Path

from data.builtin.remarks import SENTIMENTS, TOPICS, generate_remarks

PANEL = Path(__file__).with_name("panel.tsv").read_text(encoding="utf-8")
ROWS = [line.split("\t") for line in PANEL.splitlines()]


def test_the_panel_has_whole_words() -> None:
    assert len(ROWS) == 20
    assert {label for label, _ in ROWS} == {*SENTIMENTS, *TOPICS, "unguided"}
    known = {word for text in generate_remarks(16_000, 0, verdicts=0.5) for word in re.findall(r"\w+", text.text)}
    assert {word for _, text in ROWS for word in re.findall(r"\w+", text)} <= known


def test_texts_of_the_panel_are_new() -> None:
    assert not {text for _, text in ROWS} & {each.text for each in generate_remarks(16_000, 0, verdicts=0.5)}
