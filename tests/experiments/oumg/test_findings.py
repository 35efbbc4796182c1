"""Parts of the test pairs, by how much of their texts was cut."""

from core.example import Example
from experiments.oumg.findings import part_pairs
from oumg.comparison import OutputPair


def test_pairs_in_which_a_text_lost_more_than_half_are_a_part_of_their_own() -> None:
    text = Example("e", text="red sun")

    def pair(*lost: float) -> OutputPair:
        return OutputPair("i", (text, text), text, text, (), lost)

    assert part_pairs([pair(0, 0.5, 0, 0), pair(0, 0, 0, 0)]) == {"all": [0, 1]}
    mixed = [pair(0, 0.6, 0, 0), pair(0, 0, 0, 0.5), pair(0, 0, 0, 0.9)]
    assert part_pairs(mixed) == {"all": [0, 1, 2], "more than half lost": [0, 2], "at most half lost": [1]}
    assert part_pairs(mixed[:1]) == {"all": [0], "more than half lost": [0]}
