"""The config folder of another person cannot read secrets of the environment, or send anything to another machine."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.configs import CONFIGS
from core.faults import SettingFault
from experiments.run import main
from experiments.runner.configuration import compose_run, compose_settings
from experiments.runner.trust import check_trusted, names_in

SCORE = ("+exp=score", "metric=theirs", "data.path=in.jsonl", "output=out.jsonl", "logger=none")
JUDGE = "_target_: baselines.llm_judge.LLMJudge.from_settings\nmodel: m\n"
THERE = "https://judge.example/v1"


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, ...]]:
    """Writes the metric `theirs` into a config folder; returns the options that use it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_SECRET", "planted-secret")
    (tmp_path / "in.jsonl").write_text('{"text": "a b"}\n', encoding="utf-8")
    (tmp_path / "mine" / "metric").mkdir(parents=True)

    def write(metric: str) -> tuple[str, ...]:
        (tmp_path / "mine" / "metric" / "theirs.yaml").write_text(metric, encoding="utf-8")
        return ("--config-dir", "mine", *SCORE)

    return write


REFUSED = {
    "a key": f"{JUDGE}base_url: http://localhost:1/v1\nkey_variable: AWS_SECRET\n",
    "a variable in the URL": f"{JUDGE}base_url: http://localhost:1/${{oc.env:AWS_SECRET}}\n",
    "a variable in the question": f"{JUDGE}prompts: ${{oc.env:AWS_SECRET,prompts}}\n",
    "a variable whose resolver is assembled": f"{JUDGE}device: env\nprompts: ${{oc.${{.device}}:AWS_SECRET}}\n",
    "a variable that is decoded": f"{JUDGE}prompts: ${{oc.decode:'${{oc.env:AWS_SECRET}}'}}\n",
    "an escaped variable": f'{JUDGE}prompts: "${{\\u006fc.env:AWS_SECRET}}"\n',
    "a host": f"{JUDGE}base_url: {THERE}\n",
    "a host in capitals": f"{JUDGE}base_url: HTTPS://JUDGE.EXAMPLE/v1\n",
    "a host behind a user": f"{JUDGE}base_url: http://localhost:1@judge.example/v1\n",
    "a host like this machine": f"{JUDGE}base_url: http://localhost.judge.example/v1\n",
    "a host by position": f"_target_: baselines.llm_judge.LLMJudge.from_settings\n_args_: [m, '{THERE}']\n",
    "no host": f"{JUDGE}base_url: 'http://[/v1'\n",
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("options", [(), ("network=true",), ("-m",)], ids=str)
def test_a_config_folder_reads_no_secret_and_names_no_host(
    theirs: Callable[..., tuple[str, ...]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    what: str,
    options: tuple[str, ...],
) -> None:
    assert main([*theirs(REFUSED[what]), *options]) == 2
    said = capsys.readouterr().err
    assert ("AWS_SECRET" in said) == ("key" in what or "variable" in what)
    assert "planted-secret" not in said
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "mine"}


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        (REFUSED["a key"], ("--allow=env:AWS_SECRET",)),
        (REFUSED["a key"], ("metric.key_variable=AWS_SECRET",)),
        (REFUSED["a variable in the URL"], ("--allow=env:AWS_SECRET",)),
        (REFUSED["a host"], ("--allow=host:judge.example", "network=true")),
        (REFUSED["a host"], (f"metric.base_url={THERE}", "network=true")),
        (f"{JUDGE}base_url: http://127.0.0.1:1/v1\n", ()),
        (f"{JUDGE}base_url: http://[::1]:1/v1\n", ()),
        (JUDGE, ("+metric.prompts=${oc.env:AWS_SECRET}",)),
    ],
    ids=str,
)
def test_what_the_command_line_names_is_allowed(
    theirs: Callable[..., tuple[str, ...]], metric: str, options: tuple[str, ...]
) -> None:
    _, folder, *settings = theirs(metric)
    allow = [option.removeprefix("--allow=") for option in options if option.startswith("--allow=")]
    typed = [option for option in options if not option.startswith("--allow=")]
    config = compose_run([*settings, *typed], [CONFIGS, Path(folder).resolve()], allow)
    assert config.metric._target_.startswith("baselines.llm_judge")


def test_a_host_needs_the_network() -> None:
    metric = {"_target_": "baselines.llm_judge.LLMJudge.from_settings", "base_url": THERE}
    with pytest.raises(SettingFault, match=r"metric\.base_url: the host judge\.example .*; network=true allows"):
        check_trusted({"metric": metric, "network": False}, ["host:judge.example"])
    check_trusted({"metric": metric, "network": True}, ["host:judge.example"])
    check_trusted({"description": f"{THERE} is no part of an object"})


def test_a_variable_that_the_repository_reads_needs_no_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert (
        compose_run(["+exp=score", "metric=bleu", "data.path=a", "output=b", "logger=wandb"]).logger.mode == "disabled"
    )


@pytest.mark.parametrize("setting", ["hydra.job.env_set={HTTPS_PROXY: x}", "hydra.job.env_copy=[PATH]"])
def test_a_config_folder_sets_no_variable_of_a_job(tmp_path: Path, setting: str) -> None:
    (tmp_path / "sweep").mkdir()
    key, _, value = setting.partition("=")
    folder = key.split(".")
    text = f"# @package _global_\n{folder[0]}:\n  {folder[1]}:\n    {folder[2]}: {value}\n"
    (tmp_path / "sweep" / "planted.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingFault, match=r"hydra\.job\.env_"):
        compose_settings(["+exp=score", "metric=bleu", "+sweep=planted"], [CONFIGS, tmp_path])
    assert "HTTPS_PROXY" not in os.environ


def test_names_of_the_command_line() -> None:
    settings = (
        "a='${oc.env:X}${oc.env: Y,z}'",
        "m={base_url: 'http://u@h.example:1/', key_variable: K}",
        "b=http://g,h",
    )
    assert names_in(settings) == ["env:X", "env:Y", "env:K", "host:h.example", "host:g"]
