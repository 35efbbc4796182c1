"""Words of a command line: what they are as settings, and those that are refused."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.configs import CONFIGS
from experiments.run import main
from experiments.runner.words import as_settings, descriptions

EXPERIMENTS = descriptions((CONFIGS,))
SUMMARIES = CONFIGS.parent / "docs" / "examples" / "summaries.jsonl"


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (
            "compare in.jsonl metrics=bleu,ter",
            '+exp=compare data.path="in.jsonl" +metric@metrics.bleu=bleu +metric@metrics.ter=ter',
        ),
        ("metrics=bleu compare in.jsonl", '+exp=compare data.path="in.jsonl" +metric@metrics.bleu=bleu'),
        ("-m compare in.jsonl metrics=bleu,ter", '+exp=compare data.path="in.jsonl" metric=bleu,ter'),
        ("-m compare metrics=bleu level=0.1,0.2", "+exp=compare +metric@metrics.bleu=bleu level=0.1,0.2"),
        ("-m plan differences=0.1,0.2 seed=1,2", "+exp=plan differences=[0.1],[0.2] seed=1,2"),
        ("score metric.aspects=a,b seed=1", "+exp=score metric.aspects=[a,b] seed=1"),
        ("compare metrics=[bleu] ~metric", "+exp=compare +metric@metrics.bleu=bleu ~metric"),
        ("compare old=a.txt new=b.txt", "+exp=compare old=a.txt new=b.txt"),
        (
            f"compare old={SUMMARIES} +scores.x={SUMMARIES}",
            f'+exp=compare +scores.x={SUMMARIES} data.systems=["old={SUMMARIES}"]',
        ),
        ("agree in.jsonl", '+exp=meta_eval data.path="in.jsonl"'),
        ("meta_eval in.jsonl", '+exp=meta_eval data.path="in.jsonl"'),
        ("preferences -", '+exp=preferences data.path="-"'),
        ('score a"\\b.jsonl', '+exp=score data.path="a\\"\\\\b.jsonl"'),
        (
            "plan in.jsonl pilot.systems=a,b differences=0.1",
            '+exp=plan pilot.path="in.jsonl" pilot.systems=[a,b] differences=[0.1]',
        ),
        ("score data.columns.text=answer", "+exp=score ++data.columns.text=answer"),
        ("score data.columns.references=r1,r2", "+exp=score ++data.columns.references=[r1,r2]"),
        ("score data.references=a/r.txt,b/r.txt", "+exp=score data.references=[a/r.txt,b/r.txt]"),
        ("score metric.model=a/b,c", "+exp=score metric.model=[a/b,c]"),
        ("score metric.model=qwen3:8b,phi4:14b", "+exp=score metric.model=[qwen3:8b,phi4:14b]"),
        ("score metric.price=2,8", "+exp=score metric.price=[2,8]"),
        ("score metric.model=a/b", "+exp=score metric.model=a/b"),
        ("agree lower_is_better=ter", "+exp=meta_eval lower_is_better=[ter]"),
        ("steer prompts=Hello,you", '+exp=steer prompts=["Hello,you"]'),
        ("train cdm in.jsonl", '+exp=train_cdm data.train_path="in.jsonl"'),
        ("cdm_dialogue model.baseline=bert", "+exp=cdm_dialogue model.baseline=[bert]"),
        ("cdm_dialogue model.baseline=bert,bilstm", "+exp=cdm_dialogue model.baseline=[bert,bilstm]"),
        ("cdm_dialogue model.baseline=null", "+exp=cdm_dialogue model.baseline=null"),
        ("doctor score in.jsonl metric=bleu", '+exp=score data.path="in.jsonl" metric=bleu dry_run=true'),
        ("doctor +exp=oumg", "+exp=oumg dry_run=true"),
        ("train guide in.jsonl", '+exp=guided_text data.path="in.jsonl"'),
        ("train discriminator data.human=a", "+exp=oumg data.human=a"),
        ("cdm_dialogue seed=1", "+exp=cdm_dialogue seed=1"),
        ("+exp=score metric=bleu", "+exp=score metric=bleu"),
        ("metric=bleu", "metric=bleu"),
    ],
)
def test_words_as_settings(words: str, settings: str) -> None:
    given = words.split()
    assert as_settings([word for word in given if word != "-m"], EXPERIMENTS, "-m" in given) == settings.split()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("comapre in.jsonl", "comapre is neither a verb nor an experiment (did you mean compare"),
        ("in.jsonl", "in.jsonl is neither a verb nor an experiment; verbs: score, agree, compare"),
        ("train", "(did you mean train "),
        ("train in.jsonl", "train in.jsonl is neither"),
        ("compare a.jsonl b.jsonl", "compare takes one file, but has a.jsonl, b.jsonl"),
        ("compare a.jsonl data.path=b.jsonl", "compare takes one file, but has a.jsonl, b.jsonl"),
        ("steer a.txt", "steer takes no file without a name"),
        ("iwf a.txt", "iwf takes no file without a name"),
        ("+exp=score a.jsonl", "a.jsonl: with +exp=NAME"),
        ("compare a.jsonl --metric rouge_l", "--metric is no option; a setting has no dashes: metric=rouge_l"),
        ("compare --metrics=ter a.jsonl", "--metrics=ter is no option; a setting has no dashes: metrics=ter"),
        ("compare --metric", "metric=VALUE"),
        ("compare a.jsonl --metric ''", "metric=VALUE"),
        ("compare in.jsonl metrics=bleu,ter,bleu", "metrics must name each metric once, but has bleu twice"),
        ("compare in.jsonl level=0.1,0.2", "level=0.1,0.2 needs -m, which runs a job for each value"),
        ("compare in.jsonl metric=bleu,ter", "metric must be one name"),
        ("compare in.jsonl --metric bleu,ter", "a setting has no dashes: metrics=bleu,ter"),
        ("doctor", "doctor lacks a verb or an experiment"),
        ("compare nope.jsonl metrics=word_count", "nope.jsonl: no such file"),
        (f"compare old={SUMMARIES} new=nope.jsonl metrics=word_count", "nope.jsonl: no such file"),
        ("agree nope.jsonl network=true", "nope.jsonl: no such file"),
        ("audit word_count", "word_count is neither a file nor a setting: write key=value"),
        ("compare in.jsonl metrics= rouge_l", "rouge_l is neither a file nor a setting: write key=value"),
    ],
)
def test_words_that_are_refused(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([word.replace("''", "") for word in words.split()]) == 2
    first, *more = capsys.readouterr().err.splitlines()
    assert said in first
    assert words == "doctor" or all("--help` lists the settings" in line for line in more)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("judge tr", "train"),
        ("judge train ", "cdm discriminator guide"),
        ("judge compare in.jsonl metrics=bleu,ter metric=rou", "metric=rouge_1 metric=rouge_2 metric=rouge_l"),
        ("python experiments/run.py -m agree in.jsonl perm", "permutations="),
        ("judge +exp=plan pow", "power="),
        ("judge nothing of this ", ""),
    ],
)
def test_the_shell_completes(
    line: str, completed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setattr(sys, "argv", ["judge"])
    assert main(["-sc", "query=bash"]) == 0
    assert capsys.readouterr() == (f"{completed}\n", "")


COMPDEF = """compdef() {{ }}; compadd() {{ print -l -- ${{@[5,-1]}} }}; eval "$({0} install=zsh)"
judge() {{ {0} ${{@[2]}} }}; words=(judge tr); CURRENT=2; _judge"""


def test_a_setting_is_completed_in_a_process_of_its_own() -> None:
    command = [sys.executable, f"{CONFIGS.parent}/experiments/run.py", "-sc", "query=bash"]
    line = {**os.environ, "COMP_LINE": "judge plan pow"}
    assert subprocess.run(command, env=line, capture_output=True, text=True, check=True).stdout == "power=\n"


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes() -> None:
    code = COMPDEF.format(f"{sys.executable} {CONFIGS.parent}/experiments/run.py -sc")
    done = subprocess.run(["zsh", "-fc", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("train\n", "")


def test_fish_reads_a_word_on_each_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COMP_LINE", "judge train ")
    assert main(["-sc", "query=fish"]) == 0
    assert capsys.readouterr().out == "cdm\ndiscriminator\nguide\n"
