"""A signature changes with every weight, setting, token and corpus that changes a score, and with nothing else."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.configs import CONFIGS
from core.scores import Metric
from discriminators.discriminator import Discriminator
from discriminators.metric import DiscriminatorScore
from models.families import T5
from tests.toy_models import TEXTS, toy_bert

ENCODERS: list[dict[str, Any]] = [{}, {"encoder": 1}, {"encoder": 2}]
MODELS: list[dict[str, Any]] = [{}, {"seed": 1}, {"texts": TEXTS[:2]}]
BILSTM, BERT = {"kind": "bilstm"}, {"kind": "bert"}

CHANGES: dict[str, list[dict[str, Any]]] = {
    "word_count": [{}],
    "bleu": [{}, {"order": 2}],
    "rouge_l": [{}, {"kind": "rouge1"}, {"stemmer": False}],
    "meteor": [{}],
    "chrf": [{}, {"word_order": 2}],
    "ter": [{}],
    "function": [{}],
    "bertscore": [*ENCODERS, {"layers": 1}],
    "bleurt": [*ENCODERS, {"reference": "context"}],
    "sentence_mover": [*ENCODERS, {"max_length": 12}, {"vector": 1.0}, {"vector": 2.0}],
    "mover_score": [*ENCODERS, {"layers": 1}, {"corpus": "sat"}],
    "perplexity": MODELS,
    "perplexity_seq2seq": [*MODELS, {"max_length": 32}, {"family": T5.without_mask()}],
    "bartscore": [*MODELS, {"source": "prefix"}],
    "uni_eval": [*MODELS, {"question": "{response} {history}"}, {"max_length": 50}],
    "discriminator": [
        *(BILSTM | each for each in ({}, {"seed": 1}, {"texts": TEXTS[:1]}, {"max_length": 9})),
        *ENCODERS,
        *({"seed": 1}, {"max_length": 9}),
    ],
    "discriminator_label": [{}, {"seed": 1}, {"labels": ("bad", "good")}],
    "cdm_generative": [BILSTM, BERT, {**BERT, "seed": 1}, {**BERT, "encoder": 1}],
    "cdm_discriminative": [
        *({}, {"seeds": (0, 2)}, {"seeds": (2, 1)}, {"texts": TEXTS[:2]}),
        *({"length": 50}, {"pooling": "average"}, {"pooling": "min"}, {"weight": 2.0}),
    ],
    "ctrleval": [
        *(*MODELS, {"length_norm": "sum"}, {"weights": "max"}, {"truncation": "window"}, {"aspects": ["coherence"]}),
    ],
    "mars": [*MODELS, {"encoder": 1}, {"q": 0.5}, {"ratios": (0.0, 0.4)}],
    "llm_judge": [{}, {"seed": 1}, {"template": "{% for m in messages %}{{ m.content }}!{% endfor %}"}],
}
SLOW = ("bertscore", "bleurt", "cdm_discriminative", "discriminator", "mars", "mover_score", "sentence_mover")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CHANGES]
)
def test_every_difference_is_in_the_signature(name: str, make_toy: Callable[..., Metric]) -> None:
    lines = [make_toy(name, **changes).signature for changes in CHANGES[name]]
    assert len(set(lines)) == len(lines), lines


def test_every_configured_metric_is_tested() -> None:
    configured = {file.stem for file in (CONFIGS / "metric").glob("*.yaml")}
    assert configured - {"rouge_1", "rouge_2"} == set(CHANGES) - {"function"}  # a function is named by its module


def test_another_folder_changes_no_signature(encoders: tuple[Path, ...], tmp_path: Path) -> None:
    made = toy_bert(encoders[0])
    made.save_pretrained(tmp_path / "moved")
    loaded = replace(Discriminator.from_pretrained(tmp_path / "moved"), token_budget=7)
    assert DiscriminatorScore(loaded).signature == DiscriminatorScore(made).signature
