"""Steps are kept and explained; poolings by hand; the classifier pooler learns."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdm.discriminative import (
    FEATURES,
    ClassifierPooler,
    DiscriminativeCDM,
    Steps,
    explain_steps,
    find_features,
    find_steps,
    load_steps,
    pool,
    save_steps,
)
from cdm.infilling import Pair
from core.errors import InputError
from tests.toy_models import toy_pooler


def steps(momentum: list[float], turn: list[int] | None = None) -> Steps:
    values = np.array(momentum, dtype=np.float64)
    return Steps(
        np.zeros_like(values),
        values,
        np.array(turn or [0] * len(momentum)),
        dropped=0,
    )


def test_kept_steps_are_the_same(pair: Pair, dialogues: list[tuple[str, ...]], tmp_path: Path) -> None:
    found = find_steps(pair, pair.tokenise([*dialogues[:3], ("", "hi")]))
    save_steps(tmp_path / "steps.npz", found)
    for kept, one in zip(load_steps(tmp_path / "steps.npz"), found, strict=True):
        assert (kept.amateur == one.amateur).all()
        assert (kept.expert == one.expert).all()
        assert (kept.turn == one.turn).all()
        assert kept.dropped == one.dropped


def test_explanations_hold_the_momentum_of_every_turn_and_token(pair: Pair) -> None:
    dialogue = ("hi emma, how are you?", "", "good.")
    tokenised = pair.tokenise([dialogue])
    found = find_steps(pair, tokenised)
    (explained,) = explain_steps(pair, tokenised, found)
    assert [turn["turn"] for turn in explained["turns"]] == [0, 2]
    for turn in explained["turns"]:
        texts, momentum = zip(*turn["tokens"], strict=True)
        assert "".join(texts) == dialogue[turn["turn"]]
        expected = found[0].momentum[found[0].turn == turn["turn"]]
        np.testing.assert_allclose(momentum, expected, atol=0.006)
        assert turn["momentum"] == pytest.approx(expected.mean(), abs=6e-4)


def test_poolings_by_hand() -> None:
    s = steps([1.0, -2.0, 4.0])
    assert [pool(s, p) for p in ("average", "sum", "max", "min")] == [1.0, 3.0, 4.0, -2.0]
    with pytest.raises(ValueError, match="fitted"):
        pool(s, "classifier")
    with pytest.raises(ValueError, match="pooling must be 'average'"):
        pool(s, "mode")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"^a pooler needs good and damaged dialogues, but got 1 and 0$"):
        ClassifierPooler.fit([s], [])


def test_features_summarise_steps_and_turns() -> None:
    found = dict(zip(FEATURES, find_features(steps([0.0, 2.0, -5.0], [0, 0, 1])), strict=True))
    assert found["token_mean"] == -1.0
    assert found["turn_mean"] == -2.0  # of 1 and -5
    assert (found["turn_min"], found["turn_max"]) == (-5.0, 1.0)
    assert found["token_share_below_zero"] == pytest.approx(1 / 3)


def test_the_classifier_pooler_learns_and_its_features_add_up(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    good, damaged = ([steps(list(rng.normal(m, size=rng.integers(5, 40)))) for _ in range(80)] for m in (0.5, -0.5))
    pooler = ClassifierPooler.fit(good[:40], damaged[:40])
    correct = [pooler.logit(s) > 0 for s in good[40:]] + [pooler.logit(s) < 0 for s in damaged[40:]]
    assert np.mean(correct) > 0.9
    assert pooler.refusal == ""
    assert pooler.with_auc(good[40:], damaged[40:]).refusal == ""
    pooler = pooler.with_auc(damaged[40:], good[40:])
    pooler.save(tmp_path / "pooler.json")
    assert ClassifierPooler.load(tmp_path / "pooler.json").refusal == pooler.refusal != ""
    assert ClassifierPooler.load(tmp_path / "pooler.json").logit(good[0]) == pooler.logit(good[0])
    for name in ("amateur", "expert", "pooler"):
        (tmp_path / name).mkdir()
    (tmp_path / "pooler.json").rename(tmp_path / "pooler" / "pooler.json")
    with pytest.raises(InputError) as found:
        DiscriminativeCDM.from_pretrained(tmp_path, "classifier")
    assert str(found.value) == f"{tmp_path}/pooler: {pooler.refusal}: choose another pooling, such as average"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("features"), "features"),
        (lambda content: content.update(intercept="0"), "intercept must be a valid number"),
        (lambda content: content["features"].pop("token_mean"), "features must be token_mean"),
        (lambda content: content["features"]["token_mean"].pop("weight"), "features['token_mean'] must have"),
        (lambda content: content["features"]["token_mean"].update(scale=0.0), "a scale above 0"),
    ],
)
def test_a_changed_pooler_is_refused_by_its_file(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    content = asdict(toy_pooler(1.0))
    change(content)
    (tmp_path / "pooler.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=re.escape(message)) as fault:
        ClassifierPooler.load(tmp_path / "pooler.json")
    assert str(tmp_path / "pooler.json") in str(fault.value)
