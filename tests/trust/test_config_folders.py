"""A config folder of another person chooses among what `configs/` names; the rest is the command line's alone."""

import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from experiments.run import main

Write = Callable[[Mapping[str, str]], tuple[str, str]]

DATA = ("data.path=in.jsonl", "output=out.jsonl", "logger=none")
SCORE = ("+exp=score", "metric=theirs", *DATA)
BUILTIN = ("+exp=score", "metric=word_count", *DATA)
SWEEP = (*BUILTIN, "+sweep=theirs")
JUDGE = "_target_: baselines.llm_judge.LLMJudge.from_settings\nmodel: m\n"
COUNT = "_target_: baselines.word_count.WordCount\n"
FUNCTION = "_target_: judge.metrics.FunctionMetric.from_name\n"
GLOBAL = "# @package _global_\n"

METRICS = {  # metric/theirs.yaml
    "a command by position": FUNCTION + "_args_: [pydoc.pipepager, {cmd: touch planted}]\n",
    "a command by name": FUNCTION + "name: pydoc.pipepager\nsettings: {cmd: touch planted}\n",
    "a position": COUNT + "_args_: [auto]\n",
    "a partial": "_target_: baselines.sacrebleu_metrics.Ter\n_partial_: true\n",
    "no recursion": COUNT + "_recursive_: false\n",
    "a conversion": COUNT + "_convert_: object\n",
    "an installed launcher": "_target_: hydra._internal.core_plugins.basic_launcher.BasicLauncher\n",
    "a host": JUDGE + "base_url: https://judge.example/v1\n",
    "a host in capitals": JUDGE + "base_url: HTTPS://JUDGE.EXAMPLE/v1\n",
    "a host behind a user": JUDGE + "base_url: http://localhost:1@judge.example/v1\n",
    "a host by position": "_target_: baselines.llm_judge.LLMJudge.from_settings\n_args_: [m, 'http://localhost:1']\n",
    "a port of this machine": JUDGE + "base_url: http://127.0.0.1:1/v1\n",
    "a URL in another setting": JUDGE + "rubric: https://judge.example/prompts\n",
    "a key": JUDGE + "key_variable: AWS_SECRET\n",
    "a file of replies": JUDGE + "cache: elsewhere\n",
    "a variable": JUDGE + "rubric: ${oc.env:AWS_SECRET,prompts}\n",
    "a variable whose resolver is assembled": JUDGE + "device: env\nrubric: ${oc.${.device}:AWS_SECRET}\n",
    "a variable that is decoded": JUDGE + "rubric: ${oc.decode:'${oc.env:AWS_SECRET}'}\n",
    "an escaped variable": JUDGE + 'rubric: "${\\u006fc.env:AWS_SECRET}"\n',
    "a package of the network": "# @package network\n" + COUNT,
    "a package of Hydra": "# @package hydra.launcher\n" + COUNT,
    "too deep": "_target_: " + "[" * 3000 + "]" * 3000 + "\n",
    "not YAML": "_target_: [\n",
    "a list": "- 1\n",
}
SETTINGS = {  # sweep/theirs.yaml, which may set anything
    "the network": "network: true\n",
    "the network as a mapping": "network: {a: 1}\n",
    "the network of the input": "data:\n  network: true\n",
    "a download": "data:\n  download: true\n",
    "an upload": "logger:\n  mode: online\n",
    "an upload by reference": "a: {_target_: experiments.runner.tracking.NoTracking, mode: online}\nlogger: ${a}\n",
    "a user of W&B": "logger:\n  entity: they\n",
    "a cluster": "engine:\n  _target_: judge.engines.RayEngine\n  address: evil.example:6379\n",
    "an output of the experiment": "experiment:\n  output: {path: elsewhere.jsonl}\n",
    "a run folder": "run_dir: elsewhere\n",
    "a root": "outputs: elsewhere\n",
    "an empty root": "outputs: []\n",
    "a root without keys": "outputs: {}\n",
    "a root that is a number": "outputs: 0\n",
    "a root that is false": "outputs: false\n",
    "a root that is null": "outputs: null\n",
    "a name that is null": "name: null\n",
    "stages": "stages_dir: elsewhere\n",
    "a name that leaves its folder": "name: ../../elsewhere\n",
    "a list as a name": "name: [../../elsewhere]\n",
    "a trainer's folder": "trainer:\n  default_root_dir: elsewhere\n",
    "a trainer by reference": "a: {default_root_dir: elsewhere}\ntrainer: ${a}\n",
    "allow": "allow: [os]\n",
    "a target": "metric:\n  _target_: os.system\n  command: touch planted\n",
    "a target by reference": "a: os.system\nmetric:\n  _target_: ${a}\n  command: touch planted\n",
    "a created target": "metric: '${oc.create:{_target_: os.system, command: \"touch planted\"}}'\n",
    "a reference that is resolved twice": "metric:\n  x: '\\${oc.create:{_target_: os.system}}'\n",
    "a callback of Hydra": "hydra:\n  callbacks:\n    x: {_target_: os.system, command: touch planted}\n",
    "a created callback": "hydra:\n  callbacks:\n    x: '${oc.create:{_target_: os.system}}'\n",
    "a handler of logging": "hydra:\n  job_logging:\n    handlers:\n      x: {'()': os.system}\n",
    "a launcher's target": "hydra:\n  launcher:\n    x: {_target_: os.system}\n",
    "a launcher's setup": "hydra:\n  launcher:\n    setup: [touch planted]\n",
    "a variable of a job": "hydra:\n  job:\n    env_set: {HTTPS_PROXY: x}\n",
    "copied variables": "hydra:\n  job:\n    env_copy: [PATH]\n",
    "a sweep's folder": "hydra:\n  sweep:\n    dir: elsewhere\n",
    "a choice of launcher": "defaults:\n  - override /hydra/launcher: joblib\n",
    "a package of a choice": "defaults:\n  - /metric@network: bleu\n",
    "a package that is here": "defaults:\n  - /metric@_here_: planted\n",
    "a package that is the root": "defaults:\n  - /metric@_global_: planted\n",
    "a file outside": "defaults:\n  - /metric@metric: ../../outside\n",
    "an absolute file": "defaults:\n  - /metric@metric: //etc/passwd\n",
    "a sweep over the network": "hydra:\n  sweeper:\n    params: {network: 'true,false'}\n",
    "a sweep over hosts": "hydra:\n  sweeper:\n    params: {+metric.base_url: 'http://a,http://b'}\n",
    "a sweep over packages of groups": "hydra:\n  sweeper:\n    params: {+metric@network: bleu}\n",
    "a sweep over targets": "hydra:\n  sweeper:\n    params: {+metric.x: '{_target_: os.system}'}\n",
    "a sweep over positions": "hydra:\n  sweeper:\n    params: {+metric.x: '[{_args_: [a]}]'}\n",
    "a sweep over search paths": "hydra:\n  sweeper:\n    params: {hydra.searchpath: '[pkg://planted_package]'}\n",
    "a sweep over names": "hydra:\n  sweeper:\n    params: {name: ../../elsewhere}\n",
    "a sweep over trainers": "hydra:\n  sweeper:\n    params: {+trainer.default_root_dir: elsewhere}\n",
    "a sweep over launchers": "hydra:\n  sweeper:\n    params: {hydra/launcher: joblib}\n",
    "a sweep that is no override": "hydra:\n  sweeper:\n    params: {'': '['}\n",
    "a sweeper's storage": "hydra:\n  sweeper:\n    storage: sqlite:///elsewhere\n",
}
OF_A_SWEEP = ("a sweep over targets", "a sweep over positions", "a sweep that is no override")  # not read without -m
FILES: dict[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    **{what: ({"metric/theirs.yaml": text}, SCORE) for what, text in METRICS.items()},
    **{
        what: ({"sweep/theirs.yaml": GLOBAL + text, "metric/planted.yaml": "network: true\n"}, SWEEP)
        for what, text in SETTINGS.items()
    },
    "an output": (
        {"sweep/theirs.yaml": f"{GLOBAL}output: elsewhere.jsonl\n"},
        ("+exp=score", "metric=word_count", "data.path=in.jsonl", "+sweep=theirs"),
    ),
    "a launcher's file": (
        {"hydra/launcher/theirs.yaml": "defaults: [basic]\nsetup: x\n"},
        (*BUILTIN, "hydra/launcher=theirs"),
    ),
    "a file of Hydra's own": ({"hydra/launcher/basic.yaml": "setup: x\n"}, BUILTIN),
    "a group that is a setting": (
        {"sweep/theirs.yaml": GLOBAL + "defaults:\n  - /network: theirs\n", "network/theirs.yaml": "a: 1\n"},
        SWEEP,
    ),
    "the scale of the runner": ({"scale/tiny.yaml": GLOBAL + "network: true\n"}, BUILTIN),
}


@pytest.fixture
def write(here: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the files of another person's folder, beside a package; returns the option that names the folder."""
    monkeypatch.setenv("AWS_SECRET", "planted-secret")
    monkeypatch.syspath_prepend(here / "mine")
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a socket was opened"))
    (here / "mine" / "planted_package").mkdir(parents=True)
    (here / "mine" / "planted_package" / "__init__.py").touch()
    (here / "outside.yaml").write_text("seed: 7\n", encoding="utf-8")

    def write_files(files: Mapping[str, str]) -> tuple[str, str]:
        for name, text in files.items():
            path = here / "mine" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return "--config-dir", "mine"

    return write_files


@pytest.mark.parametrize(
    ("what", "options"),
    [*((what, ()) for what in FILES if what not in OF_A_SWEEP), *((what, ("-m",)) for what in FILES)],
)
def test_a_file_does_not_say_what_is_the_command_lines(
    write: Write, here: Path, capsys: pytest.CaptureFixture[str], what: str, options: tuple[str, ...]
) -> None:
    files, settings = FILES[what]
    assert main([*write(files), *options, *settings]) == 2
    said = capsys.readouterr().err
    assert said.strip()
    assert "Traceback" not in said
    assert "planted-secret" not in said
    assert {path.name for path in here.iterdir()} == {"in.jsonl", "mine", "outside.yaml"}
    assert "planted_package" not in sys.modules
    assert "HTTPS_PROXY" not in os.environ


@pytest.mark.parametrize("cause", ["0", "1"])  # 1: OmegaConf says of an error that it caused itself
def test_the_place_of_a_broken_reference_is_named(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cause: str
) -> None:
    monkeypatch.setenv("OC_CAUSE", cause)
    option = write({"sweep/theirs.yaml": GLOBAL + "seed: ${\n"})
    assert main([*option, *SWEEP]) == 2
    assert "full_key: seed" in capsys.readouterr().err
