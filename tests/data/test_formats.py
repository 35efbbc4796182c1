"""Files of other tools: each is recognised by what it holds, read by its schema, and said in one line."""

import json
import math
import os
import random
import re
import zipfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import InputError
from data.formats.recognition import recognise
from data.input_file import InputFile
from data.preferences import holds_pairs, read_preferences
from data.scored import read_scored
from tests.data.judged import read_judged
from tests.data.sets import small_files

GEN = {"gen_args_0": {"arg_0": "Q", "arg_1": {"until": []}}}


def sample(number: int, text: str = "yes", **more: Any) -> dict[str, Any]:
    """A line of lm-eval's samples."""
    given = {"doc_id": number, "doc": {}, "target": "yes", "arguments": GEN}
    return given | {"resps": [[text, "other"]], "filtered_resps": [text]} | more


def choose(number: int, likely: Sequence[float], target: Any) -> dict[str, Any]:
    asked = {f"gen_args_{i}": {"arg_0": "Q", "arg_1": f" {name}"} for i, name in enumerate("xyz")}
    found = [[str(each), "False"] for each in likely]
    return sample(number, target=target, arguments=asked, resps=[[each] for each in found], filtered_resps=found)


def annotate(preference: Any, first: str = "base", **more: Any) -> dict[str, Any]:
    outputs = {"output_1": "one", "generator_1": first, "output_2": "two words", "generator_2": "new"}
    return {"instruction": "Do.", **outputs, "preference": preference, **more}


def pair(one: str, other: str, number: int = 1) -> dict[str, Any]:
    models = {"model_1": "old", "model_2": "new", "g1_winner": one, "g2_winner": other, "judge": ["j", "v"]}
    return {"question_id": number, **models, "turn": 1}


def inspect(**scores: Any) -> dict[str, Any]:
    def answer(name: Any, epoch: int, given: Any) -> dict[str, Any]:
        parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "attachment://x"}]
        output = {"choices": [{"message": {"content": parts if epoch == 1 else "No"}}]}
        texts = {"input": [{"role": "user", "content": "Q"}], "target": ["Yes", "Sure"], "attachments": {"x": "Yes"}}
        return {"id": name, "epoch": epoch, "output": output, "scores": given, **texts}

    samples = [answer(10, 1, scores), answer(2, 1, scores), answer(2, 2, {})]
    return {"status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}


def case(**more: Any) -> dict[str, Any]:
    metrics = [{"name": "A", "score": 0.5}, {"name": "B", "error": "x"}]
    return {"input": "Q", "actualOutput": "A b", "expectedOutput": "C", "metricsData": metrics, **more}


def result(test: int, provider: str, output: Any, **more: Any) -> dict[str, Any]:
    given = {"provider": {"id": provider}, "prompt": {"raw": "Say", "label": "p"}, "vars": {"n": test}, "testIdx": test}
    return given | {"success": True, "score": 1, "namedScores": {"tone": 0.5}, "response": {"output": output}, **more}


HH = "\n\nHuman: Hi\n\nAssistant: Yes?\n\nHuman: Go\n\nAssistant:"
ASKED = {"role": "user", "content": [{"type": "text", "value": "Q"}]}
Content = str | list[dict[str, Any]] | dict[str, Any]
Case = tuple[str, Content, str, Any, list[str]]  # file, what it holds, the line, judgements, texts
# the same with parts of the first text
TEXTS: Mapping[str, tuple[str, Content, str, dict[str, Any]]] = {
    "generation": (
        "samples_t_1.jsonl",
        [sample(0, em=1.0, metrics=["em"]), sample(1, em=float("nan"), metrics=["em"], other=3)],
        "lm-eval samples, 2 texts, em as score",
        {"text": "yes", "context": "Q", "references": ["yes"], "scores": {"em": 1.0}},
    ),
    "filters": (
        "samples_t_1.jsonl",
        [sample(0, em=score, filter=name, f1=[1, 0]) for name, score in (("strict", 0), ("flexible", 1))],
        "lm-eval samples, 1 text, em/strict, em/flexible as scores",
        {"scores": {"em/strict": 0.0, "em/flexible": 1.0}},
    ),
    "choices": (
        "samples_t_1.jsonl",
        [choose(0, (-3, -1, -2), "2") | {"acc": 0, "acc_norm": 1}],
        "lm-eval samples, 1 text, acc, acc_norm as scores",
        {"text": "y", "references": ["z"]},
    ),
    "outputs": (
        "model_outputs.json",
        [{"instruction": "Do.", "output": text, "generator": "m", "dataset": "d"} for text in ("a", " ", "b")],
        "alpaca_eval outputs, 3 texts",
        {"text": "a", "context": "Do.", "system": "m", "group": "Do."},
    ),
    "inspect": (
        "log.json",
        inspect(match={"value": "C"}, rubric={"value": {"tone": 2, "fit": "P"}}, words={"value": ["a"]}),
        "Inspect log of t, 3 texts, match, rubric/tone, rubric/fit as scores, scores of words that are lists or words "
        "left out",
        {"id": "2-1", "text": "Yes", "context": "Q", "references": ["Yes", "Sure"], "group": "2", "system": "m"},
    ),
    "promptfoo": (
        "results.json",
        {"results": {"version": 3, "results": [result(1, "a", {"x": 1}), result(0, "a", "t"), result(0, "b", None)]}},
        "promptfoo results, 2 texts, pass, tone as scores, 1 without a text left out, score says the same as pass in "
        "every row and is left out",
        {"text": "t", "context": "Say", "system": "a", "scores": {"pass": 1.0, "tone": 0.5}},
    ),
    "deepeval": (
        "run.json",
        {"testRunData": {"testCases": [case()]}},
        "DeepEval test run, 1 text, A, B as scores",
        {"text": "A b", "context": "Q", "references": ["C"], "scores": {"A": 0.5, "B": None}},
    ),
    "ragas": (
        "ragas.csv",
        ",user_input,retrieved_contexts,response,reference,f(mode=f1),note\n0,Q,\"['c']\",A,R,0.5,good\n1,Q2,[],B,,,\n",
        "ragas results, 2 texts, f(mode=f1) as score",
        {"text": "A", "context": "Q", "references": ["R"], "scores": {"f(mode=f1)": 0.5}},
    ),
    "ragas, the lower is better": (
        "ragas.csv",
        "user_input,response,noise_sensitivity(mode=relevant),f\nQ,A,0.2,0.5\n",
        "ragas results, 1 text, noise_sensitivity(mode=relevant) (negated), f as scores",
        {"scores": {"noise_sensitivity(mode=relevant) (negated)": -0.2, "f": 0.5}},
    ),
}
PAIRS: Mapping[str, Case] = {
    "annotations": (
        "annotations.json",
        [annotate(1.25), annotate(0, instruction="Go."), annotate(None, instruction="Stop.", annotator="j")],
        "alpaca_eval annotations, 6 texts, 2 judgements of 2 systems, 1 without a verdict left out",
        [("base", "new", 0.75), ("base", "new", 0.5)],
        ["one", "two words", "one", "two words", "one", "two words"],
    ),
    "pairs": (
        "gpt-4_pair.jsonl",
        [pair("model_1", "model_1"), pair("tie", "model_2", 2), pair("model_1", "error", 3)],
        "MT-Bench pairs, 2 judgements of 2 systems, 1 without a verdict left out",
        [("old", "new", 1.0), ("old", "new", 0.5)],
        [],
    ),
    "battles": (
        "battles.jsonl",
        [
            {"question_id": 7, "model_a": "x", "model_b": "y", "winner": winner, "judge": "u"}
            for winner in ("model_b", "tie (bothbad)")
        ],
        "arena battles, 2 judgements of 2 systems",
        [("x", "y", 0.0), ("x", "y", 0.5)],
        [],
    ),
    "battles with answers": (
        "battles.jsonl",
        [
            {"id": 1, "model_a": "x", "model_b": "y", "winner": "model_a", "prompt": "Q", "response_a": "A"},
            {"id": 2, "model_a": "x", "model_b": "y", "winner": "tie", "conversation_b": [ASKED, {"content": "B"}]},
        ],
        "arena battles, 2 texts, 2 judgements of 2 systems",
        [("x", "y", 1.0), ("x", "y", 0.5)],
        ["A", "B"],
    ),
    "dialogues": (
        "hh.jsonl",
        [{"chosen": f"{HH} One.", "rejected": f"{HH} Once."}],
        "chosen and rejected answers, 2 texts, 1 judgement of 2 systems",
        [("chosen", "rejected", 1.0)],
        ["One.", "Once."],
    ),
    "messages": (
        "dpo.json",
        [
            {"conversations": [{"from": "human", "value": "Q"}], "chosen": {"value": "A"}, "rejected": {"value": "B"}},
            {"chosen": "C", "rejected": "D", "chosen_model": "m", "rejected_model": "n"},
            {"chosen": "E", "rejected": "F", "chosen_model": "m", "rejected_model": "m"},
        ],
        "chosen and rejected answers, 6 texts, 3 judgements of 4 systems",
        [("chosen", "rejected", 1.0), ("m", "n", 1.0), ("chosen", "rejected", 1.0)],
        ["A", "B", "C", "D", "E", "F"],
    ),
    "two pairs of one id": (
        "pairs.json",
        [{"id": "i", "prompt": "Q", "chosen": text, "rejected": "no"} for text in "ab"],
        "chosen and rejected answers, 4 texts, 2 judgements of 2 systems",
        [("chosen", "rejected", 1.0)] * 2,
        ["a", "no", "b", "no"],
    ),
}


def write(folder: Path, name: str, content: Content) -> Path:
    return small_files.write(folder / name, *content if name.endswith(".jsonl") else [content])


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_of_a_tool(kind: str, tmp_path: Path) -> None:
    name, content, line, parts = TEXTS[kind]
    found = recognise(path := write(tmp_path, name, content))
    assert found is not None
    assert str(found) == line
    first = found.texts[0][1]
    assert {key: first.get(key) for key in parts} == parts
    scored = read_scored(path)
    assert len(scored) == len(found.texts)
    assert scored.notes == (f"{name}: {line}",)


@pytest.mark.parametrize("kind", PAIRS)
def test_judgements_of_a_tool(kind: str, tmp_path: Path) -> None:
    name, content, line, judged, texts = PAIRS[kind]
    path = write(tmp_path, name, content)
    assert str(recognise(path)) == line
    given, outputs = read_judged(path)
    assert given is not None
    unsaid = line.startswith(("arena battles", "chosen and rejected"))
    assert given.by_model == (None if unsaid else kind in ("annotations", "pairs"))
    assert list(zip(given.systems_a, given.systems_b, given.outcomes.tolist(), strict=True)) == judged
    assert [each.text for each in outputs.examples] == texts if outputs else not texts


def pack(path: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def test_a_zipped_log_is_the_log(tmp_path: Path) -> None:
    log = inspect(match={"value": "P"})
    samples = {f"samples/{each['id']}_epoch_{each['epoch']}.json": json.dumps(each) for each in log.pop("samples")}
    found = recognise(pack(tmp_path / "x.eval", {**samples, "header.json": json.dumps(log), "../up.json": "x"}))
    assert str(found) == "Inspect log of t, 3 texts, match as score"
    assert found is not None
    assert [row["id"] for _, row in found.texts] == ["2-1", "10-1", "2-2"]
    assert [row.get("scores") for _, row in found.texts] == [{"match": 0.5}, {"match": 0.5}, None]


REFUSED: Mapping[str, tuple[str, Content, str]] = {
    "a document of no tool": ("x.json", {"data": []}, "a JSON file must be an array of objects, or"),
    "results of lm-eval": ("x.json", {"results": {"arc": {}}, "configs": {}}, "samples_TASK_TIME.jsonl"),
    "two tasks": ("x.jsonl", [sample(0, filter="a"), sample(0, filter="a")], ':2: .* has the filter "a" twice'),
    "rolling": ("x.jsonl", [sample(0, arguments={"gen_args_0": {"arg_0": "T"}})], ':1: "arguments" must list'),
    "an empty array": (
        "x.json",
        "[]",
        r": a JSON file must be an array of objects, .* found \[\]",
    ),
    "several turns": (
        "x.jsonl",
        [{"user_input": "So?", "response": "A"}, {"user_input": [ASKED], "response": "A"}],
        ":2: a sample of several turns is not read",
    ),
    "metrics of one name": (
        "x.json",
        {"testCases": [case(), case(metricsData=[{"name": "A", "score": 1}] * 2)]},
        r':2: each metric needs a name of its own, found \["A"\]',
    ),
    "a log without a model": (
        "x.json",
        inspect() | {"eval": {"task": "t"}},
        ': an Inspect log needs "eval" with "model", found',
    ),
    "a log without samples": ("x.json", inspect() | {"samples": []}, ": this Inspect log has no samples"),
    "the id of a sample": (
        "x.json",
        inspect() | {"samples": [inspect()["samples"][0] | {"id": 1.5}]},
        ':1: "id" must be a text or a whole number, found 1.5',
    ),
    "another row": ("x.jsonl", [annotate(1.5), {"text": "x"}], ':2: .*"generator_1" is required'),
    "another preference": ("x.json", [annotate(0.5)], ':1: "preference" must be from 1 to 2'),
    "an unknown winner": ("x.jsonl", [pair("model_1", "old")], ':1: "g1_winner" and "g2_winner" must be'),
    "conversations": ("x.json", {"testCases": [], "conversationalTestCases": [{}]}, "conversational ones are not read"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_unknown_layout_is_refused(kind: str, tmp_path: Path) -> None:
    name, content, message = REFUSED[kind]
    path = write(tmp_path, name, content)
    with pytest.raises(InputError) as caught:
        read_scored(path)
    assert re.search(f"{re.escape(str(path))}.*{message}", str(caught.value))


OURS = [{"answer": "x", "system": "a", "group": "q"}, {"group": "q", "system_a": "a", "system_b": "b"}]


def test_texts_and_judgements_are_not_taken_for_one_another(tmp_path: Path) -> None:
    outputs, battles = write(tmp_path, *TEXTS["outputs"][:2]), write(tmp_path, *PAIRS["battles"][:2])
    with pytest.raises(InputError, match="judgements of two systems are needed, found alpaca_eval outputs"):
        read_preferences(outputs)
    with pytest.raises(InputError, match=r"texts are needed, found arena battles, .*: judge prefer reads it"):
        read_scored(battles)
    ours = write(tmp_path, "texts.jsonl", OURS[:1]), write(tmp_path, "pairs.jsonl", OURS[1:])
    with pytest.raises(InputError, match=r"texts\.jsonl: judgements of two systems .*, found texts: give outputs="):
        read_preferences(ours[0])
    with pytest.raises(InputError, match=r"pairs\.jsonl: texts are needed, found preferences: judge prefer reads"):
        read_scored(ours[1])
    assert (holds_pairs(InputFile(battles)), holds_pairs(InputFile(outputs))) == (True, False)


def test_a_small_zip_costs_little(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.eval", {"header.json": "{}", "samples/1_epoch_1.json": " " * 40_000_000})
    with pytest.raises(InputError, match=r"this size must have at most [0-9]+ bytes unpacked, found 40000002"):
        recognise(path)
    with pytest.raises(InputError, match=r"x\.eval: an \.eval file needs header.json or _journal/start.json"):
        recognise(pack(path, {"start.json": "{}"}))
    for content in (b"PK", path.read_bytes()[:-40], b""):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"x\.eval: "):
            recognise(path)


@pytest.mark.parametrize(
    ("scores", "names"), [((1, 0), ["pass"]), ((0.9, 0), ["score", "pass"]), ((1, None), ["score", "pass"])]
)
def test_score_of_promptfoo_is_left_out_where_it_is_pass(
    scores: tuple[float | None, ...], names: list[str], tmp_path: Path
) -> None:
    """One check of a test is one judge, though promptfoo writes it twice."""
    results = [{**result(i, "a", "t"), "success": i == 0, "score": scores[i], "namedScores": {}} for i in range(2)]
    path = write(tmp_path, "results.json", {"results": {"version": 3, "results": results}})
    assert [*read_scored(path).scores] == names


LINES = """
alpaca_eval/results/alpaca-7b/model_outputs.json: alpaca_eval outputs, 40 texts
arena/arena_hard_battles.jsonl: arena battles, 412 judgements of 5 systems
deepeval/beeai-framework/.temp_test_run_data.json: DeepEval test run, 1 text, Exact Match, AnswerLLMJudgeMetric, \
Answer Relevancy, Contextual Recall and 5 more as scores
inspect/log_formats.eval: Inspect log of popularity, 1 text, match as score
inspect/log_formats.json: Inspect log of popularity, 1 text, match as score
inspect/log_streaming.eval: Inspect log of popularity, 4 texts, match as score
inspect/2025-05-12T20-28-13-04-00_popularity.json: Inspect log of popularity, 3 texts, match as score
lm_eval/arc_easy_dummy/samples_arc_easy_2026-09-24T03-05-32.831346.jsonl: lm-eval samples, 5 texts, acc, acc_norm as \
scores
lm_eval/gsm8k_three_filters_dummy/samples_gsm8k_cot_self_consistency_2026-10-01T13-21-10.261566.jsonl: lm-eval \
samples, 4 texts, exact_match/score-first, exact_match/maj@64, exact_match/maj@8 as scores
lm_eval/truthfulqa_gen/samples_truthfulqa_gen_2025-05-31T14-30-51.983293.jsonl: lm-eval samples, 20 texts, bleu_max, \
bleu_acc, bleu_diff, rouge1_max and 8 more as scores
mt_bench/model_judgment/gpt-4_pair.jsonl: MT-Bench pairs, 19 judgements of 2 systems, 2 without a verdict left out
preference/hh_rlhf_harmless-base_test.jsonl: chosen and rejected answers, 80 texts, 40 judgements of 2 systems
preference/llamafactory_dpo_en_demo.json: chosen and rejected answers, 50 texts, 25 judgements of 2 systems
promptfoo/nicheIQ_results.json: promptfoo results, 13 texts, pass as score, score says the same as pass in every row \
and is left out
ragas/Using-Ragas-with-Elasticsearch_ragas_evaluation_results.csv: ragas results, 4 texts, context_precision, \
faithfulness, answer_relevancy as scores
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_real_files(line: str, formats: Path) -> None:
    name, _, said = line.partition(": ")
    found = recognise(formats / name)
    assert str(found) == said
    assert found is not None
    if found.texts:
        assert len(read_scored(formats / name)) == len(found.texts)
    if found.pairs:
        assert len(read_preferences(formats / name)) == len(found.pairs)


def test_samples_are_of_the_model_that_the_results_name_or_of_their_folder(tmp_path: Path) -> None:
    (folder := tmp_path / "org__model").mkdir()
    path = write(folder, "samples_t_1.jsonl", [sample(0)])
    for results, model in (({"model_name": "m"}, "m"), ({"model_name": " "}, "org/model"), ({}, "org/model")):
        write(folder, "results_1.json", results)
        assert read_scored(path).examples[0].system == model


ODD = (None, -1.5, True, "", "x", [], {}, [1], {"a": 1}, [None], [[]], [{}], float("nan"), 10**30)


def list_places(value: Any) -> list[tuple[Any, Any]]:
    """Each container inside a JSON value with each of its keys or indices."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *list_places(value[key]))]


def mangle(content: str, form: str, rng: random.Random) -> str:
    """The first rows of a file with another value, or none, in one place."""
    if form in (".csv", ".tsv"):
        lines = content.splitlines()[:8]
        at, mark = rng.randrange(len(lines)), rng.choice("\t, ")
        cells = lines[at].split(mark)
        cells[rng.randrange(len(cells)) :][:1] = rng.choice(([], [""], ["x"], ["nan"], ['"'], ["1e999"]))
        return "\n".join([*lines[:at], mark.join(cells), *lines[at + 1 :]])
    rows = [json.loads(line) for line in content.split("\n")[:4] if line] if form == ".jsonl" else json.loads(content)
    rows = rows[:4] if isinstance(rows, list) else rows
    values, key = rng.choice(list_places(rows))
    values[key] = deepcopy(rng.choice(ODD))
    if rng.random() < 0.2:
        del values[key]
    return "".join(f"{json.dumps(row)}\n" for row in rows) if form == ".jsonl" else json.dumps(rows)


@pytest.mark.parametrize("name", [name for line in LINES.split("\n") if "." in (name := line.partition(": ")[0])])
def test_a_mangled_file_is_read_or_refused_in_words(name: str, formats: Path, tmp_path: Path) -> None:
    rng, file = random.Random(name), formats / name
    path = tmp_path / file.name
    for _ in range(15):
        if file.suffix == ".eval":
            with zipfile.ZipFile(file) as packed:
                files = {each: packed.read(each).decode() for each in packed.namelist() if each.endswith(".json")}
            one = rng.choice([*files])
            pack(path, {**files, one: mangle(files[one], ".json", rng)})
        else:
            path.write_text(mangle(file.read_text(), file.suffix, rng))
        said = ""
        try:
            recognise(path)
        except InputError as faults:
            said = str(faults)
        assert "cannot be read" not in said


def test_figures_of_real_files(formats: Path) -> None:
    """Those that the tools published, or that their files hold a second time."""
    asdiv = next((formats / "lm_eval" / "asdiv").glob("*/samples*"))
    scored = read_scored(asdiv)
    assert {each.system for each in scored.examples} == {"meta-llama/Meta-Llama-3-8B-Instruct"}
    assert scored.values("acc", "").mean() == pytest.approx(0.92)
    rates = {"alpaca-7b": 0.01, "gpt-3.5-turbo-1106": 6.19, "FuseChat-Gemma-2-9B-Instruct": 52.55}
    for model, rate in rates.items():
        folder = formats / "alpaca_eval" / "results" / model / "weighted_alpaca_eval_gpt4_turbo"
        given, outputs = read_judged(folder / "annotations.json")
        assert given is not None
        assert outputs is not None
        assert round(100 * float(np.mean(given.of(model))), 2) == rate
        assert len(outputs) == 80


def test_the_direction_of_scores_is_that_of_the_tool(tmp_path: Path) -> None:
    """The results of lm-eval beside the samples say of which metrics the lower scores are better."""
    rows = [sample(i, mae=float(i), acc=1.0 - i) for i in range(2)]
    path = write(tmp_path, "samples_t_1.jsonl", rows)
    directions = {"t": {"mae": False, "acc": True}, "other": {"acc": False}}
    write(tmp_path, "results_1.json", {"model_name": "m", "higher_is_better": directions})
    found = read_scored(path)
    assert found.values("mae (negated)", "").tolist() == [0, -1]
    assert found.values("acc", "").tolist() == [1, 0]
    assert found.notes == ("samples_t_1.jsonl: lm-eval samples, 2 texts, mae (negated), acc as scores",)


def test_a_metric_that_passes_below_its_threshold_is_negated(tmp_path: Path) -> None:
    def case(score: float, success: bool) -> dict[str, Any]:
        metrics = [
            {"name": "Bias", "score": score, "threshold": 0.5, "success": success},
            {"name": "Relevancy", "score": score, "threshold": 0.5, "success": not success},
            {"name": "Hallucination", "score": math.nan, "threshold": 0.5, "success": False},
        ]
        return {"input": "Q", "actualOutput": "A", "metricsData": metrics}

    path = write(tmp_path, "run.json", {"testCases": [case(0.9, False), case(0.1, True)]})
    found = read_scored(path)
    assert found.values("Bias (negated)", "").tolist() == [-0.9, -0.1]
    assert found.values("Relevancy", "").tolist() == [0.9, 0.1]
    assert "Hallucination" in found.scores


def test_an_empty_output_is_an_empty_answer_and_a_missing_one_is_counted(tmp_path: Path) -> None:
    rows = [{"instruction": f"Do {i}.", "output": text, "generator": "new"} for i, text in enumerate(["Done.", ""])]
    path = write(tmp_path, "outputs.json", rows)
    assert [(each.text, each.is_empty) for each in read_scored(path).examples] == [("Done.", False), ("", True)]
    found = read_scored(write(tmp_path, "outputs.json", [rows[0], {**rows[1], "output": None}]))
    assert len(found) == 1
    assert found.notes[0].endswith("1 without a text left out")


def mark(person: int, *results: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """An annotation of Label Studio."""
    kinds = {"fluency": ("rating", "rating"), "faithful": ("choices", "choices"), "pick": ("pairwise", "selected")}
    listed = []
    for name, value in results:
        kind, key = kinds.get(name, ("textarea", "text"))
        listed.append({"type": kind, "from_name": name, "to_name": "answer", "value": {key: value}})
    return {"completed_by": {"id": person, "email": "x"}, "result": listed, **more}


def write_tasks(path: Path, *tasks: Mapping[str, Any]) -> Path:
    return small_files.write(
        path, [{"id": 100 + i, "annotations": [], "drafts": [], **task} for i, task in enumerate(tasks)]
    )


def test_annotations_of_label_studio(tmp_path: Path) -> None:
    first = [
        mark(1, ("fluency", 4), ("faithful", ["yes"])),
        mark(2, ("fluency", 2), ("faithful", ["no"]), ("why", ["x"])),
        mark(3, ("fluency", 1), was_cancelled=True),
    ]
    asked = {"prompt": "Why?", "answer": "So.", "model": "m"}
    second = [mark(2, ("fluency", 5), ("faithful", ["yes", "no"]))]
    path = write_tasks(
        tmp_path / "x.json",
        {"data": asked, "annotations": first},
        {"data": {"id": "q7", **asked}, "annotations": second},
        {"data": asked},
    )
    found = read_scored(path)
    assert [example.id for example in found.examples] == ["100", "q7", "102"]
    assert (found.examples[0].text, found.examples[0].context, found.systems) == ("So.", "Why?", ["m"] * 3)
    np.testing.assert_array_equal(found.raters["fluency"], [[4, np.nan, np.nan], [2, 5, np.nan]])
    np.testing.assert_array_equal(found.raters["faithful"], [[1, np.nan, np.nan], [0, np.nan, np.nan]])
    assert found.notes[0].endswith(
        "Label Studio tasks, 3 texts, fluency, faithful as ratings, results of the kind textarea left out, "
        "results of the kind choices left out"
    )


def predict(model: str | None, *results: tuple[str, Any]) -> dict[str, Any]:
    """A prediction of Label Studio, whose results are written as those of annotations."""
    return {"model_version": model, "score": 0.9, "result": mark(0, *results)["result"]}


def test_predictions_of_label_studio_are_scores(tmp_path: Path) -> None:
    people = [mark(1, ("faithful", ["yes"])), mark(2, ("faithful", ["no"]))]
    data = {"prompt": "Why?", "answer": "So.", "model": "gpt-4"}
    path = write_tasks(
        tmp_path / "x.json",
        {"data": data, "annotations": people, "predictions": [predict("judge-1", ("faithful", ["yes"]))]},
        {"data": data, "annotations": people, "predictions": [predict("judge-1")]},
    )
    scored = read_scored(path)
    assert [*scored.scores] == ["judge-1"]
    np.testing.assert_array_equal(scored.values("judge-1", ""), [1, np.nan])
    several = predict(None, ("fluency", 4), ("faithful", ["yes"]))
    path = write_tasks(tmp_path / "y.json", {"data": data, "annotations": people, "predictions": [several]})
    assert [*read_scored(path).scores] == ["prediction/fluency", "prediction/faithful"]


def test_a_task_of_label_studio_without_a_known_text_is_refused(tmp_path: Path) -> None:
    path = write_tasks(tmp_path / "x.json", {"data": {"one": "a", "two": "b"}, "annotations": []})
    with pytest.raises(
        InputError, match=r"x.json:1: the data of a task need a text .* found .*one.*two.*; an export as CSV"
    ):
        read_scored(path)


@pytest.mark.parametrize("name", ["x.eval", "x.json", "x.jsonl", "x.csv", "x.xlsx"])
def test_a_pipe_is_no_file(name: str, tmp_path: Path) -> None:
    """Opening one would wait for a writer."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=f"{name}: (no such file|the name of the file must end in)"):
        read_scored(tmp_path / name)


OWN: Mapping[str, dict[str, Any]] = {
    "labels": {"instruction": "Q", "output": "A", "generator": "m", "human": 5},
    "a judge": {"user_input": "Q", "response": "A", "Judge": 1},
    "one aspect": {"user_input": "Q", "response": "A", "rating:fluency": 5},
    "ratings": {"user_input": "Q", "response": "A", "ratings": {"fluency": 5}},
    "a rater": {"user_input": "Q", "response": "A", "annotator": 1, "quality": 5},
    "flags": {"text": "A", "chosen": True, "rejected": False},
    "dialogues": {"question_id": 1, "category": "c", "turns": ["Hi", "Hello"]},
}


@pytest.mark.parametrize("kind", OWN)
def test_a_row_with_keys_of_our_own_is_not_of_a_tool(kind: str, tmp_path: Path) -> None:
    row = {"id": "i", **OWN[kind], "note": "n"}
    path = write(tmp_path, "x.jsonl", [row])
    assert recognise(path) is None
    (example,) = read_scored(path).examples
    assert (example.id, example.extra["note"]) == ("i", "n")


@pytest.mark.parametrize(
    "row",
    [
        {"instruction": "Q", "output": "A", "generator": "m"},
        {"user_input": "Q", "response": "A", "model": "m", "question_id": 7, "nothing": math.nan, "reference": "R"},
    ],
)
def test_keys_that_a_reader_does_not_know_are_passed_on(row: dict[str, Any], tmp_path: Path) -> None:
    more = {"id": "i", "group": "g", "label": "l", "topic": "t"}
    path = write(tmp_path, "x.jsonl", [{**row, **more}])
    assert recognise(path) is not None
    (example,) = read_scored(path).examples
    assert {name: getattr(example, name) for name in ("id", "group", "label")} == {
        "id": "i",
        "group": "g",
        "label": "l",
    }
    assert (example.text, example.context, example.system) == ("A", "Q", "m")
    assert example.extra["topic"] == "t"
    with pytest.raises(
        InputError, match=r'needs "ratings".*columns=\{"ratings.ASPECT": "COLUMN"\} .* unread are .*topic'
    ):
        judge.agree(path, metrics=["word_count"])


def test_a_refusal_names_the_setting_that_reads_the_rows_as_they_stand(tmp_path: Path) -> None:
    path = write(tmp_path, "x.jsonl", [{"chosen": True, "rejected": False}])
    with pytest.raises(InputError, match=r'chosen and rejected answers: columns=\{"text": "COLUMN"\} reads its rows'):
        read_scored(path)


BATTLE = {"question_id": 1, "model_a": "x", "model_b": "y", "winner": "model_a"}


def test_verdicts_of_judges_and_lengths_beside_battles_are_read(tmp_path: Path) -> None:
    header = "question_id,model_a,model_b,winner,judges.gpt,length_a,length_b,rater"
    path = write(tmp_path, "x.csv", f"{header}\n1,x,y,model_a,b,17,8,ann\n2,x,y,,a,3,4,\n3,x,y,,,3,4,ann\n")
    found = read_preferences(path)
    np.testing.assert_array_equal(found.outcomes, [1, np.nan])
    assert found.judges["gpt"].tolist() == [0, 1]
    assert found.raters == ("ann", None)
    assert found.lengths is not None
    assert found.lengths.tolist() == [[17, 8], [3, 4]]
    assert str(recognise(path)).endswith("2 judgements of 2 systems, 1 without a verdict left out")
    path = write(tmp_path, "x.jsonl", [{**BATTLE, "judges": {"gpt": "b"}, "response_a": "A"}])
    given, outputs = read_judged(path)
    assert given is not None
    assert given.judges["gpt"].tolist() == [0]
    assert outputs is not None
    assert [each.text for each in outputs.examples] == ["A"]


def test_another_answer_of_a_system_makes_another_input(tmp_path: Path) -> None:
    answers = [("one", "b"), ("two", "b"), ("one", "b"), ("one", "c"), ("two", "c")]
    rows = [{**BATTLE, "response_a": one, "response_b": other} for one, other in answers]
    given, outputs = read_judged(write(tmp_path, "x.jsonl", rows))
    assert given is not None
    assert given.inputs == ("1", "1 (2)", "1", "1 (3)", "1 (4)")
    assert outputs is not None
    texts = {(each.system, each.group): each.text for each in outputs.examples}
    assert [(texts["x", group], texts["y", group]) for group in given.inputs] == answers


def test_each_annotator_rates_once(tmp_path: Path) -> None:
    """A second value does not replace the first; annotators without a name are several."""
    data = {"answer": "So."}
    twice = [mark(3, ("fluency", 1)), mark(3, ("fluency", 5))]
    with pytest.raises(InputError, match=r"x.json:1: .* in Label Studio tasks, but here fluency by 3 has two values"):
        recognise(write_tasks(tmp_path / "x.json", {"data": data, "annotations": twice}))
    predictions = [predict("m", ("fluency", 1)), predict("m", ("fluency", 5))]
    with pytest.raises(InputError, match="but here m has two values"):
        recognise(write_tasks(tmp_path / "x.json", {"data": data, "predictions": predictions}))
    nameless = [{"result": twice[0]["result"]}, {**twice[1], "completed_by": None}]
    found = read_scored(write_tasks(tmp_path / "x.json", {"data": data, "annotations": nameless}))
    assert found.raters["fluency"].tolist() == [[1], [5]]


def test_letters_of_inspect_are_numbers_only_among_themselves(tmp_path: Path) -> None:
    """C is correct beside I, P and N, but the third of the grades A to D."""
    log = inspect()
    grades = ["C", "A", "C"]
    for one, other, sample in zip(["C", "I", None], grades, log["samples"], strict=True):
        sample["scores"] = {"match": {"value": one}, "grade": {"value": other}}
    found = recognise(write(tmp_path, "x.json", log))
    assert str(found) == "Inspect log of t, 3 texts, match as score, scores of grade that are lists or words left out"


def test_metrics_of_lm_eval_that_are_lists_are_said_to_be_left_out(tmp_path: Path) -> None:
    rows = [sample(i, em=i, bleu=["a", "b"], acc=None, metrics=["em", "bleu", "acc"]) for i in range(2)]
    line = "lm-eval samples, 2 texts, em as score, scores of bleu that are lists or words left out"
    assert str(recognise(write(tmp_path, "samples_t_1.jsonl", rows))) == line


def test_an_answer_that_is_no_text_ends(tmp_path: Path) -> None:
    rows = [annotate(1.5, output_1=text) for text in (math.nan, "one", None)]
    line = "alpaca_eval annotations, 4 texts, 3 judgements of 2 systems, 2 without a text left out"
    assert str(recognise(write(tmp_path, "x.json", rows))) == line


def test_one_row_with_labels_makes_a_file_our_own(tmp_path: Path) -> None:
    rows = [{"user_input": "Q", "response": "A", **more} for more in ({}, {"human": 5})]
    assert recognise(write(tmp_path, "x.jsonl", rows)) is None
    assert read_scored(tmp_path / "x.jsonl").examples[1].extra == {"human": 5}
