"""The command `judge VERB [FILE] --name value ...`: every flag is a setting of the verb's own function.

A verb in Python and on the command line is the same call. Its libraries are imported only after the words of the
command are read, so that help and faults of settings appear at once.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any

from core.errors import (
    InputError,
    MissingModelError,
    OutsideError,
    QuestionError,
    SettingError,
    fault,
    printable,
    suggest_similar,
    write_settings_by,
)
from core.extras import suggest_extra
from core.hosts import set_network
from core.objects import find_object
from core.signature import PACKAGE, version
from core.threads import share_cores
from judge.flags import (
    NEEDED,
    Flag,
    Given,
    Parser,
    add_flags,
    list_fields,
    list_parameters,
    read_flags,
    write_flag,
)
from judge.input_flags import SetFiles, SystemFiles, TextFiles, read_inputs
from judge.metric_flags import JudgeName, MetricNames, describe_metrics, plan_given
from report.terminal import describe_failure, open_streams, say, show_messages, show_steps

FINE, FAILED, BAD_INPUT, FOUND, INTERRUPTED = 0, 1, 2, 3, 130  # 3: a condition of --fail_if failed
STANDARD = "-"
SURROGATE = re.compile("[\ud800-\udfff]")  # Python's stand-in for a byte that is not UTF-8
HELP = ("-h", "--help")
COMPLETION = "--completion"


@dataclass(frozen=True)
class Verb:
    """A verb of the command, which calls the function of its name in `judge/verbs`."""

    # what it does, for `judge --help`
    line: str
    # its parameter that FILE gives; "" for none
    file: str = ""
    # what may stand in place of FILE, and what names metrics
    named: tuple[type, ...] = ()
    # dataclasses whose fields the function takes by name
    settings: tuple[str, ...] = ()


VERBS = {
    "score": Verb(
        "Score a file of your own texts with one metric, or several",
        file="source",
        named=(TextFiles, SystemFiles, MetricNames),
    ),
    "agree": Verb(
        "Find out which metric agrees best with human ratings, with intervals and tests",
        file="source",
        named=(TextFiles, SystemFiles, MetricNames),
        settings=(
            "meta_eval.ranking.RankingSettings",
            "judge.labelling.Labelling",
        ),
    ),
    "compare": Verb(
        "Compare systems on the same inputs by any metric, also with few human ratings",
        file="source",
        named=(TextFiles, SystemFiles, MetricNames),
    ),
    "prefer": Verb(
        "Rank systems by preferences of people or of a chat model, and see which metrics prefer as they do",
        file="source",
        named=(SystemFiles, SetFiles, MetricNames, JudgeName),
    ),
    "audit": Verb(
        "Find out what fools metrics: length and other cheap cues, unnoticed damage, harmless edits",
        file="source",
        named=(TextFiles, SystemFiles, SetFiles, MetricNames),
    ),
    "plan": Verb(
        "Plan how many inputs, systems, raters and labels a study needs",
        file="pilot",
        named=(SetFiles,),
        settings=("judge.label_plans.PlanSettings",),
    ),
    "label": Verb(
        "Draw texts for people to label, and write a blind sheet that judge agree --labels reads back",
        file="source",
        named=(SystemFiles,),
    ),
    "steer": Verb("Continue prompts with a guide and without, with the candidates of each step"),
    "demo": Verb(
        "A page in a browser that steers, judges and compares", settings=("judge.demo.settings.DemoSettings",)
    ),
}


@dataclass(frozen=True)
class Common:
    """The settings that every verb has."""

    # a YAML file with settings, by the names of these flags
    config: str | None = None
    # a folder for the page of the result, its plots and tables
    report: str | None = None
    # kinds of plots in the report: png, svg, pdf
    plots: Sequence[str] = ("png",)
    # lets metrics name objects of this package; give it only for code that you trust
    allow: Sequence[str] = ()
    # lets other machines be asked: the model hub, endpoints, origins of public sets
    network: bool = False


# ---- the program ----------------------------------------------------------------------------------------------------


def console() -> int:
    """The command `judge`."""
    open_streams()
    share_cores(os.environ)
    code = main(sys.argv[1:])
    if code == INTERRUPTED:  # threads that wait for an answer must not hold the end up
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def main(words: Sequence[str]) -> int:
    """Runs a command; returns the exit code.

    0 success, 1 failure, 2 bad input or settings, 3 a condition of `--fail_if` failed, 130 interrupted.
    """
    first = words[0] if words else ""
    if first == "--version":
        print(version(PACKAGE))
        return FINE
    if first in HELP:
        print(describe_verbs())
        return FINE
    for word in words:
        if SURROGATE.search(word):
            say(f"{word} must be UTF-8 text, found other bytes: rename it")
            return BAD_INPUT
    if first not in (*VERBS, COMPLETION):
        say(refuse_verb(first))
        return BAD_INPUT
    try:
        with write_settings_by(write_flag), suggest_extra("demo" if first == "demo" else None):
            if first == COMPLETION:
                print(complete_by(words[1:]))
                return FINE
            return run_verb(first, [*words[1:]])
    except MissingModelError as error:
        say(describe_missing(error, words))
        return BAD_INPUT
    except InputError as error:
        say(str(error))
        return BAD_INPUT
    except QuestionError as error:
        say(f"{error.question}{propose(words, error.answers)}")
        return BAD_INPUT
    except SettingError as error:
        say(f"{error}\n`judge {first} --help` lists the settings")
        return BAD_INPUT
    except OutsideError as error:
        say(str(error))
        return FAILED
    except KeyboardInterrupt:
        say("interrupted: run the same command again to continue; finished stages are kept")
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            say(f"{error.filename}: {error.strerror}")
            return BAD_INPUT
        say(describe_failure(error, "".join(traceback.format_exception(error))))
        return FAILED


def run_verb(name: str, words: Sequence[str]) -> int:
    """Reads the words after the verb, calls the verb's function and shows the result; returns the exit code."""
    asks_help = any(word in HELP for word in words)
    if not asks_help:
        check_file(VERBS[name], words)
    own, named = list_flags(name)
    flags = {**own, **named}
    parser = make_parser(name, flags)
    given = read_flags(parser, [word for word in words if word not in HELP], flags)
    if asks_help:
        parser.epilog = describe_metrics(given) if "metrics" in flags else None
        print(parser.format_help())
        return FINE
    set_defaults(given)
    with show_messages():
        began = time.perf_counter()
        if given.get("report"):
            from judge.reports import check_report

            check_report(given)
        result = call_verb(name, own, given)
        if result is None:
            return FINE
        deliver(result, name, words, given, time.perf_counter() - began)
    return FOUND if result.findings else FINE


def check_file(verb: Verb, words: Sequence[str]) -> None:
    """Raises InputError for a FILE that does not exist, before slow libraries are imported."""
    file = words[0] if words else STANDARD
    is_path = file != STANDARD and not file.startswith("--") and "=" not in file
    if not (verb.file and is_path) or os.path.lexists(file):
        return
    from data.workbooks import split_sheet

    path, _ = split_sheet(file)
    if not os.path.lexists(path):
        raise InputError([fault(file, 0, "no such file")])


def list_flags(name: str) -> tuple[dict[str, Flag], dict[str, Flag]]:
    """Lists the flags of a verb, by name: the flags of its function, and the flags of `Common` and `Verb.named`."""
    verb = VERBS[name]
    named: dict[str, Flag] = {}
    for kind in (Common, *verb.named):
        named |= {flag.name: flag for flag in list_fields(kind)}
    parameters = [*list_parameters(find_verb(name))]
    for kind in verb.settings:
        parameters += list_fields(find_object(kind))
    own = {flag.name: flag for flag in parameters if flag.name != verb.file and flag.name not in named}
    if stages := own.get("stages"):
        own["stages"] = replace(stages, comment=f"{stages.comment} null keeps none", default=kept_stages())
    return own, named


def find_verb(name: str) -> Any:
    """Finds the function of a verb by the verb's name."""
    return find_object(f"judge.verbs.{name}.{name}")


def make_parser(name: str, flags: Mapping[str, Flag]) -> Parser:
    """Makes the parser of a verb; its help shows every flag, its meaning, and its default."""
    verb = VERBS[name]
    common = [flag.name for flag in list_fields(Common)]
    is_optional = TextFiles in verb.named or SetFiles in verb.named
    file = "" if not verb.file else " [FILE]" if is_optional else " FILE"
    usage = f"judge {name}{file} [--name value ...]"
    parser = Parser(prog=f"judge {name}", usage=usage, description=f"{verb.line}.")
    add_flags(parser.add_argument_group("settings"), [flag for flag in flags.values() if flag.name not in common])
    add_flags(parser.add_argument_group("of every verb"), [flags[flag_name] for flag_name in common])
    return parser


def kept_stages() -> str:
    """Returns the folder that keeps scores and replies for later commands."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(cache) / PACKAGE / "stages")


def set_defaults(given: Given) -> None:
    """Sets the network, and environment variables that libraries read at import, unless the user has set them."""
    set_network(given.get("network"))
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tokenizers would warn in forked data loaders
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")


# ---- the call -------------------------------------------------------------------------------------------------------


def call_verb(name: str, own: Mapping[str, Flag], given: Given) -> Any:
    """Calls the verb's function with the settings of the command line. Raises SettingError and InputError."""
    from core.progress import shown
    from judge.yaml_objects import importable

    trusted = importable.set(frozenset(given.get("allow")))
    try:
        settings = collect_settings(name, own, given)
        with show_steps() as progress:
            before = shown.set(progress)
            try:
                return find_verb(name)(**settings)
            finally:
                shown.reset(before)
    finally:
        importable.reset(trusted)


def collect_settings(name: str, own: Mapping[str, Flag], given: Given) -> dict[str, Any]:
    """Collects the arguments of the verb's function. Raises SettingError and InputError."""
    verb = VERBS[name]
    settings = {flag: given.get(flag) for flag in own if given.has(flag)}
    parameters = [*signature(find_verb(name)).parameters]
    if "stages" in own:
        settings["stages"] = given.get("stages")
    if "network" in parameters:
        settings["network"] = given.get("network")
    if MetricNames in verb.named:
        settings |= plan_given(given, parameters, network=given.get("network"), stages=settings["stages"])
    settings |= read_inputs(name, verb.file, given, verb.named)
    for flag in own.values():
        if flag.default is NEEDED and flag.name not in settings:
            raise SettingError(f"--{flag.name} is needed: {flag.comment}")
    return settings


# ---- what is shown --------------------------------------------------------------------------------------------------


def deliver(result: Any, name: str, words: Sequence[str], given: Given, seconds: float) -> None:
    """Prints the tables and notes of a result, and writes its report if the command asks for one."""
    from report import terminal

    study = result.present() if hasattr(result, "present") else result
    is_printed = name == "score" and str(given.get("output")) == STANDARD
    study.print(terminal.console(stderr=is_printed))
    if given.get("report"):
        from judge.reports import write_verb

        path = write_verb(study, name, ["judge", name, *words], given, seconds)
        say(f"wrote {path}")


def describe_missing(error: MissingModelError, words: Sequence[str]) -> str:
    """Writes the message for a missing model: the flag that names the model, and the flag that fetches it."""
    typed = (before for before, word in pairwise(words) if word == error.name and before.startswith("--"))
    flag = next(typed, error.setting)
    fetch = "; --network fetches it" if error.fetchable and "--network" not in words else ""
    return f"{flag} {error.name}: {error.what}{fetch}".lstrip()


def propose(words: Sequence[str], answers: Mapping[str, Sequence[str]]) -> str:
    """Writes the command with the settings that answer a question.

    >>> propose(["agree", "my file.csv"], {"people": ["ann", "ben"]})
    ". Say which, such as: judge agree 'my file.csv' --people ann ben"
    """
    if not answers:
        return ""
    flags = [write_flag(name, values) for name, values in answers.items()]
    return f". Say which, such as: {shlex.join(['judge', *words])} {' '.join(flags)}"


def complete_by(words: Sequence[str]) -> str:
    """Returns the script by which a shell completes verbs, flags and files.

    Raises SettingError for an unknown shell.
    """
    if find_spec("shtab") is None:
        raise SettingError(f"{COMPLETION} needs shtab: pip install shtab")
    shtab = import_module("shtab")
    shells = shtab.SUPPORTED_SHELLS
    if len(words) != 1 or words[0] not in shells:
        raise SettingError(f"{COMPLETION} must be followed by one of {', '.join(shells)}")
    program = Parser(prog="judge")
    verbs = program.add_subparsers()
    for name, verb in VERBS.items():
        own, named = list_flags(name)
        parser = verbs.add_parser(name, help=verb.line)
        add_flags(parser, [*own.values(), *named.values()])
        if verb.file:
            parser.add_argument("FILE", nargs="?").complete = shtab.FILE  # pyright: ignore[reportAttributeAccessIssue]
    return shtab.complete(program, shell=words[0])


def refuse_verb(word: str) -> str:
    """Writes the error message for a first word that is not a verb."""
    similar = suggest_similar(word, [*VERBS]) if word else ""
    said = f"{printable(word)} is no verb{similar}" if word else "the command lacks a verb"
    return f"{said}\n\n{describe_verbs()}"


def describe_verbs() -> str:
    """Writes the text of `judge --help`."""
    lines = "\n".join(f"  {name:<10}{verb.line}" for name, verb in VERBS.items())
    return f"usage: judge VERB [FILE] [--name value ...]\n\n{lines}\n\n{MORE}"


MORE = """judge VERB --help lists the settings of a verb, judge score --metric NAME --help those of a metric.
judge --version prints the version, judge --completion bash a script by which bash completes (also zsh, tcsh).

Examples
  judge compare docs/examples/summaries.jsonl --metrics rouge_l bleu
  judge score in.jsonl --metric word_count --output out.jsonl

python experiments/run.py trains metrics and runs the papers' experiments."""
