"""Faults in a message: equal ones as one line, and no flood."""

from core.faults import InputFaults, fault


def test_equal_faults_of_a_file_are_one_line() -> None:
    many = [fault("in.jsonl", line, "text is empty") for line in range(1, 100_001)]
    few = [fault("in.jsonl", line, 'must be a list, found ["a", 1: 2]') for line in (4, 2)]
    other = [fault("other.jsonl", 3, "text is empty"), "output must be a regular file"]
    assert str(InputFaults([*few, *many, *other])).splitlines() == [
        *few,
        "in.jsonl:1: text is empty (the first of 100,000 lines with this fault: 1, 2, 3, 4, 5, …)",
        *other,
    ]
    assert InputFaults(many).faults == tuple(many)


def test_a_message_of_different_faults_ends_after_a_hundred_lines() -> None:
    faults = [fault("in.jsonl", line, f'must be a number, found "{line}"') for line in range(1, 1001)]
    assert str(InputFaults(faults)).splitlines() == [*faults[:100], "… and 900 more such lines"]
