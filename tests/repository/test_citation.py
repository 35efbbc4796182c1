"""CITATION.cff and LICENSE."""

import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_fields_that_the_format_demands():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(CITATION)
    assert CITATION["type"] == "software"


def test_version_and_licence_are_those_of_the_package():
    assert CITATION["version"] == PROJECT["version"]
    assert CITATION["license"] == PROJECT["license"] == "MIT"
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.startswith("MIT License\n\nCopyright (c) 2026 The contributors\n")
    assert PROJECT["license-files"] == ["LICENSE"]


@pytest.mark.parametrize("authors", [CITATION["authors"], *(r["authors"] for r in CITATION["references"])])
def test_an_author_is_a_person_or_an_entity(authors):
    assert authors
    for author in authors:
        assert set(author) in ({"given-names", "family-names"}, {"name"})
        assert all(isinstance(part, str) and part for part in author.values())


def test_the_four_papers():
    found = [(r["type"], r["title"].split(":")[0], r.get("year")) for r in CITATION["references"]]
    assert found == [
        ("conference-paper", "CTRLEval", 2022),
        ("conference-paper", "Language Model Augmented Relevance Score", 2021),
        ("conference-paper", "Open-Domain Text Evaluation via Contrastive Distribution Methods", 2024),
        ("unpublished", "OUMG", None),
    ]
    for reference in CITATION["references"][:3]:
        assert f"{reference['year']})" in reference["conference"]["name"]
