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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import cyclopts
from cyclopts import App, CycloptsError
from cyclopts import Parameter as Usual

import judge
from core.errors import (
    InputError,
    MissingModelError,
    OutsideError,
    QuestionError,
    SettingError,
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
from judge.options import FILE, INNER, PLOTS, Place, Strings, declare_command, flag, spell_out
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
METRIC_FLAGS = ("metric", "metrics", "judge")
SHARED = "of every verb"
COMMON = (
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


SHOWN = (*REPORT, *COMMON)
VERBS = {  # the flags of each that are no parameters of its function
    "score": (*METRICS, *TEXT_FILES, *SYSTEM_FILES, *SHOWN),
    "agree": (*METRICS, *TEXT_FILES, *SYSTEM_FILES, *SHOWN),
    "compare": (*METRICS, *TEXT_FILES, *SYSTEM_FILES, *SHOWN),
    "prefer": (*METRICS, *JUDGE, *SET, *SHOWN),
    "audit": (*METRICS, *TEXT_FILES, *SYSTEM_FILES, *SET, *SHOWN),
    "plan": SHOWN,
    "label": (*SYSTEM_FILES, *SHOWN),
    "steer": SHOWN,
    "demo": COMMON,
}


def find_parameter(name: str) -> str:
    """Returns the parameter of a verb's function that FILE gives; "" for none."""
    first = next(iter(signature(getattr(judge, name)).parameters))
    return first if first in ("source", "pilot") else ""


def kept_stages() -> str:
    """Returns the folder that keeps scores and replies for later commands."""
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
    for order, (name, flags) in enumerate(VERBS.items()):
        function = getattr(judge, name)
        file = find_parameter(name)
        command = declare_command(function, flags, file, {"stages": kept_stages()})
        line, *_ = (function.__doc__ or "").splitlines()
        usage = f"judge {name}{' FILE' if file else ''} [--name value ...]\n"
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
    except (InputError, SettingError) as error:
        say(describe_fault(error, words))
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
    if {*METRICS} <= {*VERBS[name]}:
        given: dict[str, Any] = {}
        with suppress(SettingError):  # of words that help does not need
            given = parse_words(app, name, [word for word in others if word not in HELP])
        print(describe_metrics({flag: given[flag] for flag in METRIC_FLAGS if flag in given}))
    return FINE


def run_verb(app: App, words: Sequence[str]) -> int:
    """Reads the words of a command, calls the verb's function and shows the result; returns the exit code."""
    import pydantic  # noqa: F401, by which cyclopts checks the rules of types

    from core.progress import shown

    name, *others = words
    given = parse_words(app, name, others)
    check_file(*given.get(FILE, ())[:1])
    set_library_defaults(network=given.get("network", False))
    with show_messages():
        began = time.perf_counter()
        if "report" in given:
            from judge.reports import check_report

            check_report(given)
        settings = collect_settings(name, given)
        with show_steps() as progress:
            before = shown.set(progress)
            try:
                study = getattr(judge, name)(**settings)
            finally:
                shown.reset(before)
        if study is None:
            return FINE
        study.print(make_console(stderr=name == "score" and given.get("output") == STANDARD))
        if "report" in given:
            from judge.reports import write_verb

            say(f"wrote {write_verb(study, words, given, time.perf_counter() - began)}")
    return FOUND if study.findings else FINE


def check_file(file: str = STANDARD) -> None:
    """Raises InputError for a FILE that does not exist, before slow libraries are imported."""
    if os.path.realpath(file).startswith(("/proc/", "/sys/", "/dev/")) and not Path(file).is_fifo():  # may never end
        raise InputError([fault(file, 0, "must be a regular file or a pipe")])
    if file != STANDARD and not os.path.lexists(file):
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
    from pydantic import ValidationError

    if isinstance(error.__cause__, ValidationError) and isinstance(error, cyclopts.ValidationError) and error.argument:
        rules = [f"{error.argument.name} {rule}, but is {value!r}" for _, rule, value in broken_rules(error.__cause__)]
        return "\n".join(rules)
    error.verbose = False
    return printable(str(error))


def collect_settings(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Collects the arguments of the verb's function. Raises SettingError and InputError."""
    parameters = signature(getattr(judge, name)).parameters
    flags = [flag.name for flag in VERBS[name]]
    settings = {setting: given[setting] for setting in parameters if setting in given and setting not in flags}
    network = given.get("network", False)
    stages = given.get("stages", kept_stages())
    stages = None if stages == "null" else stages
    settings |= {key: value for key, value in {"stages": stages, "network": network}.items() if key in parameters}
    if "metrics" in flags:
        planned = plan_named(given, ("metric", "metrics"), network=network, stages=stages)
        if "metric" in parameters and not planned:
            raise SettingError("--metric NAME is needed, or --metrics NAME NAME")
        settings["metric" if "metric" in parameters else "metrics"] = planned
    if "judge" in given:
        settings["judge"] = next(iter(plan_named(given, ["judge"], network=network, stages=stages).values()), None)
    if file := find_parameter(name):
        settings |= read_inputs(name, file, [flag for flag in IN_PLACE if flag in flags], given)
    return settings


# ---- what is shown --------------------------------------------------------------------------------------------------


def describe_fault(error: InputError | SettingError, words: Sequence[str]) -> str:
    """Writes the message for a fault: of a missing model with the flags that name and fetch it."""
    if isinstance(error, QuestionError):
        return f"{error.question}{propose(words, error.answers)}"
    if not isinstance(error, MissingModelError):
        return str(error)
    typed = (before for before, word in pairwise(words) if word == error.name and before.startswith("--"))
    fetch = "; --network fetches it" if error.fetchable and "--network" not in words else ""
    return f"{next(typed, error.setting)} {error.name}: {error.what}{fetch}".lstrip()


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
