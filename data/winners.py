"""Winners of judgements: as names of systems or as sides."""

from typing import Any

from core.errors import format_value, suggest_similar
from data.numeric import name_of, parse_finite

A = ("a", "model_a", "model_1", "left", "first")
B = ("b", "model_b", "model_2", "right", "second")
TIES = ("tie", "draw", "both", "both_bad", "bothbad", "tie (bothbad)", "tie (both bad)")
WINS = {
    **dict.fromkeys(A, 1.0),
    **dict.fromkeys(B, 0.0),
    **dict.fromkeys(TIES, 0.5),
}  # in any case


def read_winner(winner: Any, system_a: str, system_b: str) -> float | None:
    """Reads a winner as the preference for system a: 1 if it wins, 0 if b does, .5 for a tie, or a probability.

    Returns None for a missing winner. Raises ValueError for an unknown one, and for one that is the name of a system
    and the other side.
    """
    if winner is None:
        return None
    word = str(name_of(winner)).strip()
    by_name = {system_b: 0.0, system_a: 1.0}.get(word)
    number = parse_finite(word)
    by_side = WINS.get(word.lower(), number if number is not None and 0 <= number <= 1 else None)
    known = {outcome for outcome in (by_name, by_side) if outcome is not None}
    if len(known) == 1:
        return known.pop()
    shown = format_value(winner)
    if known and number is None:
        rule = f"{shown} is the name of a system and a side: write the sides as model_a, model_b"
        raise ValueError(f"must be clear, but {rule}")
    if known:
        return by_name  # a system that is called like a number
    names = f"{format_value(system_a)}, {format_value(system_b)}"
    raise ValueError(
        f'must be {names}, "a", "b" or "tie", found {shown}{suggest_similar(str(winner), (system_a, system_b))}'
    )
