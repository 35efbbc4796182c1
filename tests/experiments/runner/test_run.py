"""The command line: exit codes, messages, what a terminal shows, and the run folder."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from core.threads import share_cores
from tests.experiments.conftest import TOY

Run = Callable[..., Any]
ROOT = Path(__file__).parents[3]
HEAVY = ("torch", "pytorch_lightning", "transformers", "matplotlib", "wandb", "numpy", "scipy")

# Lightning and torch have warnings for one another; the runner sends them to run.log
pytestmark = pytest.mark.filterwarnings("default")


def test_help_faults_and_the_first_line_come_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    """Importing PyTorch, Lightning and scikit-learn takes seconds: a run says so first."""
    code = f"""
import sys
import report.terminal
from experiments.run import main
def show(line):
    print(line, *(name for name in {HEAVY} if name in sys.modules))
    sys.exit()
report.terminal.say = show
composed = "+exp=cdm_dialogue"
for words in ([], ["--help"], [composed, "--cfg", "job"], [composed, "sede=3"], [composed, "hydra.run.dir=here"]):
    assert not [name for name in {HEAVY} if name in sys.modules], words
    sys.argv = ["experiments/run.py", *words]
    try:
        main()
    except SystemExit:
        pass
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert "\ncdm_dialogue: loading PyTorch and other libraries, which takes seconds\n" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, ["usage: python experiments/run.py +exp=NAME", "\n  cdm_commongen ", "\n  mars_story "]),
        (["--help"], 0, ["python experiments/run.py +exp=NAME", "trainer: auto, cpu, gpu", "hydra.run.dir=FOLDER"]),
        (["+exp=toy", "--cfg", "job"], 0, ["sentences:\n  _target_: toy.sentences\n  ending: ${ending}"]),
        (["+exp=toi"], 1, ["Could not find 'exp/toi'"]),
        (["+exp=toy", "sede=3"], 1, ["Key 'sede' is not in struct"]),
    ],
)
def test_what_is_printed_without_a_run(run: Run, arguments: list[str], code: int, words: list[str]) -> None:
    ended = run(*arguments)
    assert ended.returncode == code
    assert all(word in ended.stdout + ended.stderr for word in words)
    assert "Traceback" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-sc"], "the settings cannot be read: ValueError: Expecting one subcommand"),
        (["+exp=toy", f"{'a' * 5000}=1"], "the settings cannot be read: OSError: [Errno 36] File name too long"),
        (["+exp=binary"], "FOLDER/exp/binary.yaml cannot be read: UnicodeDecodeError: 'utf-8' codec can't decode"),
        (["+exp=code"], "FOLDER/exp/code.yaml cannot be read: ConstructorError: could not determine a constructor"),
    ],
)
def test_what_hydra_cannot_read_ends_with_2_and_one_line(
    run: Run, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp/binary.yaml").write_bytes(b"\x80\xff")
    (tmp_path / "exp/code.yaml").write_text('a: !!python/object/apply:os.system ["echo"]\n')
    more = () if arguments[0] == "-sc" else (f"hydra.searchpath=[file://{tmp_path}]",)
    ended = run(*arguments, *more)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith(message.replace("FOLDER", str(tmp_path)))
    assert len(line) < 500


def test_a_fault_of_the_input_ends_with_2_and_its_message(run: Run, tmp_path: Path) -> None:
    ended = run("+exp=toy", "ending=faults", "hydra.run.dir=here")
    assert ended.returncode == 2
    assert ended.stderr == "in.jsonl:2: text is empty\nin.jsonl:5: broken JSON\n"
    assert not (tmp_path / "here" / "results.json").exists()


def test_an_endpoint_that_is_down_ends_with_1_and_its_message(run: Run) -> None:
    judge = "{_target_: baselines.llm_judge.LLMJudge.from_settings, model: m, base_url: ${url}, retries: 0}"
    experiment = f"+experiment={{_target_: toy.ask, judge: {judge}}}"
    ended = run("+exp=toy", "~experiment", experiment, "+url='http://127.0.0.1:1/v1'")
    assert ended.returncode == 1
    lines = [line for line in ended.stderr.splitlines() if "llm_judge: 2 texts" not in line and "toy, seed" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("127.0.0.1:1/v1 cannot be reached: ")


@pytest.mark.parametrize("name", ["", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"])
def test_threads_sleep_soon_unless_the_environment_says_how_they_wait(name: str) -> None:
    environment = {name: "3"} if name else {}
    share_cores(environment)
    assert environment == ({name: "3"} if name else {"GOMP_SPINCOUNT": "1000"})


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        ("failure", "RuntimeError: the toy broke"),
        ("'not an outcome'", "TypeError: an experiment must return a Study"),
    ],
)
def test_a_failure_ends_with_1_and_a_traceback_in_the_log(run: Run, tmp_path: Path, ending: str, message: str) -> None:
    ended = run("+exp=toy", f"ending={ending}", "hydra.run.dir=here")
    assert ended.returncode == 1
    assert f"failed: {message}" in ended.stderr
    assert "here/run.log" in ended.stderr
    assert "Traceback" not in ended.stderr
    log = (tmp_path / "here" / "run.log").read_text()
    assert "Traceback" in log
    assert message in log
    assert not (tmp_path / "here" / "results.json").exists()


def test_the_run_folder_is_whole(run: Run, tmp_path: Path) -> None:
    ended = run("+exp=toy", "seed=5", "hydra.run.dir=here")
    assert ended.returncode == 0, ended.stderr
    folder = tmp_path / "here"
    assert {path.name for path in tmp_path.iterdir()} == {"here", "outputs"}
    assert {path.name for path in (tmp_path / "outputs").iterdir()} == {"stages"}
    files = "results.json scores.jsonl report.html config.yaml run.log plots tables models csv .run"
    assert {path.name for path in folder.iterdir()} == set(files.split())
    results = json.loads((folder / "results.json").read_text(), parse_constant=pytest.fail)
    assert (results["experiment"], results["signature"], results["seed"]) == ("toy", "toy|gamma:0.5", 5)
    assert [r["metric"] for r in results["table"]] == ["count", "noise", "constant"]
    assert results["timings"]["training"] > 0
    assert results["command"][2:] == [f"--config-dir={TOY}", "+exp=toy", "seed=5"]
    assert "seed: 5" in (folder / "config.yaml").read_text()
    assert len((folder / "scores.jsonl").read_text().splitlines()) == 12
    assert (folder / "models" / "expert" / "weight.pt").is_file()
    log = (folder / "run.log").read_text()
    assert "training with gamma 0.5" in log
    assert "a library's warning" in log
    assert "GPU available" not in log + ended.stderr  # libraries are quiet
    assert "the expert is a <toy>" in ended.stdout


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    """A run at a terminal that Ctrl-C ends: its exit code, what the terminal showed, and its folder."""
    folder = tmp_path_factory.mktemp("stopped")
    primary, secondary = pty.openpty()
    command = [sys.executable, str(ROOT / "experiments" / "run.py"), "--config-dir", str(TOY)]
    command += ["+exp=toy", "ending=interrupt", "hydra.run.dir=here"]
    environment = {**os.environ, "PYTHONPATH": str(TOY), "TERM": "xterm", "COLUMNS": "100"}
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)  # which background jobs of a shell ignore
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=secondary, stderr=secondary)
    signal.signal(signal.SIGINT, heeded)
    os.close(secondary)
    seen, is_stopped = b"", False
    with suppress(OSError):  # the terminal is closed at the other end
        while part := os.read(primary, 10_000):  # bars move all the time
            seen += part
            if not is_stopped and (folder / "here" / "waiting").exists():
                process.send_signal(signal.SIGINT)
                is_stopped = True
    return process.wait(), seen.decode(), folder / "here"


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(stopped: tuple[int, str, Path]) -> None:
    code, shown, folder = stopped
    assert code == 130, shown
    assert "run the same command again to continue" in shown
    assert "Traceback" not in shown
    assert not (folder / "results.json").exists()


def test_a_terminal_shows_bars_and_no_librarys_noise(stopped: tuple[int, str, Path]) -> None:
    _, shown, _ = stopped
    assert "waiting" in shown
    assert "training with gamma" in shown
    assert not [noise for noise in ("v_num", "Epoch", "GPU available", "it/s", "Writing") if noise in shown]
