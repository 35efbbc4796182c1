"""Model cards: what the folder and the outcome say, in the form of the hub."""

import json
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import ModelCard

from meta_eval.agreement import Agreement
from meta_eval.estimates import Estimate
from report.agreement_tables import tabulate_agreement
from report.model_cards import write_cards
from report.study import SavedModel, Study

RUN: dict[str, Any] = {"experiment": "cdm_dialogue", "seed": 3, "synthetic": False}
PLAN = {"class": "DiscriminatorPlan", "training": {"epochs": 2, "keep": "auc"}}


def write_model(folder: Path, file: str, content: Any, name: str = "judge") -> None:
    place = folder / "models" / name
    place.mkdir(parents=True)
    (place / file).write_text(json.dumps(content), "utf-8")
    (place / "depends.json").write_text(
        json.dumps({"plan": PLAN, "trainer": {"precision": "32-true"}, "seed": 3, "code": {}}), "utf-8"
    )


def tabulate(metric: str) -> Any:
    estimates: dict[str, Any] = dict.fromkeys(("pearson", "kendall", "beyond_cues"), Estimate(0.5, 0.25, 0.75))
    about: dict[str, Any] = {"n": 60, "unscored": 0, "truncated": 0, "synthetic": False}
    rows = [
        Agreement(metric=name, set="fed", aspect="coherence", spearman=Estimate(0.6, 0.4, 0.8), **about, **estimates)
        for name in (metric, "other")
    ]
    return tabulate_agreement(rows)


def test_a_card_says_what_a_discriminator_learned_and_how_well_it_agrees(tmp_path: Path) -> None:
    write_model(tmp_path, "discriminator.json", {"kind": "bert"})
    outcome = Study(
        tables=[tabulate("cdm_generative_bert")],
        models={"judge": SavedModel(tmp_path, ["cdm_generative_bert"], "fed", "CDM: MIT; MELD: GPL-3.0")},
    )
    write_cards(outcome, RUN, tmp_path)
    card = ModelCard.load(tmp_path / "models" / "judge" / "README.md")  # by the reader of the hub
    head = card.data.to_dict()
    assert head["license"] == "other"
    assert head["license_name"] == "CDM: MIT; MELD: GPL-3.0"
    assert head["pipeline_tag"] == "text-classification"
    assert head["tags"] == ["judging-generated-text"]
    text = card.text
    assert "# judge" in text
    assert "`fed`. Licence of the texts: CDM: MIT; MELD: GPL-3.0." in text
    assert '"epochs": 2' in text
    (row,) = [line for line in text.splitlines() if line.startswith("| cdm_generative_bert")]
    assert "0.600 [0.40, 0.80]" in row
    assert "| other |" not in text


def test_a_card_of_synthetic_text_and_of_unknown_licence_says_so(tmp_path: Path) -> None:
    write_model(tmp_path, "config.json", {"architectures": ["T5ForConditionalGeneration"]})
    write_cards(
        Study(models={"judge": SavedModel(tmp_path, (), "builtin", "MIT")}), {**RUN, "synthetic": True}, tmp_path
    )
    file = tmp_path / "models" / "judge" / "README.md"
    head = yaml.safe_load(file.read_text("utf-8").split("---")[1])
    assert head == {
        "library_name": "transformers",
        "pipeline_tag": "text2text-generation",
        "license": "mit",
        "tags": ["judging-generated-text", "synthetic"],
    }
    assert "no judgement of real text" in file.read_text("utf-8")
    write_cards(Study(models={"judge": SavedModel(tmp_path)}), RUN, tmp_path)
    assert "license: unknown" in file.read_text("utf-8")
    assert "state it before you share the model" in file.read_text("utf-8")


def test_what_is_no_model_gets_no_card_and_a_kept_stage_stays_as_it_is(tmp_path: Path) -> None:
    write_model(tmp_path, "iwf.txt", "")
    write_cards(Study(models={"judge": SavedModel(tmp_path)}), RUN, tmp_path)
    assert not (tmp_path / "models" / "judge" / "README.md").exists()
