"""Shells: every command of README and docs reaches the program with the same words in bash, zsh and fish."""

import re
import shlex
import shutil
import subprocess

import pytest

from experiments.runner.words import VERBS
from tests.repository.test_docs import PAGES

SHELLS = {"bash": ("--norc",), "zsh": ("-f",), "fish": ("--no-config",)}
PROGRAMS = ("judge", "python", "pip")
FIRST = "|".join(["-", *sorted({verb.split()[0] for verb in VERBS}), "iwf", "models", "oumg", "guided_text"])
STARTS = rf"judge (?:{FIRST})|python experiments/run.py [-+]|pip install "
FUNCTION = "{0}() {{ printf '%s\\n' {0} \"$@\"; }}"
FISH = "function {0}; printf '%s\\n' {0} $argv; end"


def printed() -> list[str]:
    """Each command as it is printed in a code block or span, on one line."""
    text = "\n".join(re.sub(r"\s*\\\n\s*", " ", page.read_text(encoding="utf-8")) for page in PAGES)
    found = re.findall(rf"(?:^(?:\$ )?|`)((?:{STARTS})[^`\n]*)(?:$|`)", text, re.MULTILINE)
    return [command for command in dict.fromkeys(found) if not command.endswith(("...", "| source"))]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_command_has_the_same_words_in_every_shell(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    commands = printed()
    assert len(commands) > 100
    form = FISH if shell == "fish" else FUNCTION
    script = "\n".join([*map(form.format, PROGRAMS), *commands])
    done = subprocess.run([shell, *SHELLS[shell], "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [word for command in commands for word in shlex.split(command, comments=True)]
