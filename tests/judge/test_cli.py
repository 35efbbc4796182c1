"""The command line of `judge`: flags as people type them, their faults, help, and what is imported when."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import judge
from judge.cli import METRIC_FLAGS, main, make_app, parse_words
from tests.data.sets.small_files import write

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
REFERENCED = [{"id": str(i), "text": "one two", "references": ["one", "two three"]} for i in range(3)]
pytestmark = pytest.mark.filterwarnings("default")


# ---- words as settings ----------------------------------------------------------------------------------------------


def read(verb: str, *words: str) -> dict[str, Any]:
    """What the words of a command say."""
    return parse_words(make_app(), verb, words)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("compare --columns.text answer", {"columns": {"text": "answer"}}),
        ("compare --columns.ratings.fit ann,ben", {"columns": {"ratings": {"fit": ["ann", "ben"]}}}),
        ("agree --levels poor,fair good", {"levels": ["poor", "fair", "good"]}),
        ("agree --levels auto", {"levels": "auto"}),
        ("agree --levels.safe 0 1", {"levels": {"safe": [0, 1]}}),
        ("agree --people 1 ann,ben", {"people": ["1", "ann", "ben"]}),
        ("plan --differences 0.25,1", {"differences": [0.25, 1]}),
        ("score --output 5 --metric bleu", {"output": "5"}),
        ("score --output=out.jsonl --metric bleu", {"output": "out.jsonl"}),
        ("score --network --chunk 3 --metric bleu", {"network": True, "chunk": 3}),
        ("score --network false --metric bleu", {"network": False}),
        ("compare --systems old=old.txt new=new.txt", {"systems": ["old=old.txt", "new=new.txt"]}),
        ("compare --seed 3 in.jsonl", {"seed": 3, "FILE": ("in.jsonl",)}),
        ("compare --network in.jsonl", {"network": True, "FILE": ("in.jsonl",)}),
        ("compare - --network", {"network": True, "FILE": ("-",)}),
    ],
)
def test_words_are_settings(words: str, values: dict[str, Any]) -> None:
    given = read(*words.split())
    assert {name: value for name, value in given.items() if name not in METRIC_FLAGS} == values


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("--metrics bleu,ter --metrics.bleu.order 2", {"metrics": {"bleu": {"order": 2}, "ter": {}}}),
        ("--metrics.b.order 2 --metrics b=bleu", {"metrics": {"b=bleu": {"order": 2}}}),
        ("--metric rouge_l --metric.kind rougeLsum", {"metric": {"rouge_l": {"kind": "rougeLsum"}}}),
        ("--metric mars --metric.augmentation.k 2", {"metric": {"mars": {"augmentation": {"k": 2}}}}),
        ("--metric bleu --metrics ter", {"metric": {"bleu": {}}, "metrics": {"ter": {}}}),
        ("--metric null", {"metric": {}}),
    ],
)
def test_metrics_have_their_names_and_settings(words: str, values: dict[str, Any]) -> None:
    assert read("compare", *words.split()) == values


def test_two_prompts_are_two_and_a_comma_belongs_to_its_prompt() -> None:
    words = ("--generator", "g", "--guide", "h", "--prompts", "Well,then", "The food, and")
    assert read("steer", *words)["prompts"] == ["Well,then", "The food, and"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--colums.text a", "--colums.text is no flag of judge compare (did you mean --columns"),
        ("--metri bleu", "--metri is no flag of judge compare (did you mean --metric or --metrics?)"),
        ("--seed.of 3", "--seed.of is no flag of judge compare"),
        ("--seed", "--seed requires an argument"),
        ("--seed 1 --seed 2", "Parameter --seed specified multiple times"),
    ],
)
def test_a_wrong_word_is_answered_by_the_flag_that_was_meant(run: Run, tmp_path: Path, words: str, said: str) -> None:
    write(tmp_path / "in.jsonl", *REFERENCED)
    ended = run("compare", "in.jsonl", *words.split())
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_a_command_is_the_call_of_its_name(run: Run, tmp_path: Path) -> None:
    file = str(EXAMPLES / "summaries.jsonl")
    ended = run("compare", file, "--metrics", "rouge_l", "bleu", "--metrics.bleu.order", "2")
    metrics = {"rouge_l": judge.load_metric("rouge_l"), "bleu": judge.load_metric("bleu", order=2)}
    found = judge.compare(file, metrics)
    assert f"! {found.answer}" in ended.stdout
    assert ended.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]  # the kept scores


def test_systems_in_files_of_their_own(run: Run, tmp_path: Path) -> None:
    for name, more in (("old", ""), ("new", " indeed and so on")):
        (tmp_path / f"{name}.txt").write_text("".join(f"Word {i}{more}.\n" for i in range(6)))
    ended = run("compare", "--systems", "old=old.txt", "new=new.txt", "--metrics", "word_count")
    assert "By word_count, new scores higher than old" in ended.stdout, ended.stderr


STRANGER = """
import numpy as np
from core.scores import Scores


class Ones:
    requires = ()
    signature = "ones"

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def score(self, examples):
        return Scores({"quality": np.full(len(examples), self.value)}, self.signature)


def count(examples):
    return [len(example.text) for example in examples]
"""


def test_a_metric_of_your_own_is_named_by_its_module(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "stranger.py").write_text(STRANGER)
    write(tmp_path / "in.jsonl", {"text": "a"})
    words = ("--metrics", "stranger.Ones", "stranger.count", "--metrics.Ones.value", "2.0")
    assert run("score", "in.jsonl", *words, "--output", "out.jsonl").returncode == 0
    assert json.loads((tmp_path / "out.jsonl").read_text())["scores"] == {"Ones": 2.0, "count": 1.0}
    for name, said in (("stranger.Twos", "has no attribute 'Twos'"), ("nosuch.f", "No module named 'nosuch'")):
        ended = run("score", "in.jsonl", "--metric", name)
        assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_a_setting_names_no_object(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", {"text": "a", "references": ["a"]})
    ended = run("score", "in.jsonl", "--metric", "rouge_l", "--metric.kind._target_", "os.system")
    assert (ended.returncode, "--metric.kind must not name an object" in ended.stderr) == (2, True), ended.stderr


def test_a_report_has_the_page_its_plots_and_tables(run: Run, tmp_path: Path) -> None:
    words = ("agree", str(EXAMPLES / "summaries.jsonl"), "--metrics", "rouge_l", "--report", "here", "--plots", "svg")
    assert run(*words).returncode == 0
    assert {"report.html", "results.json", "plots", "tables"} <= {path.name for path in (tmp_path / "here").iterdir()}
    assert {path.suffix for path in (tmp_path / "here" / "plots").iterdir()} == {".svg"}
    assert json.loads((tmp_path / "here" / "results.json").read_text())["command"][:2] == ["judge", "agree"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    ended = run(*words[:-3], "mine")
    assert (ended.returncode, (tmp_path / "mine" / "notes.txt").read_text()) == (2, "mine")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("scroe in.jsonl", "scroe is no verb (did you mean score"),
        ("", "the command lacks a verb"),
        ("score none.jsonl --metric nosuch", "none.jsonl: no such file"),
        ("score in.jsonl", "--metric NAME is needed"),
        ("score in.jsonl --metric rogue_l", "there is no such metric (did you mean rouge_l"),
        ("score in.jsonl --metrics bleu --metrics.blue.order 2", "--metrics.blue belongs to no metric"),
        ("score in.jsonl --metrics bleu bleu", "metrics must name each metric once, but bleu is named twice"),
        ("score in.jsonl --metric.order 2", "--metric NAME is needed beside --metric.order"),
        (
            "score in.jsonl --metric bleu --metric.order 0",
            "--metric.order must be greater than or equal to 1, but is 0",
        ),
        ("score in.jsonl --metrics b=bleu --metrics.b.order x", "--metrics.b.order must be a valid integer"),
        (
            "score in.jsonl --metric mars --metric.language_model naive --metric.augmentation.k 1",
            "--metric.augmentation.k is not a setting of mars (did you mean --metric.augmentation.kl?)",
        ),
        ("audit --metric bleu --data builtin_news --data.x 1", "--data.x is not a setting of builtin_news"),
        ("score in.jsonl --metric bleu --report in.jsonl", "must be a folder, but"),
        ("score --metric bleu", "judge score needs a file: judge score FILE ..."),
        ("score in.jsonl in.jsonl --metric bleu", "judge score takes one file, but got in.jsonl, in.jsonl"),
        ("score in.jsonl --text in.txt --metric bleu", "FILE and --text are two inputs: give one"),
        (
            "audit --metric bleu --data builtin_news --systems a=in.jsonl",
            "--systems and --data are two inputs: give one",
        ),
        ("agree in.jsonl --seed x", 'Invalid value for --seed: unable to convert "x" into int'),
        ("demo --report here", "Unknown option: --report"),
        ("audit --metric bleu --data nosuch", "nosuch: there is no such set"),
        ("prefer --data pandalm", "pandalm needs root: pass --data.root VALUE"),
    ],
)
def test_a_fault_is_one_message_and_exit_2(run: Run, tmp_path: Path, words: str, said: str) -> None:
    write(tmp_path / "in.jsonl", *REFERENCED)
    ended = run(*words.split())
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv"])
def test_a_misspelt_column_is_one_fault(run: Run, tmp_path: Path, name: str) -> None:
    write(tmp_path / "in.jsonl", *REFERENCED)
    (tmp_path / "in.csv").write_text("id,answer\n1,one\n2,two\n")
    ended = run("score", name, "--metric", "word_count", "--columns.text", "anser")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert 'columns needs the column "anser" for text' in ended.stderr


@pytest.mark.parametrize("file", ["/dev/zero", "/proc/kmsg", "/proc/self/environ"])
def test_a_file_of_the_kernel_is_refused_at_once(run: Run, file: str) -> None:
    if not Path(file).exists():
        pytest.skip("another system")
    ended = run("score", file, "--metric", "word_count")
    assert (ended.returncode, ended.stderr) == (2, f"{file}: must be a regular file or a pipe\n")


def test_help_lists_verbs_settings_and_those_of_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "agree Finds out which metric, or judge, agrees best with human ratings" in shown
    assert main(["compare", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--level FLOAT of significance. [default: 0.05]" in shown
    assert "--network lets other machines be asked" in shown
    assert main(["score", "--metric", "bleu", "--help"]) == 0
    assert "bleu, set by --metric.SETTING VALUE\n  # BLEU-4 of each text" in capsys.readouterr().out
    assert main(["demo", "--help"]) == 0
    assert "--report" not in capsys.readouterr().out


def test_a_shell_completes_verbs_and_flags() -> None:
    script = make_app().generate_completion(shell="bash")
    complete = "COMP_WORDS=(judge compare --incompl); COMP_CWORD=2; _judge; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", f"{script}\n{complete}"], capture_output=True, text=True, check=True)
    assert done.stdout == "--incomplete\n"


# ---- what is imported when ------------------------------------------------------------------------------------------

IMPORTED = """
import contextlib, io, json, sys
from judge.cli import main
heavy = {"torch", "scipy", "matplotlib", "pandas", "numpy", "hydra", "omegaconf", "transformers", "pydantic"}
for words in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = main(words)
    print(json.dumps([code, sorted(heavy & {*sys.modules}), said.getvalue()]))
"""
HELPED = ("--help", "agree --help", "plan --help")
FAULTY = (
    ("demo --help", 0),
    ("demo --port none", 2),
    ("agree none.jsonl --metrics bertscore", 2),
    ("score in.jsonl --metric bertscor", 2),
    ("score in.jsonl --metric bleu --no", 2),
    ("score in.jsonl --metric bleu --metric.order 0", 2),
)
FINISHED = (
    ("score in.jsonl --metric chrf", {"numpy", "pydantic"}),
    (f"agree {EXAMPLES / 'summaries.jsonl'} --metrics bleu", {"numpy", "pydantic", "scipy"}),
)
ROUGE = "score in.jsonl --metric rouge_1"
LACKING = (
    ("score in.jsonl --metric ctrleval", "google/pegasus-large: there is no such folder, the model is not in the"),
    ("score in.jsonl --metric mars --metric.language_model no/such", "--metric.language_model no/such: there is"),
    ("prefer in.jsonl --judge llm_judge --judge.model no/such", "--judge.model no/such: there is no such folder"),
    ("steer --prompts a --generator no/such --guide b", "--generator no/such: there is no such folder"),
)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, set[str], str]]:
    """The exit code of each command above, which heavy libraries are imported after it, and what it said.

    All run in one process, in this order: a library that one imports is found in all that follow.
    """
    folder = tmp_path_factory.mktemp("imports")
    write(folder / "in.jsonl", *({**row, "prefix": "one", "label": "positive"} for row in REFERENCED))
    commands = [*HELPED, *(words for words, _ in (*FAULTY, *FINISHED, *LACKING)), ROUGE]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        input=json.dumps([words.split() for words in commands]),
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    outcomes = map(json.loads, done.stdout.splitlines())
    return {words: (code, {*heavy}, said) for words, (code, heavy, said) in zip(commands, outcomes, strict=True)}


@pytest.mark.parametrize("words", HELPED)
def test_help_imports_nothing(ended: dict[str, Any], words: str) -> None:
    assert ended[words][:2] == (0, set())


@pytest.mark.parametrize(("words", "code"), FAULTY)
def test_a_fault_is_found_before_libraries_are_imported(ended: dict[str, Any], words: str, code: int) -> None:
    """Libraries also read at import whether the hub may be asked."""
    found, imported, _ = ended[words]
    assert (found, imported & {"torch", "transformers", "scipy", "matplotlib"}) == (code, set())


@pytest.mark.parametrize(("words", "needed"), FINISHED)
def test_what_is_not_shown_is_not_imported(ended: dict[str, Any], words: str, needed: set[str]) -> None:
    code, imported, said = ended[words]
    assert (code, imported) == (0, needed), said


def test_rouge_imports_no_library_of_models(ended: dict[str, Any]) -> None:
    code, imported, said = ended[ROUGE]
    assert (code, imported & {"torch", "transformers"}) == (0, set()), said


@pytest.mark.parametrize(("words", "said"), LACKING)
def test_a_missing_model_is_named_before_torch_is_imported(ended: dict[str, Any], words: str, said: str) -> None:
    pytest.importorskip("torch")
    code, imported, told = ended[words]
    assert (code, imported & {"torch", "transformers"}) == (2, set())
    assert said in told
    assert told.endswith("; --network fetches it\n")
