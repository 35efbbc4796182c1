"""Nothing leaves this machine without `network=true` or `--network` on the command line, and no test asks elsewhere."""

import json
import re
import shlex
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import judge as judging
from core.errors import MissingModelError, SettingError
from core.hosts import is_this_machine, set_network
from judge.cli import main
from tests.baselines.test_endpoint import Server, answer_with, completion
from tests.baselines.test_endpoint import serve as serve  # a fixture
from tests.commands import Ended
from tests.commands import run as run  # a fixture
from tests.experiments.conftest import run_here as run_here  # a fixture
from tests.repository.test_docs import read_pages, verb_commands

ELSEWHERE = "endpoint.example"  # resolved to the endpoint of a test
FAKE = "192.0.2.1"  # an address that nobody has, of every other name
KEY = "sk-planted-0123456789"
OUTPUTS = [{"group": f"q{i}", "system": name, "text": f"{name} {i}"} for i in range(2) for name in ("new", "old")]


@pytest.fixture
def open_machine(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder on a machine that lets everything out: the hub may be asked, and each name has an address.

    A connection to another machine fails the test (`tests/conftest.py`).
    """
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(here / "hub"))
    monkeypatch.setattr("socket.getaddrinfo", partial(resolve, socket.getaddrinfo))
    (here / "outputs.jsonl").write_text("\n".join(map(json.dumps, OUTPUTS)), encoding="utf-8")
    (here / "in.jsonl").write_text('{"text": "a b", "ratings": {"quality": 1}}\n' * 3, encoding="utf-8")
    return here


def resolve(find: Callable[..., Any], host: str, *about: Any, **more: Any) -> Any:
    """Stands in for `socket.getaddrinfo`: no name is looked up."""
    is_numeric = re.fullmatch(r"[\d.:]+", host)
    return find(host if is_numeric else "127.0.0.1" if host in (ELSEWHERE, "localhost") else FAKE, *about, **more)


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """An endpoint that seems to be on another machine."""
    made = serve(answer_with(200, completion("4", [("4", -0.1)])))
    made.url = made.url.replace("127.0.0.1", ELSEWHERE)
    return made


# ---- what is this machine --------------------------------------------------------------------------------------------


HERE = ["localhost", "LocalHost.", "127.0.0.1", "127.255.0.3", "127.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"]
THERE = ["", "a.org", "localhost.a.org", "127.0.0.1.a.org", "127.0.0.1 a.org", "10.0.0.1", "::2", "::ffff:10.0.0.1"]


def test_which_hosts_are_this_machine() -> None:
    assert [host for host in [*HERE, *THERE, socket.gethostname().upper()] if not is_this_machine(host)] == THERE


# ---- endpoints -------------------------------------------------------------------------------------------------------

VERBS = {
    "score": "score in.jsonl --metrics word_count llm_judge --metrics.llm_judge",
    "agree": "agree in.jsonl --metrics word_count llm_judge --metrics.llm_judge",
    "compare": "compare outputs.jsonl --metrics llm_judge --metrics.llm_judge",
    "audit": "audit --data builtin_remarks --metrics llm_judge --metrics.llm_judge",
    "prefer": "prefer outputs.jsonl --judge llm_judge --judge",
}


@pytest.mark.usefixtures("open_machine")
@pytest.mark.parametrize(("verb", "more"), [*((verb, "") for verb in VERBS), ("score", "--network false")])
def test_a_verb_asks_no_endpoint_elsewhere(
    server: Server, capsys: pytest.CaptureFixture[str], verb: str, more: str
) -> None:
    settings = f"{VERBS[verb]}.model m {VERBS[verb].split()[-1]}.base_url {server.url} {more}"
    code = main(settings.split())
    assert server.requests == []
    assert code == 2
    assert f"base_url must not ask {ELSEWHERE} without --network\n" in capsys.readouterr().err


@pytest.mark.usefixtures("open_machine")
def test_the_command_line_opens_the_network(server: Server) -> None:
    settings = "score in.jsonl --metric llm_judge --metric.model m --metric.key_variable OPENAI_API_KEY --network"
    assert main([*settings.split(), "--metric.base_url", server.url, "--output", "out.jsonl"]) == 0
    assert set(server.keys) == {f"Bearer {KEY}"}


@pytest.mark.usefixtures("open_machine")
def test_python_asks_no_endpoint_elsewhere(server: Server) -> None:
    asked: Any = {"model": "m", "base_url": server.url}
    refused = pytest.raises(SettingError, match=f"must not ask {ELSEWHERE} without network=True")
    with refused:
        judging.load_metric("llm_judge", **asked)
    with refused:
        judging.score(["a text"], "llm_judge", **asked)
    with refused:
        judging.prefer(outputs=OUTPUTS, judge="llm_judge", **asked)
    assert server.requests == []
    assert judging.load_metric("llm_judge", network=True, **asked).score([]).values
    with refused:
        judging.load_metric("llm_judge", **asked)


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("open_machine")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["+exp=asking"], 2, f"experiment.judge.base_url must not ask {ELSEWHERE} without network=true\n"),
        (["+exp=opening"], 2, "network must be set on the command line, not in a file\n"),
        (["+exp=asking", "network=true"], 0, ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_experiment_of_a_file_asks_no_endpoint_elsewhere(
    run: Callable[..., Ended], server: Server, tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    judge = f"{{_target_: baselines.llm_judge.LLMJudge.from_settings, model: m, base_url: '{server.url}'}}"
    asking = f"# @package _global_\ndefaults: [toy]\nexperiment: {{_target_: toy.ask, judge: {judge}}}\n"
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp/asking.yaml").write_text(asking, encoding="utf-8")
    (tmp_path / "exp/opening.yaml").write_text(f"{asking}network: true\n", encoding="utf-8")
    ended = run(*words, f"hydra.searchpath=[file://{tmp_path}]")
    assert ended.returncode == code, ended.stderr
    assert bool(server.requests) == (code == 0)
    assert said in ended.stderr


# ---- data and models -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("open_machine")
@pytest.mark.parametrize(
    "words",
    [
        "--data pandalm --data.root empty --data.download",
        "--data pandalm --data.root empty --data.download --network false",
    ],
)
def test_a_verb_fetches_no_data(capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert main(["prefer", *words.split()]) == 2
    assert "download must not ask raw.githubusercontent.com without --network\n" in capsys.readouterr().err


@pytest.mark.usefixtures("open_machine")
def test_the_environment_opens_no_hub(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where its library was imported before."""
    assert main(["score", "in.jsonl", "--metric", "perplexity", "--metric.model", "some/model"]) == 2
    assert "the model hub is not asked now; --network fetches it" in capsys.readouterr().err
    with pytest.raises(MissingModelError, match="the model hub is not asked now"):
        judging.steer("some/model", "guide", ["The"])


@pytest.mark.usefixtures("open_machine")
def test_the_network_opens_the_hub_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import is_offline_mode

    monkeypatch.setattr("core.hosts.STAYS_OFFLINE", False)
    for is_allowed in (False, True, False):
        set_network(is_allowed)
        assert is_offline_mode() is not is_allowed


# ---- the commands of README and docs ---------------------------------------------------------------------------------


OPEN = re.compile(r"--network|base_url|--data\.download")


def list_experiments() -> list[str]:
    """The settings of a command of each experiment that asks the hub."""
    found = re.findall(r"python experiments/run\.py (\+exp=[^`\n]* network=true[^`\n]*)", read_pages())
    return [*{words.split()[0]: words for words in found}.values()]


@pytest.mark.usefixtures("open_machine")
@pytest.mark.parametrize("command", [*filter(OPEN.search, verb_commands())])
def test_a_verb_of_the_docs_stays_here(server: Server, capsys: pytest.CaptureFixture[str], command: str) -> None:
    Path("docs").symlink_to(Path(__file__).parents[2] / "docs")
    words = shlex.split(command.replace("localhost:8000", server.url.split("/")[2]))
    code = main([word for word in words if word != "--network"])
    assert server.requests == []
    assert code == 2
    assert "--network" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("open_machine")
@pytest.mark.parametrize("command", list_experiments())
def test_an_experiment_of_the_docs_stays_here(run: Callable[..., Ended], tmp_path: Path, command: str) -> None:
    command = command.replace("FOLDER", str(tmp_path)).replace("trainer=gpu", "trainer=cpu")
    words = [word for word in shlex.split(command) if word != "network=true"]
    more = {"data.root=": "data.download=true", "scale=paper": "model.device=cpu"}
    ended = run(*words, *(setting for named, setting in more.items() if named in command))
    assert ended.returncode == 2, ended.stderr
    assert "network=true" in ended.stderr or "no such file" in ended.stderr  # which no origin has
