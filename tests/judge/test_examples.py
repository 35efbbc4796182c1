"""The commands `judge VERB` of README and docs run as they stand, and print what the pages show.

What is only read (`tests/repository/test_docs.py`) is in COMPOSED, by what it needs.
"""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.repository.test_docs import PAGES, verb_commands

ROOT = Path(__file__).resolve().parents[2]
COMPOSED = {
    "a model, a public set or a run of the reader's": r"FOLDER|MODEL|LABEL|\bRUN\b|outputs/tiny|data\.root sets|"
    r"--network|base_url|answers\.jsonl",
    "a metric of the reader's, made in docs/extend.md": r"--metric ead|my_module",
    "Ray's processes": r"--ray\.",
    "standard input": r"^score - ",
    "no command, but a flag in a sentence": r"^score --metric \w+( --metric\S+ \w+)?$|--help$|^(demo|plan)$",
}
TEXTS = "One sentence here.\nAnother one there.\n"
VERDICTS = [(i, i % 2, i % 2 if i % 8 else 1 - i % 2, 1 if i % 5 == 0 else i % 2) for i in range(60)]
FILES = {  # what pages call the files of the reader: where an example stands in for them, or their content
    **dict.fromkeys(("in.jsonl", "rated.jsonl"), "summaries.jsonl"),
    "out.jsonl": "".join(
        f'{{"text": "Text {i}.", "scores": {{"quality": {i / 10}}}, "ratings": {{"quality": {i % 4}}}}}\n'
        for i in range(10)
    ),
    **dict.fromkeys(("hyp.txt", "ref1.txt", "ref2.txt", "src.txt", "texts.txt"), TEXTS),
    "mars.jsonl": "".join(
        f'{{"id": "{i}-{name}", "scores": {{"quality": {i / 10}}}}}\n' for i in range(10) for name in ("new", "old")
    ),
    "mine.csv": "question,bot,answer,ann,ben\n"
    + "".join(f"q{i},one,Yes.,5,4\nq{i},two,No.,2,{i % 3 + 1}\n" for i in range(7)),
    "batch.csv": "HITId,summary,worker,answer,references\n"
    + "".join(
        f"H{i},Word {i} of a text.,{name},{i % 4 + 1},Word {i % 3} of it.\n" for i in range(12) for name in ("u", "v")
    ),
    "in.csv": "hyp,r1,r2\nA word.,A word.,Words.\n",
    "samples_task.jsonl": '{"doc_id": 0, "doc": {}, "target": "x", "arguments": [["q", {}]], "resps": [["x"]], '
    '"filtered_resps": ["x"], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0}\n',
    "two.csv": "id,human,judge,gpt,topic\n"
    + "".join(f"q{i},{human},{judge},{gpt},t{i % 3}\n" for i, human, judge, gpt in VERDICTS),
    "verdicts.csv": "id,judge,judge_old\n" + "".join(f"q{i},{judge},{gpt}\n" for i, _, judge, gpt in VERDICTS),
    **dict.fromkeys(
        ("labels.csv", "filled.csv"), "id,human\n" + "".join(f"q{i},{human}\n" for i, human, _, _ in VERDICTS)
    ),
    "verdicts.jsonl": "".join(
        f'{{"id": "q{i}", "text": "Answer {i}.", "judge": {judge}}}\n' for i, _, judge, _ in VERDICTS
    ),
    "annotations.json": '[{"instruction": "q", "output_1": "a b", "output_2": "a", "generator_1": "old", '
    '"generator_2": "new", "annotator": "j", "preference": 1.5}]',
}


def shown() -> list[tuple[str, str]]:
    """Each command that a page shows with its output, and the output."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    return re.findall(r"^```\n\$ judge (.+)\n([^`]+)```", text, re.MULTILINE)


def is_composed(command: str) -> bool:
    return any(re.search(pattern, command) for pattern in COMPOSED.values())


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """The working folder of a reader with the examples and files of the pages."""
    for folder in ("examples", "results"):
        shutil.copytree(ROOT / "docs" / folder, tmp_path / "docs" / folder)
    for name, content in FILES.items():
        example = ROOT / "docs" / "examples" / content
        (tmp_path / name).write_text(
            example.read_text("utf-8") if "\n" not in content and example.is_file() else content
        )
    return tmp_path


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "command", [each for each in verb_commands() if not (is_composed(each) or each in dict(shown()))]
)
def test_a_command_runs(
    run_here: Callable[..., int], reader: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("report.plots.save_figure", lambda figure, path: path.touch())  # drawn in test_cli.py
    words = ["word_count" if word == "NAME" else word for word in shlex.split(command)]
    assert run_here(*words, "--report", "here") == 0
    assert (reader / "here" / "report.html").is_file()


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(("command", "output"), [each for each in shown() if not is_composed(each[0])])
def test_a_page_shows_what_a_command_prints(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, command: str, output: str
) -> None:
    """On a terminal of 84 columns, which is what the pages have, in order; `...` stands for what is left out."""
    monkeypatch.setattr("report.terminal.WIDTH_OF_A_FILE", 84)
    monkeypatch.setattr("report.terminal.WIDTH_OF_A_TABLE", 84)
    ended = run(*shlex.split(command))
    assert ended.returncode == 0, ended.stderr
    printed = iter([line.rstrip() for line in ended.stdout.splitlines()])
    for line in output.splitlines():
        assert line == "..." or not line.strip() or line.rstrip() in printed


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("command", "output"), [each for each in shown() if "--data.root FOLDER" in each[0]])
def test_a_page_shows_figures_of_a_public_set(
    run: Callable[..., Any], shared_data: Path, monkeypatch: pytest.MonkeyPatch, command: str, output: str
) -> None:
    """Each line has cells of one line that a wide terminal shows, in this order; a page leaves out columns and rows."""
    monkeypatch.setattr("report.terminal.WIDTH_OF_A_TABLE", 1000)
    ended = run(*shlex.split(command.replace("FOLDER", str(shared_data))))
    assert ended.returncode == 0, ended.stderr
    lines, sentences = ended.stdout.splitlines(), " ".join(ended.stdout.split())
    for line in filter(str.strip, output.splitlines()):
        cells = re.split(r"\s{2,}", line.strip())
        in_order = re.compile(r"(?:^|\s{2,}).*?".join(map(re.escape, cells)))
        assert "──" in line or any(map(in_order.search, lines)) or " ".join(cells) in sentences, line
