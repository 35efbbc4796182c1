"""What a run folder holds: results, the page with its texts and explanations, plots; what happens to an old one."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from core.errors import SettingError
from core.example import Example
from core.notes import TINY, read_note
from core.scores import Scores
from core.stages import fingerprint
from experiments.contracts import SavedModel, Study, Table
from meta_eval.agreement import Agreement
from meta_eval.estimates import Estimate
from meta_eval.scored_set import ScoredSet
from report import results, texts
from report.agreement_tables import AGREEMENT_CELLS, tabulate_agreement
from report.explanations import Line, Piece, read_explanation
from report.page import render
from report.plots import plot_curves, save_figure, scores_against_ratings
from report.texts import list_texts

NAN = math.nan
STATISTICS = ("spearman", "within_systems", "between_systems", "beyond_cues", "pearson", "kendall")


def row(metric: str, spearman: float, set: str = "toys", aspect: str = "quality") -> Agreement:
    estimates = Estimate(0.5, NAN, NAN), Estimate(spearman, -0.25, 0.75), Estimate(NAN, NAN, NAN)
    return Agreement(metric, set, aspect, 3, *estimates, estimates[0], 1, 0, True)


RUN = {"experiment": "toy", "verb": "", "description": "A toy", "seed": 3, "command": ["python", "run.py", "a=[1, 2]"]}
RUN |= {"started": "2026-01-02T03:04:05+00:00", "seconds": 5.0, "timings": {"fit": 4.0}}


def show(outcome: Study) -> str:
    return render(outcome, results.results(outcome, RUN), "seed: 3\n")


def test_results_are_strict_json_with_null_for_nan() -> None:
    figures = {"loss": math.inf, "half": 0.5}
    outcome = Study(signature="sig", tables=[tabulate_agreement([row("a", 0.5)])], notes=["beware"], figures=figures)
    read = json.loads(json.dumps(results.to_json(results.results(outcome, RUN)), allow_nan=False))
    assert (read["experiment"], read["signature"], read["notes"], read["seed"]) == ("toy", "sig", ["beware"], 3)
    assert read["table"][0]["spearman"] == 0.5
    assert read["table"][0]["spearman_interval"] == [-0.25, 0.75]
    assert read["table"][0]["kendall"] is None
    assert read["figures"] == {"loss": None, "half": 0.5}
    assert read["versions"]["torch"]
    assert f"({os.cpu_count()} cores)" in read["machine"]
    intervals = {f"{name}_interval" for name in STATISTICS}
    assert set(read["table"][0]) == {*AGREEMENT_CELLS, *intervals, "reason", "table"}
    assert read["table"][0]["table"] == "agreement"


def test_numbers_of_numpy_are_written_as_python_s() -> None:
    found = results.to_json({"half": np.float32(0.5), "n": np.int64(3), "none": np.float32(NAN), "pair": (1, 2)})
    assert json.dumps(found) == '{"half": 0.5, "n": 3, "none": null, "pair": [1, 2]}'


def test_score_lines_have_every_score_and_its_reason(tmp_path: Path) -> None:
    examples = (Example("a", "x", system="s", group="g", ratings={"q": 1.0}), Example("b", "y"))
    scores = {
        "m": Scores({"q": np.array([NAN, 2.0])}, "m", ["too long", None], [0, 3], [{}, {"low": 1}]),
        "k": Scores({"q": np.array([1.0, 2.0]), "r": np.array([0.5, 0.25])}, "k"),
    }
    outcome = Study(signature="sig", scored=[ScoredSet("toys", examples, scores, synthetic=True)])
    results.write_scores(outcome, tmp_path)
    first, second = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    scored = {"scores": {"m": {"q": None}, "k": {"q": 1.0, "r": 0.5}}, "reasons": {"m": "too long"}}
    others = {"dropped_tokens": {}, "explanations": {"m": {}}}
    about = {"set": "toys", "id": "a", "system": "s", "group": "g", "text_hash": fingerprint("x")}
    assert first == {**about, "ratings": {"q": 1.0}, **scored, **others}
    assert second["dropped_tokens"] == {"m": 3}
    assert results.results(outcome, RUN)["synthetic"]


def test_a_folder_of_other_things_is_not_written_into(tmp_path: Path) -> None:
    results.check_run_folder(tmp_path / "new")
    results.check_run_folder(tmp_path)
    (tmp_path / "thesis.tex").touch()
    for path in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(SettingError, match=r"hydra\.run\.dir must be a "):
            results.check_run_folder(path)
    (tmp_path / "link").symlink_to(tmp_path / "thesis.tex")
    (tmp_path / results.MARK).symlink_to(tmp_path / "thesis.tex")
    for path in (tmp_path, tmp_path / "link"):
        with pytest.raises(SettingError):
            results.check_run_folder(path)
    (tmp_path / results.MARK).unlink()
    (tmp_path / results.MARK).touch()
    results.check_run_folder(tmp_path)


def test_a_new_run_in_an_old_folder_removes_only_what_runs_write(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "old.png").touch()
    for name in ("results.json", "run.log", "mine.txt"):
        (tmp_path / name).touch()
    (tmp_path / "models").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    results.clear_folder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.txt", "run.log", "elsewhere"}


def test_models_replace_those_of_an_earlier_run_and_share_their_bytes(tmp_path: Path) -> None:
    source, folder = tmp_path / "stage", tmp_path / "run"
    source.mkdir()
    (source / "model.safetensors").write_bytes(b"weights")
    (folder / "models" / "old").mkdir(parents=True)
    results.clear_folder(folder)
    results.write_models(Study(signature="sig", models={"expert": SavedModel(source)}), folder)
    assert read_note(folder / "models" / "expert") == ()
    assert [path.name for path in (folder / "models").iterdir()] == ["expert"]
    assert (folder / "models" / "expert" / "model.safetensors").samefile(source / "model.safetensors")
    assert [path.name for path in folder.iterdir()] == ["models"]
    results.clear_folder(folder)
    results.write_models(Study(signature="sig", models={"expert": SavedModel(source)}, synthetic=True), folder)
    assert read_note(folder / "models" / "expert") == (TINY,)
    assert read_note(source) == ()


def other_table() -> Table:
    first = {"judge": "<bilstm>", "n": 3, "ur": Estimate(0.75, 0.5, 0.875), "seeds": (0, 1)}
    return Table(
        "Two systems", "Higher is better.", [first, {**first, "judge": "bert", "ur": Estimate(0.75, NAN, NAN)}]
    )


def test_another_table_is_whole_in_the_results_and_without_lists_elsewhere() -> None:
    outcome = Study(signature="sig", tables=[other_table()])
    found = results.to_json(results.results(outcome, RUN)["table"])
    row = {"judge": "<bilstm>", "n": 3, "ur": 0.75, "ur_interval": [0.5, 0.875], "seeds": [0, 1]}
    assert found[0] == {**row, "reason": "", "table": "Two systems"}
    assert found[1]["ur_interval"] == [None, None]
    assert other_table().columns == ["judge", "n", "ur"]
    page = show(outcome)
    assert "<h2>Two systems</h2>" in page
    assert '<td class="text" data-key="&lt;bilstm&gt;">&lt;bilstm&gt;</td>' in page
    assert '<td data-key="0.75">0.750<small>[0.50, 0.88]</small></td>' in page


def test_tables_are_exported(tmp_path: Path) -> None:
    tables = [tabulate_agreement([row("a_b", 0.5)]), other_table(), Table("Empty", "", [])]
    results.write_tables(tables, tmp_path / "tables")
    names = {"agreement", "two_systems"}
    assert {file.name for file in (tmp_path / "tables").iterdir()} == {
        f"{n}.{s}" for n in names for s in ("csv", "md", "tex")
    }
    lines = (tmp_path / "tables" / "two_systems.csv").read_text().splitlines()
    assert lines[:2] == ["judge,n,ur,ur_low,ur_high", "<bilstm>,3,0.75,0.5,0.875"]
    markdown = (tmp_path / "tables" / "two_systems.md").read_text().splitlines()
    assert markdown[2] == "| &lt;bilstm&gt; | 3 | 0.750 [0.50, 0.88] |"
    assert r"a\_b & 0.500" in (tmp_path / "tables" / "agreement.tex").read_text()


EVIL = "<script>alert(1)</script>../../x|y"


def test_names_from_data_stay_in_their_folder_and_are_text_on_the_page(tmp_path: Path) -> None:
    example = Example(EVIL, EVIL, system=EVIL, ratings={EVIL: 1.0})
    scored = ScoredSet(EVIL, (example,), {EVIL: Scores({EVIL: np.array([0.5])}, EVIL, explanations=[{EVIL: EVIL}])})
    figure = Figure()
    outcome = Study(
        EVIL,
        tables=[tabulate_agreement([row(EVIL, 0.5, set=EVIL, aspect=EVIL)]), Table(EVIL * 20, EVIL, [{EVIL: EVIL}])],
        scored=[scored],
        draw=lambda: {f"scores_{EVIL}": figure, "x" * 300: Figure()},
        notes=[EVIL],
        figures={EVIL: 1.0},
    )
    folder = tmp_path / "inner" / "run"
    folder.mkdir(parents=True)
    results.write_plots(outcome, folder)
    results.write_tables(outcome.tables, folder / "tables")
    results.write_scores(outcome, folder)
    page = show(outcome)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]
    assert [path.name for path in folder.parent.iterdir()] == ["run"]
    assert len(list((folder / "plots").iterdir())) == 2
    assert len(list((folder / "tables").iterdir())) == 6


EXAMPLES = (
    Example("a", "One </script> text.", references=("Another.",), system="new", ratings={"q": 2.0}),
    Example("b", turns=("Hi.", "No.")),
)
TURNS = {"turns": [{"turn": 0, "momentum": 1.0, "tokens": [["Hi", 1.0], ["No", -1.0]]}]}
SCORES = {
    "two": Scores({"x": np.array([0.5, np.nan]), "y": np.array([1.0, 2.0])}, "two", [None, "too short"]),
    "told": Scores({"z": np.array([0.25, 0.75])}, "told", explanations=[TURNS, TURNS]),
}
SCORED = ScoredSet("toys", EXAMPLES, SCORES)


def test_rows_hold_texts_ratings_scores_reasons_and_explanations() -> None:
    found = list_texts(SCORED)
    assert "<" not in found.as_json  # no text can end the script
    data = json.loads(found.as_json)
    assert (data["metrics"], data["aspects"], data["hasSystems"]) == (["two/x", "two/y", "told"], ["q"], True)
    first, second = data["rows"]
    explained = {"told": [["turn 1: 1.000", [["Hi", 1.0, 1.0], ["No", -1.0, -1.0]]]]}
    shown = {"id": "a", "text": "One </script> text.", "references": ["Another."], "system": "new"}
    assert first == {**shown, "ratings": [2.0], "scores": [0.5, 1.0, 0.25], "reasons": {}, "explained": explained}
    assert (second["text"], second["ratings"], second["scores"]) == ("Hi.\nNo.", [None], [None, 2.0, 0.75])
    assert second["reasons"] == {"two": "too short"}


def test_a_page_holds_as_many_texts_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_CHARACTERS", len(list_texts(SCORED).rows[0]))
    found = list_texts(SCORED)
    assert (len(found.rows), found.total) == (1, 2)


def shades(line: Line) -> list[tuple[str, float | None]]:
    return [(piece.text, piece.shade) for piece in line.pieces]


def test_tokens_of_turns_are_shaded_by_their_distance_from_the_mean_of_the_text() -> None:
    turns = [
        {"turn": 0, "momentum": 1.0, "tokens": [["hi", 1.0], ["", 1.0]]},
        {"turn": 1, "momentum": -1.0, "tokens": [["no", 2.0], ["way", -4.0]]},
    ]
    first, second = read_explanation({"turns": turns, "features": {"mean": 0.5}}, "quality")
    assert (first.label, second.label) == ("turn 1: 1.000", "turn 2: -1.000")
    assert shades(first) == [("hi", 0.25), ("⏎", 0.25)]
    assert shades(second) == [("no", 0.5), ("way", -1.0)]
    assert second.pieces[1].value == -4.0


def test_references_and_guided_tokens_are_shaded() -> None:
    ratios = [{"ratio": r, "weight": 0.5, "cosine": c, "text": f"a {c}"} for r, c in ((0.0, 0.9), (0.4, 0.5))]
    first, second = read_explanation({"reference": "a cat", "ratios": ratios}, "quality")
    assert first.label == "ratio 0, cosine 0.900, weight 0.500"
    assert [*shades(first), *shades(second)] == [("a 0.9", pytest.approx(1)), ("a 0.5", pytest.approx(-1))]
    (line,) = read_explanation({"guided": [(" warm", 0.5), (" cold", -0.25), (".", 0.0)] + [("x", 0.0)] * 1000}, "")
    assert shades(line)[:3] == [(" warm", 1.0), (" cold", -0.5), (".", 0.0)]
    assert (len(line.pieces), line.pieces[-1]) == (301, Piece("…"))


def test_patterns_of_the_aspect_are_shown() -> None:
    coherence = [
        {"source": "a <mask>", "target": "b", "score": -1.0, "weight": 0.25},
        {"source": "<extra_id_0> c", "target": "d", "score": -3.0, "weight": 0.75},
    ]
    relevance = [{"prompt": "[T] is [M]", "words": ["good", "bad"], "score": 0.5, "weight": 1.0}]
    explanation = {"coherence": {"evaluators": coherence}, "attribute_relevance": {"evaluators": relevance}}
    lines = read_explanation(explanation, "coherence")
    assert [line.label for line in lines] == ["score -1.000, weight 0.250", "score -3.000, weight 0.750"]
    assert shades(lines[0]) == [("b", 1.0), (" in a <mask>", None)]
    assert shades(lines[1]) == [("d", -1.0), (" in <extra_id_0> c", None)]
    (only,) = read_explanation(explanation, "attribute_relevance")
    assert shades(only) == [("good, bad", 0.0), (" in [T] is [M]", None)]
    assert len(read_explanation(explanation, "overall")) == 3  # no such aspect: all


def test_answers_of_a_judge_and_probabilities_of_turns_are_shown() -> None:
    explanation = {"fluency": {"answer": "4", "tokens": 31}, "coherence": [["Hi.", 0.25], ["No.", 0.75]], "other": [1]}
    answer, first, second, other = read_explanation(explanation, "overall")
    assert answer == Line("fluency, answer of 31 tokens with its question", (Piece("4"),))
    assert (first.label, shades(first), shades(second)) == ("coherence 0.250", [("Hi.", -1.0)], [("No.", 1.0)])
    assert other == Line("other", (Piece("[1]"),))


LONG = "cdm_discriminative_classifier_of_several_seeds"


def scatter() -> Figure:
    examples = tuple(Example(str(i), "x", system=f"system-{i % 3}-{LONG}", ratings={LONG: i % 5}) for i in range(60))
    scores = {f"{LONG}_{i}": Scores({"q": np.arange(60.0)}, "m") for i in range(3)}
    return scores_against_ratings(ScoredSet("toys", examples, scores, synthetic=False))


def test_a_plot_is_readable_in_a_column_of_8_cm(tmp_path: Path) -> None:
    figure = scatter()
    for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        save_figure(figure, tmp_path / f"a.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes().startswith(start)
    assert figure.get_figwidth() == pytest.approx(8 / 2.54)
    words = [each for each in figure.findobj(Text) if isinstance(each, Text) and each.get_text() and each.get_visible()]
    assert min(float(each.get_fontsize()) for each in words) >= 6
    figure.draw_without_rendering()
    titles = [axes.title.get_window_extent() for axes in figure.axes if axes.title.get_text()]
    assert all(each.x0 >= 0 and each.x1 <= figure.bbox.x1 for each in titles)
    assert not any(a.overlaps(b) for i, a in enumerate(titles) for b in titles[:i])


def test_a_panel_has_its_correlation() -> None:
    figure = scatter()
    assert figure.axes[0].get_title().endswith("Spearman 0.082")


def test_learning_curves_have_a_panel_for_each_training() -> None:
    curve = ({"step": 25, "train/loss": 3.0}, {"step": 40, "train/loss": 2.0}, {"step": 40, "val/loss": 2.5})
    figure = plot_curves({"amateur": curve, "discriminator_bert": curve})
    assert [axes.get_title() for axes in figure.axes] == ["amateur", "discriminator_bert"]
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [words.get_text() for words in legend.get_texts()] == ["training", "held-out"]
    assert "held-out NLL" in str(figure.get_label())
    learned, held_out = figure.axes[0].lines
    assert np.asarray(learned.get_xydata()).tolist() == [[25, 3.0], [40, 2.0]]
    assert np.asarray(held_out.get_xydata()).tolist() == [[40, 2.5]]


def test_a_page_begins_with_the_answer() -> None:
    table = Table("Two systems", "", [{"ur": 0.75}])
    notes = ["a template was removed"]
    figures = {"amateur held-out NLL (nats per token)": 2.5}
    page = show(Study("By bert, new looks more human", tables=[table], notes=notes, figures=figures))
    assert '<td data-key="2.5">2.500</td>' in page
    assert "<h1>toy</h1>" in page
    assert '<p class="verdict">By bert, new looks more human</p>' in page
    assert "<li>a template was removed</li>" in page


def test_a_heading_names_metrics_and_sets() -> None:
    scores = {"a": Scores({"quality": np.array([1.0])}, "a")}
    page = show(Study(signature="sig", scored=[ScoredSet("toys", (Example("1", "x"),), scores)]))
    assert "<h1>toy: a on toys</h1>" in page


def test_a_page_defines_its_columns_once_and_no_others() -> None:
    rows = [{"pearson": 0.5, "kendall": 0.25, "effect": 0.5, "unscored": NAN, "set": "toys"}]
    page = show(Study(tables=[Table("Correlations", "Of `m`.", rows), Table("Empty", "", [])]))
    terms = page[page.index("<h2>Columns</h2>") :]
    assert "tau-b of pairs" in terms
    for name in ("pearson", "kendall"):
        assert f'<dt id="column-{name}">{name}</dt>' in terms
    assert not [name for name in ("spearman", "unscored", "synthetic") if f"column-{name}" in page]
    assert "<code>by_judge</code> minus <code>by_people</code>" in terms
    assert "Of <code>m</code>." in page
    assert "`" not in page[: page.index("<script>")]
