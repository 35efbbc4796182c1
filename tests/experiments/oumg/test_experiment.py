import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase
from types import SimpleNamespace
from typing import Any, cast

import pytest

from core.example import Example
from data.files import write_examples
from experiments.oumg.experiment import Findings, describe_verdict
from meta_eval.estimates import Estimate
from oumg.relative import SCORES
from tests.experiments.conftest import list_stages

pytestmark = pytest.mark.usefixtures("plain_page")
WORDS = ["red", "green", "blue", "cat", "dog", "sun", "moon", "tree", "sea", "bird", "stone", "road"]
TOY = """
+model.judges.bilstm.build.embedding_dim=8 +model.judges.bilstm.build.hidden_dim=8
model.judges.bilstm.training.learning_rate=0.02 model.judges.bilstm.training.epochs=1
model.judges.bert.build.freeze_embeddings=false model.judges.bert.training.epochs=1
seeds=[0,1] logger=none trainer=cpu outputs=outputs
"""
Run = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Sentences of 48 inputs, human ones with `yes`, those of the first system with it more often than the second's."""
    rng = random.Random(0)
    paths = {name: tmp_path / f"{name}.jsonl" for name in ("human", "g1", "g2")}
    for (name, path), share in zip(paths.items(), (1.0, 0.7, 0.1), strict=True):
        examples = []
        for i in range(48):
            mark = "yes" if rng.random() < share else "no"
            text = " ".join([*rng.choices(WORDS, k=rng.randint(2, 5)), mark, *rng.choices(WORDS, k=rng.randint(2, 5))])
            examples.append(
                Example(f"{name}{i}", text=text, group=f"input {i}", system=f"the {name}", context="say it")
            )
        write_examples(path, examples)
    return paths


def data(files: dict[str, Path]) -> list[str]:
    return [f"data.{name}={path}" for name, path in files.items()]


def test_rows_of_both_kinds_have_every_score_and_stages_are_found_again(
    finish: Run, files: dict[str, Path], saved_bert: Callable[..., Path], tmp_path: Path
) -> None:
    encoder = saved_bert([*WORDS, "yes", "no", *ascii_lowercase], dimension=16, layers=1, max_length=64)
    command = ("+exp=oumg", *data(files), *TOY.split(), "kinds=[bilstm,bert]", "source=true")
    command = (*command, f"model.judges.bert.build.encoder={encoder}")
    first, rows = tmp_path / "here", finish(*command)["table"]
    assert [row["discriminator"] for row in rows] == ["bilstm", "bert"]
    assert rows[0]["texts_cut"] > 0
    for row in rows:
        assert (row["system_1"], row["system_2"], row["n"], row["inputs"]) == ("the g1", "the g2", 12, 12)
        assert row["seeds"] == [0, 1]
        assert {*SCORES} <= {*row}
    lines = [json.loads(line) for line in (first / "scores.jsonl").read_text("utf-8").splitlines()]
    assert [line["set"] for line in lines] == ["human"] * 12 + ["g1"] * 12 + ["g2"] * 12
    assert set(lines[0]["scores"]) == {f"{kind}_seed_{seed}" for kind in ("bilstm", "bert") for seed in (0, 1)}
    logits = [line["scores"]["bilstm_seed_0"]["logit"] for line in lines if line["set"] == "g1"]
    assert sum(logit > 0 for logit in logits) / 12 == rows[0]["by_seed"]["hsr_1"][0]
    explained = lines[0]["explanations"]
    assert set(explained) == {"bilstm_seed_0", "bert_seed_0"}  # colours on the page, of the first seed of each kind
    ((_, added),) = explained["bilstm_seed_0"]["parts"]  # the only sentence has the whole logit
    assert added == pytest.approx(lines[0]["scores"]["bilstm_seed_0"]["logit"], abs=1e-3)
    assert (first / "models/discriminator_bert_seed_1/encoder/config.json").is_file()
    stages = list_stages(tmp_path / "outputs")
    assert len(stages) == 4
    assert finish(*command, folder="second", plots=False)["table"] == rows
    assert list_stages(tmp_path / "outputs") == stages


@pytest.mark.parametrize(
    ("ur", "ur_2", "least_accuracy", "verdict"),
    [
        ((0.9, 0.8, 0.95), 0.02, 0.7, "the outputs of new look more human than those of old (ur 0.900 ["),
        ((0.1, 0.05, 0.2), 0.8, 0.7, "the outputs of old look more human than those of new (ur 0.100 ["),
        ((0.1, 0.05, 0.2), 0.48, 0.7, "neither new nor old is shown to look more human (ur 0.100 ["),  # ties
        ((0.9, 0.8, 0.95), 0.02, 0.4, "no verdict: its discriminators are not shown to tell human texts"),
        ((0.9, math.nan, math.nan, "too few"), 0.02, 0.7, "no verdict: too few"),
    ],
)
def test_the_headline_says_which_system_looks_more_human(
    ur: tuple[Any, ...], ur_2: float, least_accuracy: float, verdict: str
) -> None:
    accuracy = Estimate(0.8, least_accuracy, 0.9)
    scores = SimpleNamespace(ur=Estimate(*ur), ur_2=Estimate(ur_2 + 0.05, ur_2, 0.9), accuracy=accuracy)
    found = SimpleNamespace(kind="bert", system_pair=SimpleNamespace(systems=("new", "old")), scores=scores)
    assert describe_verdict(cast(Findings, found)).startswith(f"By bert, {verdict}")
