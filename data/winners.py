"""Winners of judgements: as names of systems or as sides, and what a line of a file may hold."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator, Field

from core.errors import format_value, suggest_similar
from core.settings import NonNegative
from data.numeric import name_of, parse_finite, parse_number
from data.records import Name, Record, Text

A = ("a", "model_a", "model_1", "left", "first")
B = ("b", "model_b", "model_2", "right", "second")
TIES = ("tie", "draw", "both", "both_bad", "bothbad", "tie (bothbad)", "tie (both bad)")
WINS = {
    **dict.fromkeys(A, 1.0),
    **dict.fromkeys(B, 0.0),
    **dict.fromkeys(TIES, 0.5),
}  # in any case


def _parse_cell(cell: object) -> object:
    return parse_number(cell) if isinstance(cell, str) else cell


Length = Annotated[NonNegative, BeforeValidator(_parse_cell)]


def _check_winner(value: object) -> object:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError("must be a name or a number from 0 to 1")


Winner = Annotated[str | float, BeforeValidator(_check_winner)]


class PreferenceRecord(Record):
    """One judgement of a file."""

    id: Name | None = None
    group: Name | None = None
    system_a: Name
    system_b: Name
    winner: Winner | None = None
    rater: Name | None = None
    judges: Mapping[Text, Winner | None] = Field(default_factory=dict)
    length_a: Length | None = None
    length_b: Length | None = None

    @property
    def winners(self) -> list[str | float]:
        """The winners that the line names: by people and by judges."""
        winners = (self.winner, *self.judges.values())
        return [winner for winner in winners if winner is not None]

    def by_name(self, winner: str | float) -> float | None:
        """Returns 1 if the winner is the name of system a, 0 if it is that of system b, else None."""
        name = winner if isinstance(winner, str) else str(name_of(winner))
        if name == self.system_a:
            return 1.0
        return 0.0 if name == self.system_b else None


def read_side(winner: str | float) -> float | None:
    """Reads a winner as a side: 1 for the first side (a, left ...), 0 for the second, .5 for a tie; else None.

    A number from 0 to 1 is returned as it is.
    """
    outcome = _read_word(winner) if isinstance(winner, str) else winner
    is_outcome = outcome is not None and 0 <= outcome <= 1
    return outcome if is_outcome else None


@lru_cache
def _read_word(winner: str) -> float | None:
    return WINS.get(winner.lower(), parse_finite(winner))


@dataclass(frozen=True)
class WinnerReader:
    """Reads the winners of a file. Each winner is read as the name of a system first, or as a side first."""

    # whether the names a and b are sides, because some winner can only be a side
    sides_first: bool
    # whether they are names, because some winner can only be a name, or is one where the other system is no a or b
    names_first: bool

    @classmethod
    def of(cls, records: Iterable[PreferenceRecord]) -> "WinnerReader":
        """Finds whether names or sides come first; undecided if both kinds of winners occur, or neither."""
        only_sides = only_names = names = False
        for record in records:
            has_other = not {record.system_a.lower(), record.system_b.lower()} <= {*A, *B}
            for winner in record.winners:
                name = record.by_name(winner)
                side = read_side(winner)
                only_sides |= isinstance(winner, str) and name is None and side in (0.0, 1.0)
                only_names |= name is not None and side is None
                names |= name is not None and has_other
        return cls(only_sides and not only_names, not only_sides and (only_names or names))

    def read(self, record: PreferenceRecord, winner: str | float | None) -> float | None:
        """Returns the preference for a: 1 if a wins, 0 if b wins, .5 for a tie, or a probability.

        Returns None for an unknown or missing winner.
        """
        if winner is None:
            return None
        name = record.by_name(winner)
        side = read_side(winner)
        first, second = (side, name) if self.sides_first else (name, side)
        return second if first is None else first


def find_problems(record: PreferenceRecord, reader: WinnerReader) -> Iterator[str]:
    """Yields what is wrong with a judgement, one sentence per problem."""
    systems = (record.system_a, record.system_b)
    if not (record.group or record.id):
        yield '"group" or "id" is needed: the input that both systems answer'
    if systems[0] == systems[1]:
        yield f"two systems must be compared, found {format_value(systems[0])} twice"
    if "tie" in systems:
        yield 'no system may be called "tie"'
    for name, verdict in record.judges.items():
        if verdict is not None and reader.read(record, verdict) is None:
            yield f"the verdict of {name} must be a system, a, b or tie, found {format_value(verdict)}"
    if record.winner is None:
        return
    if reader.read(record, record.winner) is None:
        names = f"{format_value(systems[0])}, {format_value(systems[1])}"
        rule = f'"winner" must be {names}, "a", "b" or "tie"'
        yield f"{rule}, found {format_value(record.winner)}{suggest_similar(str(record.winner), systems)}"
    by_name = record.by_name(record.winner)
    by_side = read_side(record.winner)
    are_both = isinstance(record.winner, str) and None not in (by_name, by_side)
    is_decided = reader.sides_first or reader.names_first
    if are_both and by_name != by_side and not is_decided:
        rule = f"{format_value(record.winner)} is the name of a system and a side: write the sides as model_a, model_b"
        yield f'"winner" must be clear, but {rule}'
