"""A configuration, from the command line or a user's file, cannot call what the repository does not name."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import SettingError
from experiments.run import main
from experiments.runner.trust import check_trusted

SCORE = ("+exp=score", "metric=word_count", "data.path=in.jsonl", "output=out.jsonl")
TOUCH = "touch planted"


@pytest.fixture
def refuse(here: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command line that must end with 2 and write nothing; returns its message."""

    def run(*arguments: str) -> str:
        assert main(arguments) == 2
        assert {path.name for path in here.iterdir()} <= {"in.jsonl", "mine"}
        return capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    "settings",
    [
        ["experiment._target_=os.system", f"+experiment.command='{TOUCH}'", "~experiment.file"],
        ["metric._target_=subprocess.call", "+metric.args=[touch,planted]"],
        ["+metric.x=[{_target_: os.system, _args_: ['" + TOUCH + "']}]"],
        ["metric._target_=hydra.utils.get_method", "+metric.path=os.system"],
        ["metric._target_=experiments.runner.execution.os.system", f"+metric.command='{TOUCH}'"],
        ["metric._target_=judge.report.results.clear_folder", "+metric.folder=."],
        ["metric._target_=data.download.fetch", "+metric.name=fed/../../x", "+metric.root=."],
        ["metric._target_=[os.system]"],
        ["logger._target_=os.system", f"+logger.command='{TOUCH}'"],
        ["+trainer.plugins=[{_target_: os.system, command: '" + TOUCH + "'}]"],
        ["+hydra.callbacks.x._target_=os.system", f"+hydra.callbacks.x.command='{TOUCH}'"],
        ["-m", "metric._target_=os.system", f"+metric.command='{TOUCH}'"],
        ["-m", "hydra.launcher._target_=os.system", f"+hydra.launcher.command='{TOUCH}'"],
        ["-m", "hydra.sweeper._target_=os.system", f"+hydra.sweeper.command='{TOUCH}'"],
    ],
    ids=" ".join,
)
def test_the_command_line_cannot_call_other_objects(refuse: Callable[..., str], settings: list[str]) -> None:
    assert "Traceback" not in refuse(*SCORE, *settings)


@pytest.mark.parametrize("scheme", ["pkg://", "structured://", "file://"])
@pytest.mark.parametrize("options", [[], ["-m"], ["--cfg=job"], ["--config-dir", "."]], ids=str)
def test_only_config_dir_adds_a_folder_and_no_package_is_imported(
    refuse: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, options: list[str]
) -> None:
    (tmp_path / "mine" / "planted_package").mkdir(parents=True)
    (tmp_path / "mine" / "planted_package" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "mine")
    for mark in ("", "+", "++"):
        said = refuse(*options, *SCORE, f"{mark}hydra.searchpath=[{scheme}planted_package]")
        assert "is refused: hydra/launcher alone can be set" in said
    assert "planted_package" not in sys.modules


def test_the_message_names_the_target_and_what_may_be_meant() -> None:
    with pytest.raises(SettingError, match=r"metric\._target_=os\.system is refused: .* --allow os would trust"):
        check_trusted({"metric": {"_target_": "os.system"}})
    with pytest.raises(SettingError, match=r"did you mean baselines\.word_count\.WordCount"):
        check_trusted({"metric": {"_target_": "baselines.word_count.WordCont"}})


def test_a_package_that_the_command_line_allows_is_trusted() -> None:
    target = {"_target_": "toy.sentences"}
    check_trusted(target, ["toy"])
    with pytest.raises(SettingError):
        check_trusted({"_target_": "toyshop.sentences"}, ["toy"])
    with pytest.raises(SettingError):
        check_trusted(target)
