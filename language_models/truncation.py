"""What to do with a text that is longer than a model reads at once."""

from typing import Literal

# Refuse it; cut it and count what is lost; or read all of it in windows.
Truncation = Literal["error", "warn", "window"]
