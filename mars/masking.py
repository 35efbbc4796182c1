"""Masking: which words of a human reference become blanks (MARS, section 2.1 and Appendix A). No model here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Blank:
    """A run of masked words, [B]: `count` of them, at least one."""

    count: int


@dataclass(frozen=True)
class Kept:
    """A run of kept words, [T]: a slice of the reference with the white space before it."""

    text: str


Template = tuple[Blank | Kept, ...]
"""Blanks and kept runs in turn. White space at the end of the reference belongs to the last part if it is kept."""
