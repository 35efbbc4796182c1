"""`+exp=models`: a model of each kind, where the demo and the README expect it."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def test_a_run_leaves_a_model_of_each_kind(tiny_run: Path) -> None:
    found = {path.name for path in (tiny_run / "models").iterdir()}
    assert found == {
        *("amateur", "expert", "pooler", "discriminator_bilstm"),
        *("infiller", "iwf", "language_model"),
        *("generator", "guide_negative", "guide_positive", "judge_positive"),
    }
    assert (tiny_run / "models" / "iwf" / "iwf.json").is_file()
