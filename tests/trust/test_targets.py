"""A configuration, from the command line or a user's file, cannot call what the repository does not name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import SettingError
from experiments.runner.trust import check_trusted, check_typed
from tests.experiments.conftest import run as run  # a fixture
from tests.experiments.conftest import run_here as run_here  # a fixture

TOUCH = "touch planted"
PLAN = "experiment.plan.pooler"
PUT = "+trainer.plugins=[{_target_: os.system, command: '" + TOUCH + "'}]"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "settings",
    [
        ["experiment._target_=os.system", f"+experiment.command='{TOUCH}'"],
        ["experiment._target_=experiments.runner.execution.os.system", f"+experiment.command='{TOUCH}'"],
        ["experiment._target_=hydra.utils.get_method", "+experiment.path=os.system"],
        ["experiment._target_=report.results.clear_folder", "+experiment.folder=."],
        ["experiment._target_=[os.system]"],
        ["+experiment.x=[{_target_: os.system, _args_: ['" + TOUCH + "']}]"],
        ["data._target_=os.system", f"+data.command='{TOUCH}'"],
        ["logger._target_=os.system", f"+logger.command='{TOUCH}'"],
        [PUT],
        ["-m", "data._target_=os.system", f"+data.command='{TOUCH}'"],
    ],
    ids=" ".join,
)
def test_the_command_line_cannot_call_other_objects(
    run: Callable[..., object], tmp_path: Path, settings: list[str]
) -> None:
    options = [word for word in settings if word == "-m"]
    given = [word for word in settings if word not in options]
    ended = run(*options, "+exp=cdm_sentences", *given, "hydra.run.dir=here", "hydra.sweep.dir=here")
    assert ended.returncode == 2, ended.stderr  # pyright: ignore[reportAttributeAccessIssue]
    assert "is refused" in ended.stderr or "must be a name" in ended.stderr  # pyright: ignore[reportAttributeAccessIssue]
    assert not (tmp_path / "planted").exists()


@pytest.mark.filterwarnings("default")
def test_a_file_allows_nothing(run: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "mine" / "exp").mkdir(parents=True)
    mine = "# @package _global_\ndefaults: [cdm_sentences]\nallow: [os]\nexperiment: {_target_: os.system}\n"
    (tmp_path / "mine" / "exp" / "mine.yaml").write_text(mine, encoding="utf-8")
    searched = f"hydra.searchpath=[file://{tmp_path}/mine]"
    ended = run("+exp=mine", searched)
    assert ended.returncode == 2  # pyright: ignore[reportAttributeAccessIssue]


def test_packages_are_allowed_by_the_command_line_alone() -> None:
    check_typed({"allow": ["toy"], "network": True}, ["+exp=toy", "allow=[toy]", "++network=true"])
    check_typed({"allow": [], "network": False}, [])
    for settings in ({"allow": ["os"], "network": True}, {"allow": [], "network": True}):
        with pytest.raises(SettingError, match="must be set on the command line, not in a file"):
            check_typed(settings, ["+exp=toy"])
    with pytest.raises(SettingError, match=r"allow must be a list of packages, allow=\[PACKAGE\], but is 'os'"):
        check_typed({"allow": "os", "network": False}, ["allow=os"])


def test_the_message_names_the_target_and_what_may_be_meant() -> None:
    with pytest.raises(SettingError, match=r"metric\._target_=os\.system is refused: .*allow=\[os\] would trust"):
        check_trusted({"metric": {"_target_": "os.system"}})
    with pytest.raises(SettingError, match=r"did you mean baselines\.word_count\.WordCount"):
        check_trusted({"metric": {"_target_": "baselines.word_count.WordCont"}})
    with pytest.raises(SettingError, match=r"x\._args_ is refused: write the arguments of .* by name"):
        check_trusted({"x": {"_target_": "baselines.word_count.WordCount", "_args_": [1]}})


def test_a_package_that_the_command_line_allows_is_trusted() -> None:
    target = {"_target_": "toy.sentences"}
    check_trusted(target, ["toy"])
    with pytest.raises(SettingError):
        check_trusted({"_target_": "toyshop.sentences"}, ["toy"])
    with pytest.raises(SettingError):
        check_trusted(target)
