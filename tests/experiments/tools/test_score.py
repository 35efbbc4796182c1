"""+exp=score through the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from core.scores import Field
from experiments.tools.score import required_fields

Here = Callable[..., int]
pytestmark = pytest.mark.filterwarnings("default")


def test_scores_are_written_in_the_order_of_the_input(run_here: Here, tmp_path: Path) -> None:
    lines = [{"id": "b", "text": "one two three"}, {"id": "a", "turns": ["Hi there!", "Hello."]}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run_here("+exp=score", "metric=word_count", "data.path=in.jsonl", "output=out.jsonl", "run_dir=here") == 0
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(line["id"], list(line["scores"].values())) for line in written] == [("b", [3.0]), ("a", [3.0])]
    assert json.loads((tmp_path / "out.jsonl.meta.json").read_text())["signature"].startswith("word_count")
    results = json.loads((tmp_path / "here" / "results.json").read_text())
    assert results["figures"]["examples"] == 2
    assert results["files"] == ["out.jsonl"]


def test_all_faults_of_the_input_are_told_and_nothing_is_written(
    run_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": ""}\n{"id": "b"\n{"id": "c", "text": 3}\n')
    assert run_here("+exp=score", "metric=word_count", "data.path=in.jsonl", "output=out.jsonl", "run_dir=here") == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1] for line in told] == ["1", "2", "3"]
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("output", "fault"), [(".", "found the folder"), ("in.jsonl", "another file"), ("no/out.jsonl", "found no no")]
)
def test_a_place_that_cannot_be_written_is_told_before_scoring(
    run_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str, fault: str
) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": "x"}\n')
    assert run_here("+exp=score", "metric=word_count", "data.path=in.jsonl", f"output={output}") == 2
    assert fault in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_file_without_the_required_field_is_refused_before_a_model_is_loaded(
    run_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": "x", "context": "c"}\n{"id": "b", "text": "y"}\n')
    settings = ["+exp=score", "data.path=in.jsonl", "output=out.jsonl", "metric.model=missing"]
    assert run_here(*settings, "metric=bertscore") == 2
    told = capsys.readouterr().err.splitlines()
    assert told == [
        f"in.jsonl:{i}: the metric needs references, found none for '{id}'" for i, id in ((1, "a"), (2, "b"))
    ]
    assert run_here(*settings, "metric=bartscore") == 2
    assert "missing: " in capsys.readouterr().err  # one example has a context, so the model is asked for
    assert run_here(*settings, "metric=bartscore", "metric.source=prefix") == 2
    assert "in.jsonl:1: the metric needs prefix, found none" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_an_example_without_the_required_field_is_null_with_a_reason(run_here: Here, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": "b", "text": "y", "references": ["y"]}\n')
    assert run_here("+exp=score", "metric=bleu1", "data.path=in.jsonl", "output=out.jsonl", "run_dir=here") == 0
    first, second = (json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["scores"], first["reason"]) == ({"quality": None}, "bleu1 needs references, found none")
    assert second["scores"] == {"quality": pytest.approx(1.0)}
    results = json.loads((tmp_path / "here" / "results.json").read_text())
    assert (results["figures"]["unscored"], results["figures"]["mean quality"]) == (1, pytest.approx(1.0))


READ: dict[str, tuple[Field, ...]] = {
    "bartscore": ("context",),
    "cdm_discriminative": ("turns",),
    "cdm_generative": ("turns",),
    "ctrleval": ("prefix", "label"),
    "discriminator": (),
    "discriminator_label": ("label",),
    "perplexity": (),
    "perplexity_seq2seq": (),
    "word_count": (),
}


def test_the_required_fields_of_every_configured_metric_are_known() -> None:
    for path in sorted(Path(__file__).parents[3].glob("configs/metric/*.yaml")):
        config = yaml.safe_load(path.read_text("utf-8"))
        assert required_fields(config.get("metric", config)) == READ.get(path.stem, ("references",)), path.stem
    bartscore = {"_target_": "baselines.bartscore.BartScore.from_pretrained", "direction": "f", "source": "context"}
    assert required_fields(bartscore) == ("references",)
    ctrleval = {"_target_": "ctrl_eval.metric.CTRLEval.from_pretrained", "aspects": ["coherence"]}
    assert required_fields(ctrleval) == ()
