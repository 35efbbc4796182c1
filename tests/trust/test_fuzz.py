"""Random input: a reader returns examples or raises the faults of the user's file, and never anything else.

`FUZZ=1000000 pytest tests/trust/test_fuzz.py -s` tries so many files per reader and prints the number; `FUZZ_SEED`
chooses others.
"""

import json
import math
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import InputError
from data.documents import read_documents
from data.files import read_examples, write_examples
from data.scored import read_scored
from data.sets.dialogues import read_utt_lines
from data.text_files import read_texts

CASES, SEED = int(os.environ.get("FUZZ", "150")), int(os.environ.get("FUZZ_SEED", "0"))
NAMES = ["id", "text", "turns", "context", "prefix", "label", "references", "system", "group", "ratings", "scores", "x"]
NAMES += ["mt", "reference", "scores.a", "rating:b"]
FITTING = {"turns": '["a", "b"]', "references": '["a", "é"]', "ratings": '{"a": 1}', "scores": '{"b": 0.5}'}
STRANGE = [
    *("", " ", "a", "a b c", "\x00", "\x1f\x7f\x85", "\u2028\u2029", "\ufeff", "\u202e\u2066x\u2069", "e\u0301"),
    *("é", "中文", "\U0001f600", "\U000e0001", '"', '""', "'", "\\", "\\u", "\t", ",", ";", "\r", "None", "</UTT>"),
    *("a</UTT>b</UTT>", "<script>alert(1)</script>", "../../x", "%s{0}${a}", "x" * 300, "word " * 200),
]
NUMBERS = ["0", "-1", "1.5", "NaN", "Infinity", "-Infinity", "1e999", "1_0", "0x1", "true", "null"]
NUMBERS += ["1" + "0" * 400, "9" * 5000]
BROKEN = [b"\xff", b"\xfe\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00", b"\r\n", b"\n\n", b"\r"]
BROKEN += [b'"', b"{", b"]", b"\t"]


def draw_text(rng: random.Random) -> str:
    """A JSON string, sometimes with half a character or a control character in it."""
    text = json.dumps("".join(rng.choices(STRANGE, k=rng.choice((1, 1, 2, 3)))), ensure_ascii=rng.random() < 0.5)
    return text.replace('"', '"\\ud83d', 1) if rng.random() < 0.03 else text


def draw_value(rng: random.Random, depth: int = 0) -> str:
    """A JSON value, or what looks like one."""
    match rng.randrange(9 if depth < 3 else 5):
        case 0 | 1 | 2:
            return draw_text(rng)
        case 3:
            return rng.choice(NUMBERS)
        case 4:
            return "[" * rng.choice((1, 5, 3000)) if rng.random() < 0.05 else "null"
        case 5 | 6:
            return f"[{','.join(draw_value(rng, depth + 1) for _ in range(rng.randrange(4)))}]"
        case _:
            return draw_object(rng, depth + 1)


def draw_object(rng: random.Random, depth: int = 0) -> str:
    """A JSON object with names of fields, at times twice the same."""
    if rng.random() < 0.8:  # what a reader takes, most of the time
        names = ["text", *rng.sample(NAMES[2:10] + ["scores"][: rng.random() < 0.3], rng.randrange(3))]
        pairs = [(name, FITTING.get(name) or json.dumps(f"a{rng.choice(STRANGE)}")) for name in names]
    else:
        pairs = [(name, draw_value(rng, depth)) for name in rng.choices(NAMES, k=rng.randrange(1, 5))]
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in pairs) + "}"


def draw_jsonl(rng: random.Random) -> bytes:
    """Lines of JSON objects."""
    lines = [draw_object(rng) if rng.random() < 0.9 else draw_value(rng) for _ in range(rng.randrange(4))]
    return rng.choice(("\n", "\r\n")).join(lines).encode("utf-8", "surrogatepass")


def draw_table(delimiter: str, rng: random.Random) -> bytes:
    """A header and rows, with quotes that may not fit."""
    header = ["text", *rng.sample([*NAMES, "rating:a", "rating:", "scores.b"], rng.randrange(3))]
    rows = [delimiter.join(header)]
    for _ in range(rng.randrange(4)):
        cells = [rng.choice([*STRANGE, *NUMBERS, draw_value(rng)]) for _ in range(len(header) + (rng.random() < 0.05))]
        quoted = ['"' + cell.replace('"', '""') + '"' if rng.random() < 0.7 else cell for cell in cells]
        rows.append(delimiter.join(quoted))
    return rng.choice(("\n", "\r\n")).join(rows).encode("utf-8", "surrogatepass")


def draw_lines(rng: random.Random) -> bytes:
    """Lines of plain text, numbers and utterances."""
    parts = [*STRANGE, *NUMBERS, "</UTT>", " "]
    if rng.random() < 0.5:  # lines of one reader
        whole = [["a</UTT>b</UTT>0.5", "é</UTT>中文</UTT>-1e3"], ["the 0.1 0.2", "cat 1 2"]][rng.randrange(2)]
        return "\n".join(rng.choices(whole, k=rng.randrange(1, 4))).encode("utf-8")
    lines = ["".join(rng.choices(parts, k=rng.randrange(5))) for _ in range(rng.randrange(5))]
    return "\n".join(lines).encode("utf-8")


def damage(content: bytes, rng: random.Random) -> bytes:
    """The content, in one of three files with some bytes more or less."""
    if rng.random() < 0.67:
        return content
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(BROKEN) + content[at + rng.randrange(3) :]


def read_and_write(path: Path) -> None:
    """Reads examples; what was read can be written and read again as the same."""
    examples = read_examples(path)
    assert all(math.isfinite(rating) for example in examples for rating in example.ratings.values())
    if path.suffix == ".jsonl" and len(examples) == 1:
        write_examples(path.with_name("again.jsonl"), examples)
        assert read_examples(path.with_name("again.jsonl")) == examples


Draw = Callable[[random.Random], bytes]
READERS: dict[str, tuple[str, Draw, Callable[[Path], Any]]] = {
    "JSONL": ("in.jsonl", draw_jsonl, read_and_write),
    "CSV": ("in.csv", lambda rng: draw_table(",", rng), read_and_write),
    "TSV": ("in.tsv", lambda rng: draw_table("\t", rng), read_and_write),
    "scores in files": ("in.jsonl", draw_jsonl, lambda path: read_scored(str(path))),
    "utterances": ("in.txt", draw_lines, lambda path: read_utt_lines(path, "rating")),
    "lines": ("in.txt", draw_lines, read_texts),
    "documents": ("in.csv", lambda rng: draw_table(",", rng), read_documents),
}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_reads_or_names_the_faults(name: str, tmp_path: Path) -> None:
    file, draw, read = READERS[name]
    path, rng, began, refused, slowest = tmp_path / file, random.Random(f"{name} {SEED}"), time.monotonic(), 0, 0.0
    for case in range(CASES):
        content = damage(draw(rng), rng)
        path.write_bytes(content)
        before = time.process_time()
        try:
            read(path)
        except InputError as faults:
            refused += 1
            str(faults).encode("utf-8")  # can be printed
        except Exception as error:
            raise AssertionError(f"case {case} of {name}, seed {SEED}: {content!r}") from error
        slowest = max(slowest, time.process_time() - before)
    print(f"{name}: {CASES} files, {refused} refused, slowest {slowest:.3f} s, all {time.monotonic() - began:.0f} s")
    assert slowest < 5
