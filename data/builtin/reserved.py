"""Reserves texts for rated sets."""

import zlib

RESERVED_SHARE = 8  # one text in eight is reserved


def is_reserved(text: str) -> bool:
    """Whether a text is reserved for rated sets. This depends on the text alone, so no seed uses it for training."""
    return zlib.crc32(text.encode()) % RESERVED_SHARE == 0
