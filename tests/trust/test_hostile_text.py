"""Ids, texts, systems and aspects of another person's file are shown as text; no program obeys them."""

import csv
import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from core.errors import fault, format_value, printable
from experiments.contracts import Study, Table
from judge.cli import main
from meta_eval.agreement import Agreement
from meta_eval.estimates import Estimate
from report.agreement_tables import tabulate_agreement
from report.plots import save_figure
from report.results import write_tables

TITLE, CLEAR, EIGHT_BIT, MIRROR = "\x1b]0;owned\x07", "\x1b[2J", "\x9b2J", "\u202e"
CONTROL = TITLE + CLEAR + EIGHT_BIT + MIRROR
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # by a terminal; not \t and \n
LINK, SCRIPT, FORMULA = '=HYPERLINK("http://x")', "<script>alert(1)</script>", "$x^$"


@pytest.fixture
def run_in(here: Path) -> Callable[..., int]:
    """Runs a command line in a folder with a hostile file `in.jsonl`."""
    lines = [
        {"id": f"{CONTROL}{i}{system}", "text": "w " * (i % 5 + 1) + CONTROL, "system": system + CONTROL}
        | {"group": f"{CONTROL}{i}", "ratings": {FORMULA: i % 4, f"=1+1{CONTROL}": i % 3, SCRIPT: i % 5}}
        for i in range(12)
        for system in (LINK, f"{SCRIPT}[red]")
    ]
    (here / "in.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return lambda verb: main([verb, "in.jsonl", "--metrics", "word_count", "--report", "here"])


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(StringIO(path.read_text("utf-8"))))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("verb", ["compare", "agree"])
def test_a_hostile_file_is_judged_and_shown_as_text(
    run_in: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    assert run_in(verb) == 0
    printed = capsys.readouterr()
    tables = sorted((tmp_path / "here" / "tables").iterdir())
    exported = [path.read_text("utf-8") for path in tables]
    assert not OBEYED.search("".join([printed.out, printed.err, *exported]))
    cells = [cell for path in tables if path.suffix == ".csv" for row in rows_of(path) for cell in row]
    assert any("HYPERLINK" in cell or "=1+1" in cell for cell in cells)
    assert not [cell for cell in cells if cell.lstrip().startswith("=")]
    assert not [path for path in tables if path.suffix == ".md" and "<script" in path.read_text("utf-8")]


def test_a_fault_and_the_value_in_it_hold_no_control_characters() -> None:
    assert printable("a\tb\n\x1b\x9b\u202e\ud800 é 诗 👩‍🚀") == "a\tb\n\\x1b\\x9b\\u202e\\ud800 é 诗 👩‍🚀"
    assert fault("in.jsonl", 3, f"no {TITLE}") == r"in.jsonl:3: no \x1b]0;owned\x07"
    assert not OBEYED.search(format_value(CONTROL))


@pytest.mark.parametrize(
    "settings",
    [["score"], [CLEAR], ["score", f"--sede{CLEAR}"], ["score", CLEAR], ["score", f"sede={CLEAR}"], ["--help"]],
    ids=ascii,
)
def test_a_message_and_the_help_hold_no_control_characters(
    capsys: pytest.CaptureFixture[str], settings: list[str]
) -> None:
    assert main(settings) == (0 if settings == ["--help"] else 2)
    printed = capsys.readouterr()
    assert not OBEYED.search(printed.out + printed.err)


def test_the_title_the_columns_and_the_cells_of_a_table_are_text() -> None:
    none = Estimate(0.5, 0.25, 0.75)
    row = Agreement(f"[b]{CONTROL}", f"[i]{CONTROL}", f"[red]{CONTROL}", 3, none, none, none, none, 0, 0, False)
    other = Table(f"[b]{CONTROL}", "", [{f"[i]{CONTROL}": f"[red]{CONTROL}", "reason": f"[u]{CONTROL}"}])
    console = Console(width=200, file=StringIO())
    with console.capture() as captured:
        Study(tables=[tabulate_agreement([row]), other]).print(console)
    assert not OBEYED.search(captured.get())
    assert all(mark in captured.get() for mark in ("[b]", "[i]", "[red]", "[u]"))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+1", "@SUM(A1)", " =1", "\t=1", "\n=1", "＝1"])
def test_a_spreadsheet_reads_a_field_as_text(tmp_path: Path, text: str) -> None:
    write_tables([Table("T", "", [{text: text, "n": -1.5, "plain": "a-b=c"}])], tmp_path)
    header, row = rows_of(tmp_path / "t.csv")
    assert header == [f"'{text}", "n", "plain"]
    assert row == [f"'{text}", "-1.5", "a-b=c"]


def test_a_markdown_cell_is_text() -> None:
    cell = "<img src=x onerror=y> ![a](http://x) `b|c` **d** _e_ f_g & \\"
    (line,) = Table("", "", [{"a": cell}]).to_markdown().splitlines()[2:]
    escaped = r"&lt;img src=x onerror=y&gt; !\[a\](http://x) \`b\|c\` \*\*d\*\* \_e\_ f_g &amp; \\"
    assert line == f"| {escaped} |"
    assert Table("", "", [{f"<b>{CONTROL}": 1}]).to_markdown().startswith(r"| &lt;b&gt;\\x1b")


def test_a_latex_cell_is_text() -> None:
    assert r"\textbackslash{}input\{x\}\textbackslash{}x1b" in Table("", "", [{"a": "\\input{x}\x1b"}]).to_latex()


@pytest.mark.parametrize("text", [FORMULA, "$$", r"\$x$", "a\x00\x1b"])
def test_a_label_of_a_plot_is_drawn_as_it_stands(tmp_path: Path, text: str) -> None:
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    axes.plot([1, 2], [1, 2], label=text)
    axes.legend()
    axes.annotate(text, (1, 1))
    axes.set_yticks([1, 2], [text.replace("\x00\x1b", ""), "b"])
    axes.set(xlabel=text, ylabel=text, title=text)
    figure.suptitle(text)
    save_figure(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
