"""Which texts are kept for rated sets."""

import zlib

RESERVED_SHARE = 8  # one text in this many


def is_reserved(text: str) -> bool:
    """Whether a text is kept for rated sets: a property of the text alone, so that no seed mixes it with training."""
    return zlib.crc32(text.encode()) % RESERVED_SHARE == 0
