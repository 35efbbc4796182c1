"""The command `judge VERB [FILE] --name value ...`: every flag is a parameter of the verb's own function.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import cyclopts
from cyclopts import App, CycloptsError, MissingArgumentError
from cyclopts import Parameter as Usual
from pydantic import ValidationError

import judge
from core.errors import (
    InputError,
    MissingModelError,
    OutsideError,
    QuestionError,
    SettingError,
    blame_file,
    broken_rules,
    fault,
    printable,
    suggest_similar,
    write_settings_by,
)
from core.extras import suggest_extra
from core.signature import PACKAGE, version
from core.threads import share_cores
from judge.input_flags import IN_PLACE, SET, SYSTEM_FILES, TEXT_FILES, read_inputs
from judge.metric_flags import JUDGE, METRICS, add_inner, describe_metrics, plan_named
from judge.options import FILE, INNER, Place, Strings, declare_command, flag, spell_out
from report.terminal import console as make_console
from report.terminal import (
    describe_failure,
    open_streams,
    say,
    set_library_defaults,
    show_messages,
    show_steps,
)

FINE, FAILED, BAD_INPUT, FOUND, INTERRUPTED = 0, 1, 2, 3, 130  # 3: a condition of --fail_if failed
STANDARD = "-"
SURROGATE = re.compile("[\ud800-\udfff]")  # Python's stand-in for a byte that is not UTF-8
HELP = ("-h", "--help")
PLOTS = ("png",)
METRIC_FLAGS = ("metric", "metrics", "judge")
SHARED = "of every verb"
COMMON = (
    flag("config", Place, "a YAML file with settings, by the names of these flags", group=SHARED),
    flag(
        "network",
        bool,
        "lets other machines be asked: the model hub, endpoints, origins of public sets",
        default=False,
        group=SHARED,
    ),
)
REPORT = (
    flag("report", Place, "a folder for the page of the result, its plots and tables", group=SHARED),
    flag("plots", Strings, "kinds of plots in the report: png, svg, pdf", PLOTS, group=SHARED),
)


@dataclass(frozen=True)
class Verb:
    """A verb of the command."""

    function: Callable[..., Any]
    # its parameter that FILE gives; "" for none
    file: str
    # the flags that are no parameters of the function
    flags: tuple[Parameter, ...]

    @property
    def takes(self) -> list[str]:
        """The flags that may stand in place of FILE."""
        names = [each.name for each in self.flags]
        return [name for name in IN_PLACE if name in names]


VERBS = {
    "score": Verb(judge.score, "source", (*METRICS, *TEXT_FILES, *SYSTEM_FILES, *REPORT, *COMMON)),
    "agree": Verb(judge.agree, "source", (*METRICS, *TEXT_FILES, *SYSTEM_FILES, *REPORT, *COMMON)),
    "compare": Verb(judge.compare, "source", (*METRICS, *TEXT_FILES, *SYSTEM_FILES, *REPORT, *COMMON)),
    "prefer": Verb(judge.prefer, "source", (*METRICS, *JUDGE, *SYSTEM_FILES, *SET, *REPORT, *COMMON)),
    "audit": Verb(judge.audit, "source", (*METRICS, *TEXT_FILES, *SYSTEM_FILES, *SET, *REPORT, *COMMON)),
    "plan": Verb(judge.plan, "pilot", (*SET, *REPORT, *COMMON)),
    "label": Verb(judge.label, "source", (*SYSTEM_FILES, *REPORT, *COMMON)),
    "steer": Verb(judge.steer, "", (*REPORT, *COMMON)),
    "demo": Verb(judge.demo, "", COMMON),
}


def kept_stages() -> str:
    """Returns the folder that keeps scores and replies for later judge."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(cache) / PACKAGE / "stages")


def make_app() -> App:
    """Makes the parser of all verbs."""
    usual = Usual(negative_bool=(), negative_iterable=(), consume_multiple=1, name_transform=lambda name: name)
    app = App(
        name="judge",
        help="Metrics and LLM judges of generated text: score by them, and find out which of them to trust.",
        usage="judge VERB [FILE] [--name value ...]\n",
        help_epilogue=MORE,
        help_format="plaintext",
        version=lambda: version(PACKAGE),
        default_parameter=usual,
        result_action="return_value",
    )
    for order, (name, verb) in enumerate(VERBS.items()):
        command = declare_command(verb.function, verb.flags, verb.file, {"stages": kept_stages()})
        line, *_ = (verb.function.__doc__ or "").splitlines()
        file = " FILE" if verb.file else ""
        usage = f"judge {name}{file} [--name value ...]\n"
        app.command(command, name=name, help=line, usage=usage, sort_key=order)
    app.register_install_completion_command()
    return app


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
    for word in words:
        if SURROGATE.search(word):
            say(f"{word} must be UTF-8 text, found other bytes: rename it")
            return BAD_INPUT
    try:
        with write_settings_by(write_flag), suggest_extra("demo" if first == "demo" else None):
            return run(first, words)
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


def run(first: str, words: Sequence[str]) -> int:
    """Runs a verb, or shows help; returns the exit code."""
    app = make_app()
    if first in VERBS:
        asks_help = any(word in HELP for word in words)
        return show_help(app, words) if asks_help else run_verb(app, words)
    if first in (*HELP, "--version", "--install-completion"):
        app(words)
        return FINE
    said = f"{printable(first)} is no verb{suggest_similar(first, [*VERBS])}" if first else "the command lacks a verb"
    say(f"{said}; allowed: {', '.join(VERBS)}. `judge --help` says what they do")
    return BAD_INPUT


def show_help(app: App, words: Sequence[str]) -> int:
    """Prints the help of a verb, and of the settings of the metrics that the command names."""
    name, *others = words
    app.help_epilogue = None
    app.help_print([name])
    if METRICS[0] in VERBS[name].flags:
        try:
            given = parse_words(app, name, [word for word in others if word not in HELP])
        except SettingError:  # of words that help does not need
            given = {}
        print(describe_metrics({flag: given[flag] for flag in METRIC_FLAGS if flag in given}))
    return FINE


def run_verb(app: App, words: Sequence[str]) -> int:
    """Reads the words of a command, calls the verb's function and shows the result; returns the exit code."""
    name, *others = words
    check_file(VERBS[name], others)
    given = parse_words(app, name, others)
    if "config" in given:
        app.config = [read_config(Path(given["config"]))]
        given = parse_words(app, name, others)
    set_library_defaults(network=given.get("network", False))
    with show_messages():
        began = time.perf_counter()
        if "report" in given:
            from judge.reports import check_report

            check_report(given["report"], given.get("plots", PLOTS))
        result = call_verb(name, given)
        if result is None:
            return FINE
        deliver(result, words, given, time.perf_counter() - began)
    return FOUND if result.findings else FINE


def read_config(path: Path) -> Any:
    """Returns what reads the settings of a YAML file for cyclopts. Raises InputError for a faulty file."""
    import yaml
    from cyclopts.config import Yaml

    from core.settings import refuse_network_in_file

    if not path.is_file():
        raise InputError([fault(path, 0, "no such file")])
    with blame_file(path):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, Mapping):
            raise SettingError("settings must be NAME: VALUE")
        if "network" in content:
            refuse_network_in_file()
    return Yaml(path, use_commands_as_keys=False)


def check_file(verb: Verb, words: Sequence[str]) -> None:
    """Raises InputError for a FILE that does not exist, before slow libraries are imported.

    Raises SettingError for a FILE that the verb does not take.
    """
    file = words[0] if words and not words[0].startswith("--") else STANDARD
    if not verb.file and file != STANDARD:
        raise SettingError(f"judge {verb.function.__name__} takes no file, but got {printable(file)}")
    if file == STANDARD or "=" in file or os.path.lexists(file):
        return
    from data.workbooks import split_sheet

    path, _ = split_sheet(file)
    if not os.path.lexists(path):
        raise InputError([fault(file, 0, "no such file")])


def parse_words(app: App, name: str, words: Sequence[str]) -> dict[str, Any]:
    """Reads the words after a verb; returns the settings that they give. Raises SettingError."""
    try:
        _, bound, _ = app.parse_args([name, *spell_out(words)], exit_on_error=False, print_error=False)
    except CycloptsError as error:
        if isinstance(error.__cause__, SettingError):  # of `judge.options`
            raise error.__cause__ from None
        raise SettingError(explain(error)) from None
    given = dict(bound.arguments)
    for word in given.get(FILE, ()):
        if word.startswith("--"):
            known = [*bound.signature.parameters]
            similar = suggest_similar(word[2:].partition(".")[0], known, "--")
            raise SettingError(f"{printable(word)} is no flag of judge {name}{similar}")
    for named, inner in given.pop(INNER, {}).items():
        given[named] = add_inner(given.get(named, {}), inner, named)
    return given


def explain(error: CycloptsError) -> str:
    """Writes the message for words that cannot be read."""
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        if error.keyword:
            return f"{error.keyword} needs a value"
        return f"{' or '.join(error.argument.names)} is needed"
    if isinstance(error.__cause__, ValidationError) and isinstance(error, cyclopts.ValidationError) and error.argument:
        rules = [f"{error.argument.name} {rule}, but is {value!r}" for _, rule, value in broken_rules(error.__cause__)]
        return "\n".join(rules)
    error.verbose = False
    return printable(str(error))


# ---- the call -------------------------------------------------------------------------------------------------------


def call_verb(name: str, given: Mapping[str, Any]) -> Any:
    """Calls the verb's function with the settings of the command line. Raises SettingError and InputError."""
    from core.progress import shown

    settings = collect_settings(name, given)
    with show_steps() as progress:
        before = shown.set(progress)
        try:
            return VERBS[name].function(**settings)
        finally:
            shown.reset(before)


def collect_settings(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Collects the arguments of the verb's function. Raises SettingError and InputError."""
    verb = VERBS[name]
    parameters = signature(verb.function).parameters
    added = [each.name for each in verb.flags]
    settings = {setting: value for setting, value in given.items() if setting in parameters and setting not in added}
    network = given.get("network", False)
    stages = given.get("stages", kept_stages())
    stages = None if stages == "null" else stages
    if "stages" in parameters:
        settings["stages"] = stages
    if "network" in parameters:
        settings["network"] = network
    if METRICS[0] in verb.flags:
        planned = plan_named(given, ("metric", "metrics"), network=network, stages=stages)
        if "metric" in parameters and not planned:
            raise SettingError("--metric NAME is needed, or --metrics NAME NAME")
        settings["metric" if "metric" in parameters else "metrics"] = planned
    if "judge" in given:
        settings["judge"] = next(iter(plan_named(given, ["judge"], network=network, stages=stages).values()), None)
    if verb.file:
        settings |= read_inputs(name, verb.file, verb.takes, given)
    return settings


# ---- what is shown --------------------------------------------------------------------------------------------------


def deliver(study: Any, words: Sequence[str], given: Mapping[str, Any], seconds: float) -> None:
    """Prints the tables and notes of a result, and writes its report if the command asks for one."""
    study.print(make_console(stderr=words[0] == "score" and given.get("output") == STANDARD))
    if "report" in given:
        from judge.reports import write_verb

        path = write_verb(
            study,
            ["judge", *words],
            {name: value for name, value in given.items() if name not in (FILE, "report", "config")},
            folder=given["report"],
            plots=given.get("plots", PLOTS),
            seconds=seconds,
        )
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


def write_flag(name: str, values: Sequence[str]) -> str:
    """Writes a setting as the command line takes it.

    >>> write_flag("columns.text", ["my column"]), write_flag("data.download", ["true"]), write_flag("path", ["FILE"])
    ("--columns.text 'my column'", '--data.download', 'FILE')
    """
    words = [] if [*values] == ["true"] else [*values]
    if name == "path":
        return shlex.join(words or ["FILE"])
    return shlex.join([f"--{name}", *words])


MORE = """judge VERB --help lists the settings of a verb, judge score --metric NAME --help those of a metric.
--columns.text answer sets a key of a flag, and so do --metric.order 2 and --metrics.bleu.order 2.

Examples
  judge compare docs/examples/summaries.jsonl --metrics rouge_l bleu
  judge score in.jsonl --metric word_count --output out.jsonl

python experiments/run.py trains metrics and runs the papers' experiments."""
