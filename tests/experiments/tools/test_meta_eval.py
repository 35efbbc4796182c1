"""+exp=meta_eval through the command line, and its findings."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats

from data.scored import read_scored
from experiments.tools.meta_eval import Comparison, Sample, aspect_samples, compare_metrics, list_groupings
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling

Here = Callable[..., int]
pytestmark = pytest.mark.filterwarnings("default")
FAST = ("resamples=50", "permutations=99")


def write_study(path: Path, raters: int = 0) -> dict[str, np.ndarray]:
    """Six systems on thirty inputs; metric good sees quality, bad does not."""
    rng = np.random.default_rng(0)
    quality = (rng.normal(size=6)[:, None] + rng.normal(size=(6, 30))).ravel()
    values = {
        "ratings": np.round(2 * quality),
        "good": quality + 0.3 * rng.normal(size=180),
        "bad": rng.normal(size=180),
    }
    with path.open("w") as file:
        for i in range(180):
            rating: Any = float(values["ratings"][i])
            if raters:
                rating = [rating + float(noise) for noise in rng.integers(-1, 2, raters)]
            line = {"id": f"t{i}", "text": "word " * (1 + i % 7), "system": f"s{i // 30}", "group": f"i{i % 30}"}
            scores = {"good": values["good"][i], "bad": values["bad"][i]}
            file.write(json.dumps({**line, "ratings": {"quality": rating}, "scores": scores}) + "\n")
    return values


def test_tables_of_a_study(run_here: Here, tmp_path: Path) -> None:
    values = write_study(tmp_path / "in.jsonl")
    assert run_here("+exp=meta_eval", "data.path=in.jsonl", "metric=word_count", "run_dir=here", *FAST) == 0
    table = json.loads((tmp_path / "here" / "results.json").read_text())["table"]
    rows = {(row["metric"], row["grouping"]): row for row in table if "grouping" in row}
    assert set(rows) == {
        (metric, grouping)
        for metric in ("good", "bad", "word_count")
        for grouping in ("global", "per_system", "per_input", "system_means")
    }
    good = rows["good", "global"]
    assert good["spearman"] == pytest.approx(stats.spearmanr(values["good"], values["ratings"])[0])
    assert good["kendall_c"] == pytest.approx(stats.kendalltau(values["good"], values["ratings"], variant="c")[0])
    by_input = [np.corrcoef(values["good"][i::30], values["ratings"][i::30])[0, 1] for i in range(30)]
    assert rows["good", "per_input"]["pearson"] == pytest.approx(np.mean(by_input))
    assert rows["good", "per_input"]["groups"] == 30
    means = [v.reshape(6, 30).mean(axis=1) for v in (values["good"], values["ratings"])]
    assert rows["good", "system_means"]["kendall"] == pytest.approx(stats.kendalltau(*means)[0])
    soft = {row["metric"]: row for row in table if "soft_accuracy" in row}
    assert soft["good"]["soft_accuracy"] > 0.85
    assert (soft["word_count"]["soft_accuracy"] < soft["good"]["soft_accuracy"], soft["good"]["reason"]) == (True, "")
    assert good["calibrated_accuracy"] >= good["accuracy"]
    pairs = {(row["better"], row["worse"]): row for row in table if "better" in row}
    assert len(pairs) == 3
    won = pairs["good", "bad"]
    assert won["p_value"] == 0.01
    assert won["holm"] == pytest.approx(0.03)
    assert won["difference_interval"][0] > 0
    assert won["detectable"] < won["difference"]
    lengths = {row["metric"]: row for row in table if "counts_words" in row}
    assert {metric: row["counts_words"] for metric, row in lengths.items()} == {
        "good": "no",
        "bad": "no",
        "word_count": "yes",
    }
    assert lengths["word_count"]["with_length"] == 1
    ranks = {row["metric"]: row["cluster"] for row in table if "cluster" in row}
    assert ranks == {"good": 1, "bad": 2, "word_count": 2}
    assert (tmp_path / "here" / "plots" / "spearman_quality.png").is_file()


def test_several_raters_have_a_ceiling(run_here: Here, tmp_path: Path) -> None:
    write_study(tmp_path / "in.jsonl", raters=3)
    assert run_here("+exp=meta_eval", "data.path=in.jsonl", "run_dir=here", "statistic=kendall", *FAST) == 0
    table = json.loads((tmp_path / "here" / "results.json").read_text())["table"]
    (ceiling,) = [row for row in table if "raters" in row]
    assert ceiling["raters"] == 3
    assert 0.5 < ceiling["leave_one_out"] <= 1
    assert ceiling["interval_alpha_interval"][0] < ceiling["interval_alpha"]


def test_scores_written_by_score(run_here: Here, tmp_path: Path) -> None:
    write_study(tmp_path / "in.jsonl")
    plain = [json.loads(line) for line in (tmp_path / "in.jsonl").read_text().splitlines()]
    (tmp_path / "plain.jsonl").write_text(
        "".join(json.dumps({k: v for k, v in line.items() if k != "scores"}) + "\n" for line in plain)
    )
    assert run_here("+exp=score", "metric=word_count", "data.path=plain.jsonl", "output=out.jsonl") == 0
    given = ("data.path=plain.jsonl", "+scores.words=out.jsonl", "run_dir=here")
    assert run_here("+exp=meta_eval", *given, *FAST) == 0
    results = json.loads((tmp_path / "here" / "results.json").read_text())
    assert {row["metric"] for row in results["table"] if "metric" in row} == {"words"}
    assert "words: word_count" in results["signature"]


def write_references(path: Path) -> None:
    rng = np.random.default_rng(0)
    words = ["a", "cat", "sat", "on", "the", "mat"]
    with path.open("w") as file:
        for i in range(12):
            text = " ".join(rng.permutation(words)[: 3 + i % 4])
            line = {"id": f"t{i}", "text": text, "references": ["a cat sat on the mat"]}
            file.write(json.dumps(line | {"ratings": {"q": i}, "scores": {"m": i % 5}}) + "\n")


def test_several_metrics_run_by_the_names_of_their_configurations(run_here: Here, tmp_path: Path) -> None:
    write_references(tmp_path / "in.jsonl")
    more = ("metrics=[rouge_1,bleu]", "metrics.bleu.order=1", "+metric@metrics.longer=bleu", "metric=word_count")
    assert run_here("+exp=meta_eval", "data.path=in.jsonl", "run_dir=here", *more, *FAST) == 0
    table = json.loads((tmp_path / "here" / "results.json").read_text())["table"]
    rows = {row["metric"]: row for row in table if "grouping" in row}
    assert list(rows) == ["m", "word_count", "rouge_1", "bleu", "longer"]
    assert rows["bleu"]["spearman"] != rows["longer"]["spearman"]
    assert len([row for row in table if "better" in row]) == 10
    signature = json.loads((tmp_path / "here" / "results.json").read_text())["signature"]
    assert "|bleu: bleu1|" in signature
    assert "|longer: bleu|" in signature
    settings = yaml.safe_load((tmp_path / "here" / "config.yaml").read_text())["metrics"]
    assert (settings["bleu"]["order"], settings["longer"]["order"]) == (1, 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("metrics=[blue]",), "metric=blue: there is no such metric (did you mean bleu"),
        (("metrics=[bleu,bleu]",), "metrics must name each metric once, but has bleu twice"),
        (("metrics=[cdm_generative]",), "metrics.cdm_generative.folder must be given"),
        (("+metric@metrics.m=bleu",), "in.jsonl:0: a metric must have one score, but m is also in the file"),
    ],
)
def test_metrics_that_cannot_run(
    run_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: tuple, message: str
) -> None:
    write_references(tmp_path / "in.jsonl")
    assert run_here("+exp=meta_eval", "data.path=in.jsonl", *settings) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "settings", "message"),
    [
        ({"text": "x", "scores": {"m": 1}}, (), 'in.jsonl:0: at least one example needs "ratings"'),
        ({"text": "x", "ratings": {"q": 1}}, (), "in.jsonl:0: scores are needed"),
        ({"text": "x", "ratings": {"q": 1}, "scores": {"m": "a"}}, (), 'in.jsonl:1: "m" of "scores" must be'),
        (
            {"text": "x", "ratings": {"q": 1}, "scores": {"m": 1}},
            ("statistic=tau",),
            "statistic must be 'pearson'",
        ),
        ({"text": "x", "ratings": {"q": 1}, "scores": {"m": 1}}, ("grouping=all",), "grouping must be 'global'"),
        ({"text": "x", "ratings": {"q": 1}, "scores": {"m": 1}}, ("over=texts",), "over must be 'inputs'"),
        ({"text": "x", "ratings": {"q": 1}, "scores": {"m": 1}}, ("over=both", "interval=bca"), "BCa intervals need"),
        ({"text": "x", "ratings": {"q": 1}, "scores": {"m": 1}}, ("permutations=0",), "permutations must be"),
    ],
)
def test_bad_input(
    run_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: dict, settings: tuple, message: str
) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps(line) + "\n")
    assert run_here("+exp=meta_eval", "data.path=in.jsonl", *settings) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_study_without_variation_has_reasons_and_no_warnings(
    run_here: Here, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    lines = [
        {
            "id": str(i),
            "text": "x",
            "system": "one",
            "ratings": {"q": i},
            "scores": {"flat": 1, "few": i if i < 4 else None},
        }
        for i in range(6)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run_here("+exp=meta_eval", "data.path=in.jsonl", "run_dir=here", *FAST) == 0
    table = json.loads((tmp_path / "here" / "results.json").read_text())["table"]
    rows = {row["metric"]: row for row in table if "grouping" in row}
    assert rows["flat"]["reason"] == "all 6 scores of examples are 1: a constant has no correlation"
    assert rows["flat"]["spearman"] is None
    assert rows["few"]["spearman"] == 1
    assert rows["few"]["reason"] == "an interval over inputs needs at least 30 of them, but there are 4"
    ranking = {row["metric"]: row for row in table if "cluster" in row}
    assert ranking["flat"]["reason"] == rows["flat"]["reason"]
    (pair,) = [row for row in table if "better" in row]
    assert pair["p_value"] is None
    assert "all 4 scores of examples are 1" in pair["reason"]
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


@pytest.mark.parametrize(
    ("grouping", "reason"),
    [
        ("per_system", "an interval over inputs needs at least 30 of them, but there are 6"),  # the same as global
        ("per_input", "scores and ratings do not both vary within any of the 6 inputs"),
        ("system_means", "a correlation needs at least 3 scored and rated systems, but there are 1"),
    ],
)
def test_one_system_has_numbers_or_reasons(run_here: Here, tmp_path: Path, grouping: str, reason: str) -> None:
    lines = [
        {"text": "x " * (i + 1), "system": "one", "group": f"g{i}", "ratings": {"q": i}, "scores": {"m": i, "k": i % 3}}
        for i in range(6)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = ("data.path=in.jsonl", f"grouping={grouping}", "run_dir=here", *FAST)
    assert run_here("+exp=meta_eval", *settings) == 0
    table = json.loads((tmp_path / "here" / "results.json").read_text())["table"]
    rows = {row["metric"]: row for row in table if row.get("grouping") == grouping}
    assert rows["k"]["reason"] == reason
    assert (rows["k"]["spearman"] is None) == (grouping != "per_system")
    for row in table:
        if any(cell is None or cell == [None, None] for cell in row.values()):
            assert row["reason"], row


def test_the_largest_numbers_can_be_drawn(run_here: Here, tmp_path: Path) -> None:
    lines = [
        {"text": "x", "ratings": {"q": 1e149 * i}, "scores": {"m": (-1) ** i * 1e150, "k": i % 3}} for i in range(6)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run_here("+exp=meta_eval", "data.path=in.jsonl", "run_dir=here", *FAST) == 0
    assert (tmp_path / "here" / "plots" / "scores_q.png").is_file()


def test_metrics_that_rank_alike_have_no_williams_test() -> None:
    scores = np.random.default_rng(0).normal(size=30)
    sample = Sample("q", {"a": scores, "b": 2 * scores}, np.arange(30.0), np.arange(30.0), lay_out(30))
    (pair,) = compare_metrics(sample, Comparison("spearman", "global", 99, 0.05), Resampling(resamples=50))
    assert math.isnan(pair.williams_p)
    assert pair.reason == "the two metrics rank all examples alike"


def test_published_scores_of_real_dialogues(shared_data: Path, tmp_path: Path) -> None:
    """DEAM on the DSTC9 sample: .1881 with coherence, .1200 with overall quality."""
    folder = shared_data / "dstc9"
    scores = [float(row.split("\t")[1]) for row in (folder / "deam_scores_sample.tsv").read_text().splitlines()[1:]]
    ratings = {
        aspect: [
            float(line.rpartition("</UTT>")[2])
            for line in (folder / f"dstc9_sample_{aspect}.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
        ]
        for aspect in ("coherence", "overall")
    }
    with (tmp_path / "in.jsonl").open("w") as file:
        for i, score in enumerate(scores):
            rated = {aspect: values[i] for aspect, values in ratings.items()}
            line = {"id": str(i), "text": "x", "ratings": rated, "scores": {"deam": score, "shuffled": scores[i - 7]}}
            file.write(json.dumps(line) + "\n")
    scored = read_scored(tmp_path / "in.jsonl")
    samples = aspect_samples(scored, scored.scores)
    assert [list_groupings(sample.layout) for sample in samples] == [["global"], ["global"]]
    for sample, expected in zip(samples, (0.1881, 0.1200), strict=True):
        found = stats.spearmanr(sample.scores["deam"], sample.ratings)[0]
        assert found == pytest.approx(expected, abs=5e-5)
        (pair,) = compare_metrics(sample, Comparison("spearman", "global", 99, 0.05), Resampling(resamples=50))
        assert pair.holm == pair.permutation_p
        assert not math.isnan(pair.williams_p)
