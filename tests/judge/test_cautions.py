"""Notes on data that mislead in silence: each with data that deserve it and data that do not."""

import numpy as np
import pytest

import judge
from judge.cautions import RaterScales


def notes_on(rows: list[dict], **settings) -> str:
    return "\n".join(judge.agree(rows, cues=False, **settings).notes)


def compare_notes(rows: list[dict]) -> str:
    return "\n".join(judge.compare(rows, cues=False).notes)


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


def test_scores_that_are_the_ratings() -> None:
    rows = [{"text": f"t{i}", "ratings": {"q": i % 7}, "scores": {"m": i % 7, "n": i % 5}} for i in range(20)]
    found = notes_on(rows)
    assert "the scores of m equal the ratings of q: are they ratings too?" in found
    assert "the scores of n" not in found


def test_groupings_that_disagree() -> None:
    """Inputs with better texts have higher scores, but within an input the better text scores lower."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(40):
        level = rng.normal()
        for k in range(5):
            rating = 3 * level + k
            score = 3 * level - k / 2
            rows.append({"text": f"t{i}{k}", "group": f"q{i}", "ratings": {"q": rating}, "scores": {"m": score}})
    assert "m and q: signs disagree, spearman " in notes_on(rows)
    for row in rows:
        row["scores"]["m"] = row["ratings"]["q"]
    assert "signs disagree" not in notes_on(rows)


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


def test_raters_who_rated_other_systems() -> None:
    said = compare_notes(rated_by((0.8, 0.2), severity=1.0))
    assert "raters of q use the scale differently" in said
    assert "a difference of systems may be one of raters" in said
    assert "may be one of raters" not in compare_notes(rated_by((0.5, 0.5), severity=0.0))
    assert "use the scale" not in compare_notes(rated_by((0.5, 0.5), severity=0.0))


@pytest.mark.parametrize("labels_each", [2, 5, 10])
def test_workers_who_differ_by_chance_alone_have_no_note(labels_each: int) -> None:
    """100 workers with the same chance of a yes; half of them stricter is evidence, where labels are enough."""
    rng = np.random.default_rng(labels_each)
    table = np.full((100, 100 * labels_each // 2), np.nan)
    for text in range(table.shape[1]):
        workers = [2 * text % 100, (2 * text + 1) % 100]
        table[workers, text] = rng.random(2) < 0.7
    scales = RaterScales.of(table)
    assert scales is None or not scales.are_different
    assert (scales is None) == (labels_each < 5)
    rng.shuffle(table)
    table[:50] *= 0.1
    stricter = RaterScales.of(table)
    assert stricter is None or stricter.are_different


def test_a_crowd_of_one_kind_has_no_note_on_scales() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for text in range(120):
        of_workers = {f"w{(2 * text + i) % 80}": int(rng.random() < 0.7) for i in range(2)}
        rows.append({"text": f"t{text}", "ratings": {"label": of_workers}, "scores": {"m": float(rng.normal())}})
    assert "use the scale differently" not in notes_on(rows)


def test_raters_who_coincide_with_systems() -> None:
    """Each system has a rater of its own: also where these seem to use the scale alike, nobody can know."""
    for severity in (0.0, 3.0):
        compared = judge.compare(rated_by((1.0, 0.0), severity=severity), cues=False)
        assert "higher" not in compared.notes[-1]
        assert "is not tested against" in compared.notes[-1]
        pair = compared.pairs["human q"]["a", "b"]
        assert np.isnan([pair.p_value, pair.difference.low, pair.win_rate.low]).all()
        assert [mean.cluster for mean in compared.means["human q"]] == ["1", "1"]
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
    answer = judge.compare(rows, cues=False).notes[-1]
    assert "b scores higher than a (p " in answer
    assert "b is not tested against c (no rater rated both" in answer


@pytest.mark.parametrize("kind", ["normal", "log-normal"])
def test_a_mean_that_rests_on_a_tail(kind: str) -> None:
    rng = np.random.default_rng(0)
    gaps = rng.normal(size=60) if kind == "normal" else rng.lognormal(sigma=1.5, size=60)
    rows = [
        {"text": f"{system}{i}", "system": system, "group": f"q{i}", "scores": {"m": float(gap) * (system == "a")}}
        for i, gap in enumerate(gaps)
        for system in "ab"
    ]
    assert ("rests on a tail (skewness" in compare_notes(rows)) == (kind == "log-normal")
