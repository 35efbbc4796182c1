"""The experiments, a Hydra application: `python experiments/run.py +exp=NAME [setting=value ...]`.

Hydra composes the settings, sweeps, launches and completes. Large libraries are imported only when an experiment runs,
so that help, configurations and faults of settings appear at once.
"""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from traceback import walk_tb

# Python puts the folder of a script on sys.path, where experiments/mars would hide mars. The repository replaces it.
HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent) if Path(entry).resolve() == HERE else entry for entry in sys.path]

import hydra  # noqa: E402
from hydra.core.hydra_config import HydraConfig  # noqa: E402
from hydra.errors import HydraException  # noqa: E402
from hydra.types import RunMode  # noqa: E402
from omegaconf import DictConfig  # noqa: E402
from omegaconf.errors import OmegaConfBaseException  # noqa: E402
from yaml import YAMLError  # noqa: E402

from core.configs import CONFIGS  # noqa: E402
from core.errors import SHOWN_OF_AN_ERROR  # noqa: E402
from core.threads import share_cores  # noqa: E402
from report.terminal import open_streams, say  # noqa: E402

FAILED, FAULT, INTERRUPTED = 1, 2, 130  # exit codes
HYDRA_RAISES = "HYDRA_FULL_ERROR"  # else Hydra prints the traceback of an exception that is not its own, and exits
SHOW_TRACES = "EXPERIMENTS_FULL_ERROR"  # what the user set HYDRA_RAISES to
WIDTH = 20  # of the column of names
DESCRIPTION = re.compile(r"^description: *(.+?) *$", re.MULTILINE)
# Options of Hydra that run no experiment
INSTEAD_OF_A_RUN = ("-h", "--help", "--hydra-help", "--version", "-c", "--cfg", "-i", "--info", "-sc")
INSTEAD_OF_A_RUN += ("--shell-completion", "--experimental-rerun")


def main() -> None:
    """The command line. Exit codes: 0 success, 1 failure, 2 bad input or settings, 130 interrupted.

    An error of composition ends with Hydra's message and exit code.
    """
    open_streams()
    share_cores(os.environ)
    if not names_experiment(sys.argv[1:]):
        print(f"usage: python experiments/run.py +exp=NAME [setting=value ...]\n\n{list_experiments()}")
        sys.exit(FAULT)
    os.environ.setdefault(SHOW_TRACES, os.environ.get(HYDRA_RAISES, ""))
    os.environ[HYDRA_RAISES] = "1"
    try:
        run_experiment()
    except KeyboardInterrupt:
        say("interrupted: run the same command again to continue; finished stages are kept")
        sys.exit(INTERRUPTED)
    except (HydraException, OSError, ValueError, KeyError, YAMLError) as error:
        if os.environ[SHOW_TRACES]:
            raise
        sys.exit(report_fault(error))


def report_fault(error: Exception) -> int:
    """Prints why Hydra cannot begin, in Hydra's words if the fault is one that it knows; returns the exit code."""
    if not isinstance(error, HydraException):
        frames = [frame.f_locals for frame, _ in walk_tb(error.__traceback__)]
        files = [str(values["full_path"]) for values in frames if "full_path" in values]  # Hydra's, while it reads one
        message = " ".join(str(error).split())[:SHOWN_OF_AN_ERROR]
        say(f"{files[-1] if files else 'the settings'} cannot be read: {type(error).__name__}: {message}")
        return FAULT
    say(str(error))
    if isinstance(error.__cause__, OmegaConfBaseException):
        say(str(error.__cause__))
    say("\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.")
    return FAILED


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="run")
def run_experiment(config: DictConfig) -> int:
    """Runs an experiment and exits with its exit code. In a job of a sweep, returns the exit code instead."""
    from experiments.runner.execution import execute

    exit_code = execute(config)
    if HydraConfig.get().mode == RunMode.RUN:
        sys.exit(exit_code)
    return exit_code


def names_experiment(words: Sequence[str]) -> bool:
    """Whether a command line names an experiment, or asks Hydra for something other than a run.

    >>> names_experiment(["-m", "+exp=cdm_dialogue"]), names_experiment(["--cfg=job"]), names_experiment(["seed=1"])
    (True, True, False)
    """
    starts = [word.partition("=")[0].lstrip("+") for word in words]
    return any(start in ("exp", *INSTEAD_OF_A_RUN) for start in starts)


def list_experiments() -> str:
    """Lists the experiments, each on a line with its description."""
    lines: list[str] = []
    for file in sorted((CONFIGS / "exp").glob("*.yaml")):
        described = DESCRIPTION.search(file.read_text(encoding="utf-8"))
        lines.append(f"  {file.stem:<{WIDTH}}{described[1] if described else ''}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
