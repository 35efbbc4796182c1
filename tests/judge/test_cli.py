"""The command line of `judge`: flags as people type them, their faults, help, and what is imported when."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import judge
from core.errors import SettingError
from core.settings import Several
from data.rating_words import GivenLevels
from judge.cli import VERBS, list_flags, main
from judge.flags import NEEDED, Flag, Given, Parser, add_flags, list_fields, list_parameters, read_flags
from judge.metric_flags import MetricNames
from tests.data.sets.small_files import write

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
REFERENCED = [{"id": str(i), "text": "one two", "references": ["one", "two three"]} for i in range(3)]
pytestmark = pytest.mark.filterwarnings("default")


# ---- words as settings ----------------------------------------------------------------------------------------------

FLAGS = [
    *list_fields(MetricNames),
    Flag("columns", Mapping[str, Any] | None, None, ""),
    Flag("levels", GivenLevels | None, None, ""),
    Flag("strengths", Several[float], (0.5, 1), ""),
    Flag("margin", float | Mapping[str, float] | None, None, ""),
    Flag("output", Path | str | None, None, ""),
    Flag("prompts", Sequence[str], NEEDED, ""),
    Flag("network", bool, False, ""),
    Flag("systems", Sequence[str], (), ""),
    Flag("seed", int, 0, ""),
    Flag("config", str | None, None, ""),
]


def read(*words: str) -> Given:
    """What the words of a command say."""
    parser = Parser(prog="judge it")
    add_flags(parser, FLAGS)
    return read_flags(parser, words, {flag.name: flag for flag in FLAGS})


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("--metric rouge_l --metric.kind rougeLsum", {"metric": "rouge_l", "metric.kind": "rougeLsum"}),
        ("--metrics bleu ter --metrics.bleu.order 2", {"metrics": ["bleu", "ter"], "metrics.bleu.order": 2}),
        ("--metrics bleu,ter", {"metrics": ["bleu", "ter"]}),
        ("--columns.text answer", {"columns.text": "answer"}),
        ("--columns.references r1 r2", {"columns.references": ["r1", "r2"]}),
        ("--columns.ratings.fit ann,ben", {"columns.ratings.fit": ["ann", "ben"]}),
        ("--levels poor,fair good", {"levels": ["poor", "fair", "good"]}),
        ("--levels poor,fair", {"levels": ["poor", "fair"]}),
        ("--levels auto", {"levels": "auto"}),
        ("--levels.safe 0 1", {"levels.safe": [0, 1]}),
        ("--strengths 0.25", {"strengths": [0.25]}),
        ("--strengths 0.25 1", {"strengths": [0.25, 1]}),
        ("--margin 0.02", {"margin": 0.02}),
        ("--margin -0.02", {"margin": -0.02}),
        ("--margin.bleu 1e-2", {"margin.bleu": 0.01}),
        ("--output 5", {"output": "5"}),
        ("--output -", {"output": "-"}),
        ("--output=out.jsonl", {"output": "out.jsonl"}),
        ("--network --seed 3", {"network": True, "seed": 3}),
        ("--network false", {"network": False}),
        ("--systems old=old.txt new=new.txt", {"systems": ["old=old.txt", "new=new.txt"]}),
        ("--metric null", {"metric": None}),
    ],
)
def test_words_are_settings(words: str, values: dict[str, Any]) -> None:
    assert read(*words.split()).values == values


def test_settings_by_key_are_those_of_their_flag() -> None:
    given = read("--columns.ratings.fit", "ann", "--columns.text", "answer", "--seed", "3")
    assert given.get("columns") == {"ratings": {"fit": "ann"}, "text": "answer"}
    assert [given.get(name) for name in ("seed", "network", "margin")] == [3, False, None]
    with pytest.raises(SettingError, match="--margin has either a value or settings by name, not both: bleu"):
        read("--margin", "0.1", "--margin.bleu", "0.2").get("margin")


def test_two_prompts_are_two_and_a_comma_belongs_to_its_prompt() -> None:
    given = read("in.jsonl", "--prompts", "Well,then", "The food, and")
    assert (given.values, given.others) == ({"prompts": ["Well,then", "The food, and"]}, ("in.jsonl",))
    assert read("--prompts", "The food").values == {"prompts": ["The food"]}


@pytest.mark.parametrize("words", [("--seed", "3", "in.jsonl"), ("--network", "in.jsonl"), ("in.jsonl", "--network")])
def test_a_file_may_follow_a_flag_of_one_word(words: tuple[str, ...]) -> None:
    assert read(*words).others == ("in.jsonl",)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("metric=rouge_l", "metric=rouge_l: write --metric rouge_l"),
        ("in.jsonl +metrics=bleu", "+metrics=bleu: write --metrics bleu"),
        ("data.columns.text=a", "data.columns.text=a: write --columns.text a"),
        ("--columns text=answer", "text=answer: write --columns.text answer"),
        ("data.path=in.jsonl", "data.path=in.jsonl: write the file itself, in.jsonl, behind the verb"),
        ("--metrics bleu seed=1", "seed=1: write --seed 1"),
        ("columns={text:a}", "columns={text:a}: write --columns.KEY VALUE for each key"),
        ("--colums.text a", "--colums.text is no flag of judge it (did you mean --columns?)"),
        ("--metri bleu", "--metri is no flag of judge it (did you mean --metric or --metrics?)"),
        ("--seed.of 3", "--seed has no settings of its own, but got --seed.of"),
        ("--seed", "--seed: expected one argument"),
        ("--metrics --seed 1", "--metrics: expected at least one argument"),
        ("--seed 1 --seed 2", "--seed is given twice"),
        ("--columns.text a --columns.text b", "--columns.text is given twice"),
    ],
)
def test_a_wrong_word_is_answered_by_the_flag_that_was_meant(words: str, said: str) -> None:
    with pytest.raises(SettingError) as error:
        read(*words.split())
    assert said in str(error.value)


@pytest.mark.parametrize("name", VERBS)
def test_every_flag_says_what_it_means_and_is_a_setting_of_the_verb(name: str) -> None:
    if name == "demo":
        pytest.importorskip("torch")
    own, named = list_flags(name)
    assert [flag.name for flag in [*own.values(), *named.values()] if not flag.comment] == []
    assert not set(own) & set(named)


def test_a_flag_has_the_default_and_the_comment_of_its_source() -> None:
    from judge.label_plans import PlanSettings
    from judge.verbs.compare import compare

    fields = {flag.name: flag for flag in list_fields(PlanSettings)}
    assert fields["power"] == Flag("power", fields["power"].kind, 0.8, "probability to detect the difference")
    assert fields["power"].kinds == {float}
    parameters = {flag.name: flag for flag in list_parameters(compare)}
    assert parameters["level"].comment == "of significance."
    assert parameters["level"].default == 0.05


# ---- whole commands -------------------------------------------------------------------------------------------------


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


def test_settings_of_a_file_come_after_those_of_the_command(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", *REFERENCED)
    settings = "metrics:\n  bleu: {order: 1}\n  ter: {}\nchunk: 1\noutput: file.jsonl\n"
    (tmp_path / "settings.yaml").write_text(settings)
    assert run("score", "in.jsonl", "--config", "settings.yaml", "--output", "out.jsonl").returncode == 0
    meta = json.loads((tmp_path / "out.jsonl.meta.json").read_text())
    assert [each.partition("|")[0] for each in meta["signatures"].values()] == ["bleu1", "ter"]
    assert not (tmp_path / "file.jsonl").exists()


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
"""


def test_a_metric_of_a_stranger_works_if_its_package_is_allowed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "stranger.py").write_text(STRANGER)
    (tmp_path / "ones.yaml").write_text("_target_: stranger.Ones\nvalue: 1.0\n")
    write(tmp_path / "in.jsonl", {"text": "a"})
    refused = run("score", "in.jsonl", "--metric", "ones.yaml")
    assert (refused.returncode, "--allow stranger would trust this package" in refused.stderr) == (2, True)
    assert "stranger" not in sys.modules
    allowed = ("--metric", "ones.yaml", "--metric.value", "2.0", "--allow", "stranger", "--output", "out.jsonl")
    assert run("score", "in.jsonl", *allowed).returncode == 0
    assert json.loads((tmp_path / "out.jsonl").read_text())["scores"] == {"quality": 2.0}


@pytest.mark.parametrize("target", ["os.system", "subprocess.run", "builtins.exec"])
def test_a_metric_names_only_what_this_project_names(run: Run, tmp_path: Path, target: str) -> None:
    (tmp_path / "evil.yaml").write_text(f"_target_: baselines.rouge.Rouge\nkind: {{_target_: {target}}}\n")
    write(tmp_path / "in.jsonl", {"text": "a"})
    for words in (["--metric", "evil.yaml"], ["--metric", "rouge_l", "--metric.kind._target_", target]):
        ended = run("score", "in.jsonl", *words)
        assert (ended.returncode, f"{target} is refused" in ended.stderr) == (2, True)


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
            "score in.jsonl --metric bleu --metric.orde 2",
            "--metric.orde is not a setting of bleu (did you mean --metric.order?)",
        ),
        (
            "score in.jsonl --metric bleu --metric.order 0",
            "--metric.order must be greater than or equal to 1, but is 0",
        ),
        ("score in.jsonl --metrics b=bleu --metrics.b.order x", "--metrics.b.order must be a valid integer"),
        (
            "score in.jsonl --metric mars --metric.language_model naive --metric.augmentation.k 1",
            "--metric.augmentation.k is not a setting of mars (did you mean --metric.augmentation.kl?)",
        ),
        ("audit --data builtin_sets --data.x 1", "--data.x is not a setting of builtin_sets"),
        ("score in.jsonl --metric bleu --report in.jsonl", "must be a folder, but"),
        ("score --metric bleu", "judge score needs a file: judge score FILE ..."),
        ("score sede=1 --metric bleu", "sede=1 is neither a file nor a flag: settings are --NAME VALUE"),
        ("score in.jsonl in.jsonl --metric bleu", "judge score takes one file, but got in.jsonl, in.jsonl"),
        ("score in.jsonl --text in.txt --metric bleu", "FILE and --text are two inputs: give one"),
        ("audit --data builtin_sets --systems a=in.jsonl", "--systems and --data are two inputs: give one"),
        ("prefer --data pandalm --systems a=in.jsonl", "--systems and --data are two inputs: give one"),
        ("agree in.jsonl --seed x", "seed must be a valid integer"),
        ("agree in.jsonl --metrics bleu --config wrong.yaml", "wrong.yaml: --metrcs is no flag of judge agree"),
        ("steer --prompts a --guide b", "--generator is needed"),
        ("steer in.jsonl --prompts a", "judge steer takes no file, but got in.jsonl"),
        ("compare in.jsonl --incomplete maybe", "incomplete must be"),
        ("audit --data nosuch", "nosuch: there is no such set"),
        ("prefer --data pandalm", "pandalm needs root: pass --data.root VALUE"),
        ("score in.jsonl --metric bleu --config none.yaml", "none.yaml: no such file"),
    ],
)
def test_a_fault_is_one_message_and_exit_2(run: Run, tmp_path: Path, words: str, said: str) -> None:
    write(tmp_path / "in.jsonl", *REFERENCED)
    (tmp_path / "wrong.yaml").write_text("metrcs: [bleu]\n")
    ended = run(*words.split())
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_missing_model_that_nobody_typed_is_named_with_its_setting(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    write(tmp_path / "in.jsonl", *REFERENCED)
    for metric, place in (("--metric", "--metric"), ("--metrics", "--metrics.mars")):
        ended = run("score", "in.jsonl", metric, "mars")
        assert ended.returncode == 2
        assert f"{place}.language_model openai-community/gpt2-large: there is no such folder" in ended.stderr


def test_help_lists_verbs_settings_and_those_of_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "  agree     Find out which metric agrees best" in capsys.readouterr().out
    assert main(["compare", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--level VALUE\n      of significance. (default: 0.05)" in shown
    assert "trainer" not in shown
    assert main(["score", "--metric", "bleu", "--help"]) == 0
    assert "bleu, set by --metric.SETTING VALUE\n  # BLEU-4 of each text" in capsys.readouterr().out


def test_a_shell_completes_verbs_and_flags(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab", reason="shtab is an option that is not in the lock file")
    assert main(["--completion", "bash"]) == 0
    script = capsys.readouterr().out
    complete = (
        "COMP_WORDS=(judge compare --incompl); COMP_CWORD=2; _shtab_judge judge --perm compare; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", f"{script}\n{complete}"], capture_output=True, text=True, check=True)
    assert done.stdout == "--incomplete\n"
    assert main(["--completion", "nosuch"]) == 2


# ---- what is imported when ------------------------------------------------------------------------------------------

IMPORTED = """
import sys
from judge.cli import main
code = main(sys.argv[1:])
heavy = [name for name in ("torch", "scipy", "matplotlib", "pandas", "numpy", "hydra", "omegaconf", "transformers")]
print("imported:", *[name for name in heavy if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def list_imported(folder: Path, *words: str) -> tuple[int, set[str], str]:
    """The exit code of a command, and which heavy libraries it imported."""
    command = [sys.executable, "-c", IMPORTED, *words]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    *said, imported = done.stderr.splitlines()
    return done.returncode, set(imported.removeprefix("imported:").split()), "\n".join(said)


def test_a_wrong_path_is_found_before_anything(tmp_path: Path) -> None:
    code, imported, said = list_imported(tmp_path, "agree", "none.jsonl", "--metrics", "bertscore")
    assert (code, imported, said) == (2, set(), "none.jsonl: no such file")


def test_a_fault_of_a_setting_is_found_before_torch(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", *REFERENCED)
    for words in (["--metric", "bleu", "--metric.order", "0"], ["--metric", "bertscor"], ["--metric", "bleu", "--no"]):
        code, imported, _ = list_imported(tmp_path, "score", "in.jsonl", *words)
        assert (code, imported & {"torch", "transformers", "scipy", "matplotlib"}) == (2, set())


def test_the_demo_reads_its_settings_before_a_library_reads_whether_the_hub_may_be_asked(tmp_path: Path) -> None:
    for words, expected in (["--help"], 0), (["--port", "none"], 2):
        code, imported, _ = list_imported(tmp_path, "demo", *words)
        assert (code, imported & {"torch", "transformers"}) == (expected, set())


def test_what_is_not_shown_is_not_imported(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", *REFERENCED)
    code, imported, said = list_imported(tmp_path, "score", "in.jsonl", "--metric", "rouge_l")
    assert (code, imported) == (0, {"numpy"}), said
    code, imported, said = list_imported(tmp_path, "agree", str(EXAMPLES / "summaries.jsonl"), "--metrics", "bleu")
    assert (code, imported) == (0, {"numpy", "scipy"}), said
    assert list_imported(tmp_path, "--help")[:2] == (0, set())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("score in.jsonl --metric ctrleval", "google/pegasus-large: there is no such folder, the model is not in the"),
        (
            "score in.jsonl --metric mars --metric.language_model no/such",
            "--metric.language_model no/such: there is",
        ),
        ("prefer in.jsonl --judge llm_judge --judge.model no/such", "--judge.model no/such: there is no such folder"),
        ("steer --prompts a --generator no/such --guide b", "--generator no/such: there is no such folder"),
    ],
)
def test_a_missing_model_is_named_before_torch_is_imported(tmp_path: Path, words: str, said: str) -> None:
    pytest.importorskip("torch")
    write(tmp_path / "in.jsonl", {"text": "a", "prefix": "a", "label": "positive", "references": ["a"]})
    code, imported, told = list_imported(tmp_path, *words.split())
    assert (code, imported & {"torch", "transformers"}) == (2, set())
    assert said in told
    assert told.endswith("; --network fetches it")
