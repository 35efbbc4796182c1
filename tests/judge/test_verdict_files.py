"""Tables of verdicts and labels without texts, labels in a file of their own, and people in a log."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import judge
from core.errors import InputError, QuestionError, SettingError, write_settings_by
from judge.cli import write_flag
from judge.verdict_files import read_labels, read_verdicts
from report.study import Study
from tests.data.sets.small_files import write
from tests.judge.tables import write_csv

RNG = np.random.default_rng(0)
HUMAN = (RNG.random(80) < 0.6).astype(int)
JUDGE = np.where(RNG.random(80) < 0.85, HUMAN, 1 - HUMAN)
ROWS = [{"id": f"q{i}", "judge": int(a), "human": int(b)} for i, (a, b) in enumerate(zip(JUDGE, HUMAN, strict=True))]
KAPPA = cohen_kappa_score(HUMAN, JUDGE)


def list_columns(*names: str) -> list[dict]:
    return [{name: row[name] for name in names} for row in ROWS]


def find_kappa(study: Study) -> float:
    (agreement,) = study.found.judged[0].agreement.values()
    return agreement.kappa.value


def write_log(path: Path, epochs: int = 1) -> Path:
    """A log of Inspect with a model as a scorer, and a person."""
    samples = [
        {
            "id": i,
            "epoch": epoch,
            "input": f"Question {i}?",
            "target": "",
            "output": {"choices": [{"message": {"content": f"Answer {i}."}}]},
            "scores": {"graded": {"value": "CI"[1 - row["judge"]]}, "human": {"value": "CI"[1 - row["human"]]}},
        }
        for i, row in enumerate(ROWS)
        for epoch in range(1, epochs + 1)
    ]
    return write(path, {"version": 2, "status": "success", "eval": {"model": "m", "task": "t"}, "samples": samples})


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "rows", "frame"])
def test_verdicts_and_labels_alone_have_an_answer(form: str, tmp_path: Path) -> None:
    source: Any = ROWS
    if form == "csv":
        source = write_csv(tmp_path / "v.csv", ROWS)
    elif form == "json":
        source = tmp_path / "v.json"
        source.write_text(json.dumps(ROWS))
    elif form == "jsonl":
        source = write(tmp_path / "v.jsonl", *ROWS)
    elif form == "frame":
        source = pytest.importorskip("pandas").DataFrame(ROWS)
    study = judge.agree(source)
    assert find_kappa(study) == pytest.approx(KAPPA)
    assert "labels of people: human; verdicts of judges: judge; rows named by id" in study.notes[0]
    assert study.answer.startswith("human: the kappa of judge with people is ")
    assert "length, repetition" not in study.answer
    assert not any("empty" in note for note in study.notes)


def test_columns_that_are_ratings_keep_their_aspect(tmp_path: Path) -> None:
    """`rating:ASPECT:RATER` and `judge` say what a column is; a column beside them is not read."""
    rows = [{"rating:q:r1": row["human"], "rating:q:r2": row["human"], "label": 1, **row} for row in ROWS]
    rows = [{name: cell for name, cell in row.items() if name != "human"} for row in rows]
    found = read_verdicts(write_csv(tmp_path / "v.csv", rows))
    assert found.aspects == ("q",)
    assert "judge" in found.scores
    np.testing.assert_array_equal(found.raters["q"], [HUMAN, HUMAN])
    assert found.examples[0].extra["ratings"]["q"].keys() == {"r1", "r2"}


def test_a_wanted_label_is_no_rating_unless_people_names_it(tmp_path: Path) -> None:
    """A metric that scores texts may read the label that was asked for: it never counts as people's without a word."""
    rows = [{"id": str(i), "text": f"Answer {'x ' * (i % 7)}", "label": HUMAN[i]} for i in range(len(HUMAN))]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(QuestionError, match='people="label"'):
        judge.agree(path, "word_count")
    study = judge.agree(path, "word_count", people="label", cues=False)
    assert study.scored[0].aspects == ("label",)


def test_columns_of_ones_own_choice(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "v.csv", [{"id": row["id"], "a": row["judge"], "b": row["human"]} for row in ROWS])
    with pytest.raises(QuestionError, match='people="a", judges="b"'):
        judge.agree(path)
    assert find_kappa(judge.agree(path, people="b", judges="a")) == pytest.approx(KAPPA)
    columns = {"ratings.ok": "b", "scores.gpt": "a"}
    assert find_kappa(judge.agree(path, columns=columns)) == pytest.approx(KAPPA)


def test_people_in_columns_and_in_rows(tmp_path: Path) -> None:
    """The same labels of two people, in two columns and in rows that name the annotator."""
    other = [1 - row["human"] if i % 9 == 0 else row["human"] for i, row in enumerate(ROWS)]
    wide = [{**row, "rater_2": label} for row, label in zip(ROWS, other, strict=True)]
    wide = [{"id": row["id"], "llm": row["judge"], "rater_1": row["human"], "rater_2": row["rater_2"]} for row in wide]
    long = [
        {"id": row["id"], "llm": row["llm"], "annotator": f"p{number}", "label": row[f"rater_{number}"]}
        for row in wide
        for number in (1, 2)
    ]
    of_columns = read_verdicts(write_csv(tmp_path / "wide.csv", wide), people="rater_1,rater_2", judges="llm")
    of_rows = read_verdicts(write_csv(tmp_path / "long.csv", long), people="label", judges="llm")
    np.testing.assert_array_equal(of_columns.raters["label"], of_rows.raters["label"])
    np.testing.assert_array_equal(of_columns.values("llm", ""), of_rows.values("llm", ""))
    rows = [{name: cell for name, cell in row.items() if name != "id"} for row in long]
    with pytest.raises(InputError, match="rows by annotator need a column with the id"):
        read_verdicts(rows, people="label", judges="llm")


def test_labels_in_a_file_of_their_own(tmp_path: Path) -> None:
    verdicts = write_csv(tmp_path / "verdicts.csv", list_columns("id", "judge"))
    labels = list_columns("id", "human")[::-1][:50]
    path = write_csv(tmp_path / "labels.csv", [*labels, {"id": "lost", "human": 1}])
    study = judge.agree(verdicts, labels=path)
    kept = [i for i in range(80) if i >= 30]
    assert find_kappa(study) == pytest.approx(cohen_kappa_score(HUMAN[kept], JUDGE[kept]))
    joined = "labels.csv: 50 of 51 labels joined by id to 50 of 80 verdicts; without a verdict: lost"
    assert joined in study.notes
    in_memory = judge.agree(list_columns("id", "judge"), labels=labels)
    assert find_kappa(in_memory) == find_kappa(study)
    with pytest.raises(InputError, match=r"none matches: x0, x1, x2 and 77 more there and q0, q1, q2 and 77 more"):
        judge.agree(verdicts, labels=[{**row, "id": f"x{i}"} for i, row in enumerate(list_columns("id", "human"))])
    with pytest.raises(SettingError, match="rates human of"):
        judge.agree(ROWS, labels=labels)


def test_one_label_column_needs_no_name_of_people() -> None:
    labels = read_labels(
        [{"id": row["id"], "passed": row["human"], "comment": f"note {i}"} for i, row in enumerate(ROWS)]
    )
    assert labels.labelled.aspects == ("passed",)
    rows = [{"id": "q1", "passed": 1, "checked": 0}, {"id": "q2", "passed": 0, "checked": 1}]
    with pytest.raises(QuestionError, match=r'people=\["passed", "checked"\]'):
        read_labels(rows)
    assert read_labels(rows, people=["passed"]).labelled.aspects == ("passed",)
    assert read_labels([{"id": row["id"], "judge": row["judge"]} for row in ROWS]).labelled.aspects == ("judge",)
    with pytest.raises(SettingError, match="labels needs a column with the ids"):
        read_labels([{"human": 1}, {"human": 0}])


def test_a_scorer_of_a_log_is_a_person(tmp_path: Path) -> None:
    study = judge.agree(write_log(tmp_path / "log.json"), people="human")
    assert find_kappa(study) == pytest.approx(KAPPA)
    assert "human" not in study.scored[0].scores
    with pytest.raises(SettingError, match="but ann is none of graded and human"):
        judge.agree(write_log(tmp_path / "log.json"), people="ann")


@pytest.mark.parametrize("names", ["sample", "id"])
def test_labels_join_the_samples_and_epochs_of_a_log(names: str, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.json", epochs=2)
    labels: list[dict] = [{"id": i, "human": row["human"]} for i, row in enumerate(ROWS)]
    if names == "id":
        labels = [{**row, "id": f"{row['id']}-2"} for row in labels]
    found = read_verdicts(log, judges="graded", labels=labels)
    rated = np.flatnonzero(~np.isnan(found.ratings("human")))
    assert len(rated) == (160 if names == "sample" else 80)
    if names == "sample":
        assert "which repeat their input" in found.notes[-1]
    for i in rated:
        assert found.ratings("human")[i] == HUMAN[int(str(found.examples[i].group))]


def test_raters_that_are_no_people_are_judges() -> None:
    rows = [
        {"id": row["id"], "text": f"text {i}", "ratings": {"ok": {"ann": row["human"], "gpt": row["judge"]}}}
        for i, row in enumerate(ROWS)
    ]
    study = judge.agree(rows, people="ann", cues=False)
    assert find_kappa(study) == pytest.approx(KAPPA)


def test_a_label_of_an_input_with_several_systems_needs_the_system() -> None:
    rows = [{"group": row["id"], "system": name, "text": f"{i}", "scores": {"j": row["judge"]}, "id": f"{name}{i}"}
            for i, row in enumerate(ROWS) for name in "ab"]  # fmt: skip
    labels = list_columns("id", "human")
    with pytest.raises(InputError, match='"q0" has outputs of 2 systems: labels need a column system'):
        read_verdicts(rows, labels=labels)
    found = read_verdicts(rows, labels=[{**row, "system": "b"} for row in labels])
    assert int((~np.isnan(found.ratings("human"))).sum()) == 80


def test_a_model_among_the_raters_of_rows_is_a_judge() -> None:
    raters = {"ann": "human", "ben": "human", "gpt-4o": "judge"}
    rows = [{"id": row["id"], "rater": name, "label": row[who]} for row in ROWS for name, who in raters.items()]
    study = judge.agree(rows, people="label", judges="gpt-4o")
    assert find_kappa(study) == pytest.approx(KAPPA)
    assert [*study.scored[0].scores] == ["gpt-4o"]
    assert "one row by rater" in study.notes[0]
    chosen = judge.agree(rows, people=["label", "ann", "gpt-4o"])
    assert [*chosen.scored[0].scores] == ["ben"]


def test_verdicts_and_labels_in_objects(tmp_path: Path) -> None:
    verdicts = [{"id": row["id"], "judge": {"verdict": row["judge"], "reason": "So it is."}} for row in ROWS]
    labels = [{"id": row["id"], "human": {"label": row["human"]}} for row in ROWS]
    both = [{**verdict, **label} for verdict, label in zip(verdicts, labels, strict=True)]
    path = write(tmp_path / "both.jsonl", *both)
    study = judge.agree(path, people="human.label", judges="judge.verdict")
    assert find_kappa(study) == pytest.approx(KAPPA)
    assert "people: human.label; verdicts of judges: judge.verdict; rows named by id" in study.notes[0]
    assert find_kappa(judge.agree(verdicts, judges="judge.verdict", labels=labels)) == find_kappa(study)
    chosen = judge.agree(path, people="judge.verdict", judges="human.label")
    assert find_kappa(chosen) == pytest.approx(KAPPA)
    path.write_text(path.read_text() + "{\n")
    with pytest.raises(InputError, match=r"both.jsonl:81: broken JSON"):
        judge.agree(path)


SYSTEMS = {"a": HUMAN, "b": 1 - HUMAN}


def list_outputs(key: str, system: str, **columns: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """A row for each input and system: the input in `key`, and columns of values by system."""
    rows: list[dict[str, Any]] = []
    for i, row in enumerate(ROWS):
        for name in SYSTEMS:
            values = {column: int(by_system[name][i]) for column, by_system in columns.items()}
            rows.append({key: row["id"], system: name, **values})
    return rows


@pytest.mark.parametrize("key", ["id", "question_id", "sample_id"])
def test_an_id_that_systems_share_names_an_input(key: str, tmp_path: Path) -> None:
    """Outputs of two models to each question in one table, labelled each."""
    judged = {"a": JUDGE, "b": JUDGE}
    rows = list_outputs(key, "model", judge=judged, human=SYSTEMS)
    study = judge.agree(write_csv(tmp_path / "table.csv", rows))
    people = np.concatenate([HUMAN, 1 - HUMAN])
    assert find_kappa(study) == pytest.approx(cohen_kappa_score(people, np.tile(JUDGE, 2)))
    assert study.scored[0].systems == ["a", "b"] * 80
    assert len({*(study.scored[0].groups or ())}) == 80
    assert f"judges: judge; rows named by {key}" in study.notes[0]
    apart = judge.agree(
        write_csv(tmp_path / "verdicts.csv", list_outputs(key, "model", judge=judged)),
        labels=write_csv(tmp_path / "labels.csv", list_outputs(key, "model", human=SYSTEMS)[:-1]),
    )
    assert "labels.csv: 159 of 159 labels joined by id to 159 of 160 verdicts" in apart.notes
    assert apart.found.judged[0].agreement["judge"].n == 159


def test_labels_by_several_people_of_the_outputs_of_several_systems() -> None:
    verdicts = list_outputs("id", "system", judge={"a": JUDGE, "b": JUDGE})
    labels = [{**row, "annotator": who} for row in list_outputs("id", "system", label=SYSTEMS) for who in "xy"]
    texts = read_verdicts(verdicts, labels=labels)
    both_systems = np.stack([HUMAN, 1 - HUMAN], axis=1).ravel()
    np.testing.assert_array_equal(texts.raters["label"], np.stack([both_systems, both_systems]))


def test_labels_of_systems_that_nobody_judged() -> None:
    verdicts = list_outputs("id", "system", judge={"a": JUDGE, "b": JUDGE})
    labels = [{**row, "system": f"org/{row['system']}"} for row in list_outputs("id", "system", human=SYSTEMS)]
    with pytest.raises(InputError, match=r"must name systems of .*none matches: org/a, org/b there and a, b in"):
        read_verdicts(verdicts, labels=labels)
    with pytest.raises(InputError, match=r"\(org/b\)"):
        read_verdicts(list_columns("id", "judge"), labels=labels)


def test_labels_of_two_providers_of_promptfoo(tmp_path: Path) -> None:
    document = json.loads(write_results(tmp_path / "r.json").read_text())
    results = document["results"]["results"]
    document["results"]["results"] = [{**row, "provider": {"id": name}} for row in results for name in SYSTEMS]
    (tmp_path / "r.json").write_text(json.dumps(document))
    labels = list_outputs("test", "provider", human=SYSTEMS)
    for i, row in enumerate(labels):
        row["test"] = i // 2
    texts = read_verdicts(tmp_path / "r.json", labels=write_csv(tmp_path / "labels.csv", labels))
    human = texts.ratings("human")
    is_first = np.array(texts.systems) == "a"
    np.testing.assert_array_equal(human[is_first], HUMAN)
    np.testing.assert_array_equal(human[~is_first], 1 - HUMAN)


def write_samples(path: Path) -> Path:
    """Samples of lm-eval, whose documents are numbered from 0."""
    samples = [
        {
            "doc_id": i,
            "doc": {},
            "target": "yes",
            "arguments": {"gen_args_0": {"arg_0": f"Question {i}?", "arg_1": {}}},
            "resps": [[f"Answer {i}."]],
            "filtered_resps": [f"Answer {i}."],
            "metrics": ["graded"],
            "graded": float(row["judge"]),
        }
        for i, row in enumerate(ROWS)
    ]
    return write(path, *samples)


def write_results(path: Path) -> Path:
    """Results of promptfoo, whose tests are numbered from 0 and whose lines from 1."""
    results = [
        {
            "testIdx": i,
            "promptIdx": 0,
            "provider": {"id": "gpt"},
            "prompt": {"raw": f"Question {i}?", "label": "p"},
            "vars": {"q": i},
            "success": bool(row["judge"]),
            "score": float(row["judge"]),
            "response": {"output": f"Answer {i}."},
        }
        for i, row in enumerate(ROWS)
    ]
    return write(path, {"results": {"version": 3, "prompts": [], "results": results}})


@pytest.mark.parametrize("skipped", [0, 1])
@pytest.mark.parametrize(
    ("name", "write_log_of", "key", "judge_name"),
    [("samples_t_1.jsonl", write_samples, "doc_id", "graded"), ("r.json", write_results, "testIdx", "pass")],
)
def test_labels_of_a_log(name: str, write_log_of: Any, key: str, judge_name: str, skipped: int, tmp_path: Path) -> None:
    """The labels of tests 1 to 79 must not be taken for those of lines 1 to 79."""
    labels = [{key: i, "human": row["human"]} for i, row in enumerate(ROWS)][skipped:]
    found = read_verdicts(write_log_of(tmp_path / name), labels=write_csv(tmp_path / "labels.csv", labels))
    expected = [np.nan] * skipped + HUMAN[skipped:].tolist()
    np.testing.assert_array_equal(found.ratings("human"), expected)
    np.testing.assert_array_equal(found.values(judge_name, ""), JUDGE)


def test_nothing_is_joined_by_numbers_of_lines(tmp_path: Path) -> None:
    verdicts = write_csv(tmp_path / "verdicts.csv", list_columns("judge"))
    labels = [{"id": i, "human": row["human"]} for i, row in enumerate(ROWS)]
    with pytest.raises(InputError, match=r"verdicts.csv: verdicts need a column with ids, such as id"):
        read_verdicts(verdicts, labels=labels)
    grouped = [{"group": i + 1, "judge": row["judge"]} for i, row in enumerate(ROWS)]
    by_group = [{"group": i + 1, "human": row["human"]} for i, row in enumerate(ROWS)][1:]
    found = read_verdicts(write_csv(tmp_path / "grouped.csv", grouped), labels=by_group)
    np.testing.assert_array_equal(found.ratings("human"), [np.nan, *HUMAN[1:]])


def test_an_id_of_digits_is_no_number(tmp_path: Path) -> None:
    rows = [{**row, "id": f"{i:03}"} for i, row in enumerate(ROWS)]
    verdicts = write_csv(tmp_path / "verdicts.csv", [{"id": row["id"], "judge": row["judge"]} for row in rows])
    labels = [{name: row[name] for name in ("id", "human")} for row in rows]
    found = read_verdicts(verdicts, labels=write_csv(tmp_path / "labels.csv", labels))
    np.testing.assert_array_equal(found.ratings("human"), HUMAN)


def test_rows_by_annotator_with_several_questions(tmp_path: Path) -> None:
    rows = [
        {"id": row["id"], "gpt": row["judge"], "annotator": who, "human_tone": row["human"], "human_facts": 1}
        for row in ROWS
        for who in "ab"
    ]
    found = read_verdicts(write_csv(tmp_path / "v.csv", rows), people="human_tone,human_facts", judges="gpt")
    assert (found.aspects, len(found)) == (("human_tone", "human_facts"), 80)
    np.testing.assert_array_equal(found.raters["human_tone"], [HUMAN, HUMAN])


def test_a_scorer_called_human_is_a_person(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.json")
    study = judge.agree(path)
    assert find_kappa(study) == pytest.approx(KAPPA)
    assert "log.json: labels of people: human (people names other scorers)" in study.notes


def test_a_log_in_which_nobody_is_a_person_lists_its_scorers(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.json")
    path.write_text(path.read_text().replace('"human"', '"match"'))
    with pytest.raises(QuestionError, match='people="graded", judges="match"'):
        judge.agree(path)
    with pytest.raises(SettingError, match="judges"):
        read_verdicts(path, people="match", judges="grade")


def test_rows_of_several_systems_without_an_input_or_a_system(tmp_path: Path) -> None:
    rows = list_outputs("question_id", "model", human=SYSTEMS, judge=SYSTEMS)
    rows[2]["question_id"] = ""
    rows[3]["model"] = ""
    path = write_csv(tmp_path / "rows.csv", rows)
    rule = "rows of several systems need"
    with pytest.raises(InputError) as error:
        read_verdicts(path)
    assert str(error.value).splitlines() == [
        f"{path}:4: {rule} an id and a system, as other lines",
        f"{path}:5: {rule} an id and a system, as other lines",
    ]
    verdicts = list_outputs("question_id", "model", judge=SYSTEMS)
    with pytest.raises(InputError, match=rf"rows.csv:4: {rule} an id"):
        read_verdicts(verdicts, labels=path)


def test_texts_with_verdicts_alone_are_refused_with_a_command(tmp_path: Path) -> None:
    rows = [{"id": row["id"], "answer": f"An answer of {row['id']}.", "verdict": row["judge"]} for row in ROWS]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(QuestionError, match=r"no column is left for .*; labels takes a file") as error:
        judge.agree(path)
    assert not error.value.answers
    with write_settings_by(write_flag), pytest.raises(QuestionError, match="; --labels takes a file"):
        judge.agree(path)


def test_columns_of_fields_are_not_called_unread(tmp_path: Path) -> None:
    """The system and the input of a text are read by their names, and who rated by the setting."""
    rows = [f"t{i},s{i % 2},g{i // 2},{i % 3},w{i},{i % 2}\n" for i in range(8)]
    path = tmp_path / "rows.csv"
    path.write_text("".join(["text,system,group,human,nutzer,other\n", *rows]))
    verdicts = read_verdicts(path, needs=["people"], columns={"rater": "nutzer"})
    assert verdicts.notes[0].endswith("; not read: other")
    assert verdicts.groups == [f"g{i // 2}" for i in range(8)]


def test_scores_without_ratings_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "scores.jsonl", *({"text": "a", "scores": {"fluency": i}} for i in range(1, 5)))
    with pytest.raises(QuestionError, match='people="fluency"'):
        judge.agree(path, "word_count")
    assert judge.agree(path, "word_count", people="fluency", cues=False).scored[0].aspects == ("fluency",)
