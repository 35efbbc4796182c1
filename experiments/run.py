"""The command line: `judge VERB [FILE] [setting=value ...]`, and `python experiments/run.py +exp=NAME ...`.

Heavy libraries are imported only when an experiment is built, so help and settings errors appear at once.
"""

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Mapping, MutableMapping, Sequence
from importlib.metadata import version
from pathlib import Path

# Python puts the folder of a script on sys.path, where experiments/mars would hide mars. The repository replaces it.
HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent) if Path(entry).resolve() == HERE else entry for entry in sys.path]

from core.configs import CONFIGS  # noqa: E402
from core.errors import SettingError, printable  # noqa: E402
from core.extras import named_extras  # noqa: E402
from experiments.runner import words  # noqa: E402
from experiments.runner.redaction import redact  # noqa: E402
from judge.terminal import open_streams, program, say  # noqa: E402


def console() -> int:
    """The command `judge`."""
    open_streams()
    share_cores(os.environ)
    return main(sys.argv[1:])


def main(argv: Sequence[str]) -> int:
    """Runs the command line; returns the exit code: 0 success, 1 failure, 2 bad input or settings, 130 interrupted."""
    arguments, unknown = parser().parse_known_intermixed_args(argv)
    folders = [CONFIGS, *(Path(os.path.realpath(folder)) for folder in arguments.config_dir)]
    if arguments.version:
        print(version("judging-generated-text"))
        return 0
    settings: list[str] = []
    try:
        _check_options(unknown, argv, folders)
        if arguments.shell_completion:
            return complete_shell(arguments.settings, folders)
        settings = words.as_settings(arguments.settings, words.descriptions(folders), arguments.multirun)
        if arguments.help:
            print(printable(redact(experiment_text(settings, folders) or help_text(folders))))
            return 0
        with named_extras():
            return _run(arguments, settings, folders)
    except SettingError as fault:
        called = " ".join([*program(), *(words.name_verb(arguments.settings) if settings else ())])
        print(printable(redact(f"{fault}\n`{called} --help` lists the settings")), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: run the same command again to continue; finished stages are kept", file=sys.stderr)
        return 130


def _check_options(unknown: Sequence[str], argv: Sequence[str], folders: Sequence[Path]) -> None:
    if unknown:
        option = unknown[0]
        name, _, value = option.lstrip("-").partition("=")
        value = value or next((word for word in argv[argv.index(option) + 1 :][:1] if word and word[0] != "-"), "VALUE")
        name = "metrics" if name == "metric" and "," in value else name
        raise SettingError(f"{option} is no option; a setting has no dashes: {name}={value}")
    for folder in folders:
        if not os.path.isdir(folder):  # noqa: PTH112, Path.is_dir raises for a name that is too long
            raise SettingError(f"--config-dir must be a folder, but there is no {folder}")


def _run(arguments: argparse.Namespace, settings: Sequence[str], folders: Sequence[Path]) -> int:
    """Runs an experiment or a sweep, or says what it needs, or prints its configuration."""
    if not any(map(words.is_experiment, settings)):
        lacks = f"{' '.join(arguments.settings) or 'the command'} lacks a verb or an experiment"
        print(printable(f"{lacks}\n\n{experiments_text(folders)}\n\n{EXAMPLES}"), file=sys.stderr)
        return 2
    from omegaconf import OmegaConf

    from experiments.runner.configuration import compose_run, compose_settings, expand_sweep

    if arguments.cfg:
        config = compose_settings(settings, folders)
        own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        print(redact(OmegaConf.to_yaml(own)), end="")
        return 0
    jobs = expand_sweep(settings, folders) if arguments.multirun else [settings]
    configs = [compose_run(job, folders, arguments.allow) for job in jobs]
    if configs[0].dry_run:
        from experiments.runner.doctor import examine

        return examine(configs)
    from experiments.runner.trust import list_reads

    reads = (read for config in configs for read in list_reads(config, settings)) if arguments.config_dir else ()
    for read in dict.fromkeys(reads):
        say(f"a file of --config-dir names what the run reads: {read}")
    given = [f"--config-dir={folder}" for folder in folders[1:]] + [f"--allow={name}" for name in arguments.allow]
    given += arguments.settings
    if words.name_extra(str(OmegaConf.select(configs[0], "experiment._target_"))) == "papers":
        say(f"{configs[0].name}: loading PyTorch and other libraries, which takes seconds")
    if arguments.multirun:
        from experiments.runner.sweep import run_sweep

        return run_sweep(jobs, configs, settings, given, folders, arguments.allow)
    from experiments.runner.execution import execute

    return execute(configs[0], given, arguments.allow)


def share_cores(environment: MutableMapping[str, str]) -> None:
    """Makes GNU's OpenMP threads sleep soon while they wait, unless the environment says how they wait.

    It must be set before PyTorch is imported. Threads that spin make small models up to fifty times slower when another
    process takes a core (`benchmarks/bench_threads.py`).
    """
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & set(environment):
        environment["GOMP_SPINCOUNT"] = "1000"


def parser() -> argparse.ArgumentParser:
    """Parses the options, which have Hydra's names; every other argument is a setting."""
    options = argparse.ArgumentParser(prog=program()[-1], usage=usage(), add_help=False, allow_abbrev=False)
    options.add_argument("settings", nargs="*")
    options.add_argument("-h", "--help", action="store_true")
    options.add_argument("--version", action="store_true")
    options.add_argument("-m", "--multirun", action="store_true")
    options.add_argument("--config-dir", "-cd", action="append", default=[])
    options.add_argument("--allow", action="append", default=[])
    options.add_argument("--cfg", "-c", choices=["job"])
    options.add_argument("--shell-completion", "-sc", action="store_true")
    return options


ZSH = """_judge() { compadd -Q -S '' -- $(COMP_LINE="${words[1,CURRENT]}" judge -sc query=bash) }
compdef _judge judge"""  # Hydra's script for zsh is that of bash, which zsh does not run


def complete_shell(settings: Sequence[str], folders: Sequence[Path]) -> int:
    """Lets Hydra complete the command line that a shell has in COMP_LINE, or print what `-sc install=bash` asks for."""
    from hydra import initialize_config_dir
    from hydra._internal.hydra import Hydra  # has no public name
    from hydra.core.global_hydra import GlobalHydra

    import experiments.runner.configuration  # noqa: F401, it stores the group scale

    if "COMP_LINE" in os.environ:
        os.environ["COMP_LINE"], verbs = words.complete(os.environ["COMP_LINE"], words.descriptions(folders))
        if not os.environ["COMP_LINE"]:
            print(("\n" if "query=fish" in settings else " ").join(verbs))
            return 0
    if "install=zsh" in settings:
        print(ZSH)
        return 0
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        try:
            Hydra("completion", GlobalHydra.instance().config_loader()).shell_completion("run", list(settings))
        except ValueError as error:  # neither install nor query, or another shell
            raise SettingError(str(error)) from error
    return 0


def help_text(folders: Sequence[Path]) -> str:
    """The text that --help prints."""
    groups = words.group_options(folders)
    keys = {f"{'+' if group == 'sweep' else ''}{group}=": names for group, names in groups.items() if group != "exp"}
    listed = list_lines("Config groups", {key: ", ".join(names) for key, names in keys.items()})
    return "\n\n".join((f"usage: {usage()}", experiments_text(folders), listed, SETTINGS, EXAMPLES))


def usage(verb: str = "VERB [FILE]") -> str:
    """The form of a command."""
    return f"{' '.join(program())} {verb} [setting=value ...]"


def experiment_text(settings: Sequence[str], folders: Sequence[Path]) -> str:
    """The config files of the experiment, as far as they hold settings; empty where none is named."""
    named = [setting.partition("=")[2] for setting in settings if words.is_experiment(setting)]
    if not named:
        return ""
    from experiments.runner.configuration import list_files

    verbs = {verb.experiment: f"{name}{' [FILE]' if verb.file else ''}" for name, verb in words.VERBS.items()}
    called = verbs.get(named[0], f"+exp={named[0]}")
    sections = [f"usage: {usage(called)}\n{words.descriptions(folders).get(named[0], '')}"]
    for name, package, text in list_files(settings, folders):
        group, _, choice = name.rpartition("/") if name.startswith("hydra/") else name.partition("/")
        title = f"{group}={choice}" + (f", set by {package}.NAME=VALUE" if package else "")
        shown = HIDDEN.sub("", text).strip()
        sections += [f"{title if choice else 'every experiment'}\n{textwrap.indent(shown, '  ')}"] if shown else []
    return "\n\n".join(sections)


HIDDEN = re.compile(  # how a configuration is put together, and what it builds
    r"^(?:(?:defaults|experiment|hydra|description):.*\n(?:[ #].*\n|\n)*| *_[a-z]+_:.*\n|# @package.*\n)", re.MULTILINE
)


SETTINGS = """Common settings (config.yaml in the run folder lists all settings; --cfg job prints them)
  seed=1                    seed for python, numpy and torch
  run_dir=outputs/mine      run folder; name the folder of a stopped run to continue it
  outputs=DIR               root of run folders and kept stages
  network=true              allow downloads from the model hub
  trainer.devices=2         hardware: trainer.accelerator, .devices, .num_nodes, .strategy, .precision
  logger=wandb              W&B offline; logger.mode=online uploads. Others: logger=csv, logger=none

Options (as in Hydra)
  -m                        run a sweep: setting=1,2,3 or +sweep=NAME; with Hydra's plugins also
                            hydra/launcher=joblib, submitit_local, slurm
  VERB --help               list the settings of an experiment with their comments
  --version                 print the version
  --cfg job                 print the configuration
  --config-dir DIR          a folder with more experiments and settings, organised like configs/
  --allow PACKAGE           lets configurations name objects of this package in _target_; without it only those that
                            configs/ names. Give it only for code that you trust
  -sc install=bash          print what makes bash complete commands; also zsh, fish
  HYDRA_FULL_ERROR=1        (environment) print tracebacks on the terminal; run.log always has them"""


def experiments_text(folders: Sequence[Path]) -> str:
    """The verbs, then the experiments by paper, then the others, one per line."""
    found = words.descriptions(folders)
    sections = {"Verbs": {name: verb.line or found[verb.experiment] for name, verb in words.VERBS.items()}}
    sections |= {paper: {} for paper in PAPERS.values()}
    for name, line in found.items():
        if not words.find_verb(name):
            paper = next((paper for start, paper in PAPERS.items() if name.startswith(start)), "Other experiments")
            sections.setdefault(paper, {})[f"+exp={name}"] = line
    return "\n\n".join(list_lines(title, lines) for title, lines in sections.items())


def list_lines(title: str, lines: Mapping[str, str]) -> str:
    """A list under its title."""
    return "\n".join((title, *(f"  {name:<{WIDTH}}{line}" for name, line in lines.items())))


WIDTH = 26  # of the left column of --help
PAPERS = {"ctrleval": "CTRLEval", "mars": "MARS", "cdm": "CDM", "oumg": "OUMG", "guided": "OUMG"}  # by starts of names
EXAMPLES = """Examples
  judge compare docs/examples/summaries.jsonl metrics=rouge_l,bleu
  judge score in.jsonl metric=word_count output=out.jsonl
  python experiments/run.py -m +exp=cdm_dialogue seed=0,1,2"""


if __name__ == "__main__":
    sys.exit(console())
