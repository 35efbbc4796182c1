"""Redaction: the values of secret environment variables never reach logs, configurations, pages or W&B.

A variable is secret if its name ends like `HF_TOKEN`, `WANDB_API_KEY` or `DB_PASSWORD`. A configuration can hold its
value through `${oc.env:NAME}`, and the message of a library's error can, too.
"""

import logging
import os
import re

SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
SHORTEST = 8  # characters; a shorter value may be a common word


def redact(text: str) -> str:
    """The text with `<NAME>` in place of the value of every secret environment variable."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and SECRET.search(name):
            text = text.replace(value, f"<{name}>")
    return text


class RedactingFormatter(logging.Formatter):
    """Formats a log record, its traceback included, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return redact(super().format(record))
