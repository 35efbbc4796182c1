"""README and docs: links lead somewhere, names of the paper maps exist, and every command composes."""

import re
import shlex
from pathlib import Path
from pkgutil import resolve_name

import pytest

from core.configs import CONFIGS
from experiments.runner.configuration import compose_run, expand_sweep
from experiments.runner.words import as_settings, descriptions

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md")))
EXTEND = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
OF_THE_EXAMPLES = ("data", "ead", "experiments")  # their files lie in no folder of the repository here
PLACEHOLDERS = {"metric=NAME": "metric=word_count"}


def names() -> list[str]:
    """The dotted names in the right column of every table of equations."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    tables = [
        rows.split("\n\n")[0] for text in texts for rows in text.split("| equation or section | function |\n")[1:]
    ]
    return sorted(
        {name for rows in tables for row in rows.splitlines() for name in re.findall("`([^`]+)`", row.split("|")[2])}
    )


def commands() -> list[str]:
    """What follows `python experiments/run.py` and `judge` in code blocks and spans, each once."""
    text = "\n".join(page.read_text(encoding="utf-8").replace("\\\n", " ") for page in PAGES)
    found = [settings.strip() for settings in re.findall(r"python experiments/run\.py ([^`\n]+)", text)]
    verb = r"(?:^(?:\$ |cat in.jsonl \| )?|`)judge ([a-z]+ [^`\n]*[=.][^`\n]*)"
    fragment = r"score metric=\w+(?: metric\S+)?"  # in a sentence
    found += [settings for settings in re.findall(verb, text, re.MULTILINE) if not re.fullmatch(fragment, settings)]
    return [settings for settings in dict.fromkeys(found) if not settings.endswith("...") and " --" not in settings]


def test_links_lead_to_files():
    lost = [
        f"{page.name}: {link}"
        for page in PAGES
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert not lost


@pytest.mark.parametrize("name", names())
def test_names_of_the_paper_maps_exist(name: str):
    assert resolve_name(name)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The config folder, and one with the files that docs/extend.md adds."""
    folder = tmp_path_factory.mktemp("extended")
    for name, content in re.findall(r"^File `configs/([^`]+)`:\n\n```yaml\n(.*?)```", EXTEND, re.DOTALL | re.MULTILINE):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return CONFIGS, folder


@pytest.mark.parametrize("command", commands())
def test_commands_compose(command: str, folders: tuple[Path, Path]):
    words = [PLACEHOLDERS.get(word, word) for word in shlex.split(command) if word != "-m"]
    settings = as_settings(words, descriptions(folders), "-m " in command)
    job = expand_sweep(settings, folders)[0] if "-m " in command else settings
    assert compose_run(job, folders, allow=OF_THE_EXAMPLES).experiment._target_


@pytest.mark.parametrize("card", sorted((ROOT / "docs/metrics").glob("[!R]*.md")), ids=lambda path: path.stem)
def test_a_card_has_the_name_of_its_metric(card: Path) -> None:
    assert card.read_text(encoding="utf-8").startswith(f"# {card.stem}\n")
