"""CITATION.cff names the four papers."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


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
