"""What the command line names itself is allowed; the files of others are in `test_config_folders.py`."""

from pathlib import Path

import pytest

from core.configs import CONFIGS
from core.errors import SettingError
from experiments.runner.configuration import compose_run
from experiments.runner.trust import check_trusted
from judge.metrics import FunctionMetric, importable

THERE = "https://judge.example/v1"
JUDGE = "_target_: baselines.llm_judge.LLMJudge.from_settings\nmodel: m\n"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (f"metric.base_url={THERE}", THERE),
        ("metric.base_url=http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        ("metric.key_variable=AWS_SECRET", "AWS_SECRET"),
        ("metric.cache=elsewhere", "elsewhere"),
        ("metric.rubric=${oc.env:AWS_SECRET}", "planted-secret"),
    ],
)
def test_the_command_line_sets_what_a_file_must_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: str
) -> None:
    monkeypatch.setenv("AWS_SECRET", "planted-secret")
    (tmp_path / "metric").mkdir()
    (tmp_path / "metric" / "theirs.yaml").write_text(JUDGE, encoding="utf-8")
    given = ["+exp=score", "metric=theirs", "data.path=a", "output=b", "network=true", f"+{setting}"]
    config = compose_run(given, [CONFIGS, tmp_path])
    assert config.metric[setting.partition("=")[0].partition(".")[2]] == value


@pytest.mark.parametrize("repeated", ["cache: ${stages_dir}", "base_url: null", "aspects: [coherence]"])
def test_a_file_may_repeat_what_the_repository_says(tmp_path: Path, repeated: str) -> None:
    (tmp_path / "metric").mkdir()
    (tmp_path / "metric" / "theirs.yaml").write_text(f"{JUDGE}{repeated}\n", encoding="utf-8")
    assert compose_run(["+exp=score", "metric=theirs", "data.path=a", "output=b"], [CONFIGS, tmp_path])


def test_a_host_needs_the_network() -> None:
    metric = {"_target_": "baselines.llm_judge.LLMJudge.from_settings", "base_url": THERE}
    with pytest.raises(SettingError, match=r"metric\.base_url: .* is not this machine; network=true allows"):
        check_trusted({"metric": metric, "network": False})
    check_trusted({"metric": metric, "network": True})
    check_trusted({"description": f"{THERE} is no part of an object"})


def test_a_function_is_checked_where_it_is_imported() -> None:
    token = importable.set(frozenset({"judge"}))
    try:
        with pytest.raises(SettingError, match=r"pydoc\.pipepager is refused"):
            FunctionMetric.from_name("pydoc.pipepager", {"cmd": "true"})
        with pytest.raises(SettingError, match="must be MODULE"):
            FunctionMetric.from_name("judge.nothing.f")
    finally:
        importable.reset(token)
