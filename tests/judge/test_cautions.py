"""Notes on data that mislead in silence: each with data that deserve it and data that do not."""

import numpy as np

import judge


def notes_on(rows: list[dict], **settings) -> str:
    return "\n".join(judge.agree(rows, cues=False, **settings).notes)


def compare_notes(rows: list[dict]) -> str:
    return "\n".join(judge.compare(rows).notes)


def test_contexts_that_repeat_without_a_group() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"text": f"text {i}", "context": f"c{i // 5}", "ratings": {"q": rng.normal()}, "scores": {"m": rng.normal()}}
        for i in range(100)
    ]
    assert "100 rows have 20 different contexts and no group" in notes_on(rows)
    assert "no group" not in notes_on([{**row, "group": row["context"]} for row in rows])
    copies = [{**row, "text": f"text {i // 4}", "context": None} for i, row in enumerate(rows)]
    assert "100 rows have 25 different texts and no group" in notes_on(copies)
    single = [{**row, "context": f"own {i}"} for i, row in enumerate(rows)]
    assert "no group" not in notes_on(single)
    silent = [{**row, "text": row["text"] if i % 5 else "", "context": None} for i, row in enumerate(rows)]
    assert "no group" not in notes_on(silent)
    assert "20 of 100 answers are empty" in notes_on(silent)


def rated_by(shares: tuple[float, float], severity: float) -> list[dict]:
    """Two raters, the second milder; the first rated this share of the outputs of a and of b."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(100):
        for system, share in zip("ab", shares, strict=True):
            is_first = rng.random() < share
            rating = float(rng.normal()) + (0 if is_first else severity)
            ratings = {"Ann": rating if is_first else None, "Ben": None if is_first else rating}
            rows.append({"text": f"{system}{i}", "system": system, "group": f"q{i}", "ratings": {"q": ratings}})
    return rows


def test_raters_who_coincide_with_systems() -> None:
    """Each system has a rater of its own: also where these seem to use the scale alike, nobody can know."""
    for severity in (0.0, 3.0):
        compared = judge.compare(rated_by((1.0, 0.0), severity=severity))
        assert "higher" not in compared.answer
        assert "is not tested against" in compared.answer
        pair = compared.found.pairs["human q"]["a", "b"]
        assert np.isnan([pair.p_value, pair.difference.low, pair.win_rate.low]).all()
        assert [mean.cluster for mean in compared.found.means["human q"]] == ["1", "1"]
    said = compare_notes(rated_by((1.0, 0.0), severity=0.0))
    assert "no rater of q rated texts of both a and b: a difference between these systems may be one" in said
    assert "no rater" not in compare_notes(rated_by((0.5, 0.5), severity=0.0))


def test_a_better_system_is_named_where_raters_rated_both() -> None:
    """b is better by 3, and c, whom only Cid rated, is held against neither."""
    rng = np.random.default_rng(0)
    raters = {"a": ("Ann", "Ben"), "b": ("Ann", "Ben"), "c": ("Cid", "Dan")}
    rows = []
    for i in range(40):
        for system in "abc":
            quality = 3 if system == "b" else 0
            ratings = {rater: quality + float(rng.normal()) for rater in raters[system]}
            row = {"text": f"{system}{i}", "system": system, "group": f"q{i}"}
            rows.append({**row, "ratings": {"q": ratings}})
    answer = judge.compare(rows).answer
    assert "b scores higher than a (p " in answer
    assert "b is not tested against c (no rater rated both" in answer
