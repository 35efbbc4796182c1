"""README and docs: links lead somewhere, names of the paper maps exist, and every command composes."""

import re
import shlex
import subprocess
import sys
from functools import cache
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name

import pytest

from core.errors import check_names
from judge.cli import METRIC_FLAGS, VERBS, make_app, parse_words
from judge.metric_flags import split_name
from judge.registry import find_config, read_config

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md")))
LINKED = (*PAGES, ROOT / "CONTRIBUTING.md")
APP = make_app()


def names() -> list[str]:
    """The dotted names in the right column of every table of equations."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    tables = [
        rows.split("\n\n")[0] for text in texts for rows in text.split("| equation or section | function |\n")[1:]
    ]
    return sorted(
        {name for rows in tables for row in rows.splitlines() for name in re.findall("`([^`]+)`", row.split("|")[2])}
    )


def read_pages() -> str:
    """The text of all pages, with each command on one line."""
    return "\n".join(re.sub(r"\s*\\\n\s*", " ", page.read_text(encoding="utf-8")) for page in PAGES)


def verb_commands() -> list[str]:
    """What follows `judge` in code blocks and spans, each once."""
    verb = rf"(?:^(?:\$ |cat in.jsonl \| )?|`)judge ((?:{'|'.join(VERBS)}) [^`\n]*)"
    found = [words.partition("  #")[0].strip() for words in re.findall(verb, read_pages(), re.MULTILINE)]
    return [words for words in dict.fromkeys(found) if "..." not in words.split()]


def slug(heading: str) -> str:
    """The anchor that GitHub and mkdocs give to a heading."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", page.read_text(encoding="utf-8"))
    lost = [name for name, _ in links if not (page.parent / name).exists()]
    assert not lost
    targets = [(page.parent / name if name else page, heading) for name, heading in links if heading]
    unknown = [(target.name, heading) for target, heading in targets if heading not in anchors(target)]
    assert not unknown


@pytest.mark.parametrize("name", names())
def test_names_of_the_paper_maps_exist(name: str):
    assert resolve_name(name)


@pytest.mark.parametrize("command", verb_commands())
def test_verbs_have_the_flags_that_pages_name(command: str) -> None:
    verb, *words = shlex.split(command)
    given = parse_words(APP, verb, [word for word in words if word != "--help"])
    for flag in METRIC_FLAGS:
        for word, settings in given.get(flag, {}).items():
            _, name = split_name(word)
            if name not in ("NAME", "ead") and "." not in name:
                check_names(settings, list_settings(name), name)


@cache
def flags_of(verb: str) -> list[str]:
    """The flags of a verb."""
    command = APP[verb].default_command
    assert command is not None
    return [*signature(command).parameters]


def list_settings(metric: str) -> set[str]:
    """The settings that a metric has in its file."""
    return {*read_config(find_config(metric)), "explain"}


MARKDOWN = [*sorted(ROOT.glob("[!C]*.md")), ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
OF_OTHERS = {"others.md"}  # a page with the flags of other programs
PROGRAMS = [
    ROOT / "Makefile",
    *ROOT.glob("benchmarks/*.py"),
    *ROOT.glob("experiments/**/*.py"),
    *ROOT.glob("data/formats/*.py"),
]
GROUPS = {"+exp": "exp", "+recipe": "recipe", "+sweep": "sweep"} | {
    name: name for name in ("data", "model", "scale", "trainer", "logger", "hydra/launcher")
}


def spans(page: Path) -> list[str]:
    """The code spans of a page, outside its blocks of code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", text)


@cache
def known_flags() -> set[str]:
    """The flags of all verbs, and of the other programs of this repository."""
    of_verbs = {f"--{name}" for verb in VERBS for name in flags_of(verb)} | {"--install-completion"}
    of_programs = "\n".join(program.read_text(encoding="utf-8") for program in PROGRAMS)
    return of_verbs | {*re.findall(r"--[\w-]+", of_programs)}


@cache
def known_keys(pattern: str, start: str) -> set[str]:
    """The keys of lines that begin with `start`, in the configurations of experiments with such a path."""
    files = [path for path in (ROOT / "configs").glob(pattern) if "metric" not in path.parts]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return {*re.findall(rf"{start}([\w/]+):(?= |$)", text, re.MULTILINE)}


def is_known_setting(word: str) -> bool:
    """Whether a word `key=value` sets a key, or chooses a file of a group, of an experiment's configuration."""
    key, _, value = word.partition("=")
    if key in GROUPS:
        return value.isupper() or (ROOT / "configs" / GROUPS[key] / f"{value}.yaml").is_file()
    root, *parts = key.lstrip("+~").split(".")
    is_one = "," not in value or value[0] in "[{'"
    roots = {*GROUPS, *known_keys("run.yaml", "^"), *known_keys("exp/*.yaml", "^")}
    return is_one and root in roots and {*parts} <= known_keys("**/*.yaml", "")


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_in_code_is_there(page: Path) -> None:
    """Flags, settings and files; a setting of Python is known by its quotes, or by True and False."""
    lost: list[str] = []
    for span in spans(page):
        first, *_ = words = span.split()
        if first.startswith("--") and page.name not in OF_OTHERS:
            lost += [span] if first.split(".")[0] not in known_flags() else []
        elif re.match(r"[+~]?[a-z][\w./]*=(?!\"|True|False)\S", span):
            lost += [word for word in words if "=" in word and not is_known_setting(word)]
        elif re.fullmatch(r"[a-z_]+/[\w./-]*", span) and page.name != "extend.md":
            room = ROOT / span.split("/")[0]
            is_lost = room.is_dir() and room.name != "outputs" and not [*ROOT.glob(re.sub("[A-Z]{2,}", "*", span))]
            lost += [span] if is_lost else []
    assert not lost


LOADED = r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?(https?://[^\s\">]+)"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_pages_are_built_without_a_warning_and_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert not [address for page in tmp_path.rglob("*.html") for address in re.findall(LOADED, page.read_text())]
    assert (tmp_path / "api" / "guidance.html").is_file()
