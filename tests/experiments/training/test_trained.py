"""A model of the hub, in a folder, or trained here: what loads it, and what results of it depend on."""

from pathlib import Path

import pytest

from experiments.training.trained import Trained, folders_of, use_pretrained


def test_a_hub_name_loads_and_identifies_itself() -> None:
    found = use_pretrained("openai-community/gpt2")
    assert (found.source, found.identity, found.folder) == ("openai-community/gpt2", "openai-community/gpt2", None)
    assert not found.is_trained_here


def test_a_folder_is_identified_by_its_files_wherever_it_lies(tmp_path: Path) -> None:
    for name, weights in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_text(weights, "utf-8")
    a, b, c = (use_pretrained(str(tmp_path / name)) for name in "abc")
    assert a.source == str(tmp_path / "a")
    assert a.identity == b.identity != c.identity
    assert not a.is_trained_here


def test_what_was_trained_here_is_identified_by_its_stage_and_has_a_best_loss() -> None:
    points = ({"step": 1, "train/loss": 1.0}, {"step": 2, "val/loss": 3.0}, {"step": 3, "val/loss": 2.5})
    found = Trained("expert", Path("stages/expert-0123"), points)
    assert (found.source, found.identity) == ("stages/expert-0123", "expert-0123")
    assert found.held_out_nll == pytest.approx(2.5)
    assert folders_of({"expert": found, "gpt2": Trained("gpt2")}) == {"expert": Path("stages/expert-0123")}
