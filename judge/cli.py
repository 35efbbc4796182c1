"""The command `judge VERB [FILE] --name value ...`: every flag is a setting of the verb's own function.

A verb in Python and on the command line is the same call. Its libraries are imported only after the words of the
command are read, so that help and faults of settings appear at once.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import textwrap
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import InputError, MissingModelError, SettingError, fault, printable, suggest_similar
from core.extras import named_extras
from core.objects import find_object
from core.signature import PACKAGE, version
from core.threads import share_cores
from judge.flags import SELF, Flag, Words, list_fields, list_parameters
from judge.terminal import describe_failure, open_streams, say

if TYPE_CHECKING:
    from judge.report.outcome import Outcome

FINE, FAILED, BAD_INPUT, FOUND, INTERRUPTED = 0, 1, 2, 3, 130  # 3: a condition of --fail_if failed
STANDARD = "-"
SURROGATE = re.compile("[\ud800-\udfff]")  # Python's stand-in for a byte that is not UTF-8
WIDTH = 100  # characters of help
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Verb:
    """What a verb of the command calls."""

    # what it does, for `judge --help`
    line: str
    # the function
    function: str
    # its parameter that FILE gives; "" for none
    file: str = ""
    # dataclasses whose fields are settings too: where they are, and the parameter that takes one whole, or "" where the
    # function takes their fields by name
    settings: Mapping[str, str] | None = None
    # parameters that only Python has
    hidden: tuple[str, ...] = ()
    # parameters that name a metric, or several
    metrics: tuple[str, ...] = ()
    # whether texts may come from files of lines and from a file for each system
    reads_texts: bool = False
    # whether `--data` names a set
    reads_sets: bool = False


INTERVALS = {"meta_eval.intervals.Resampling": ""}
VERBS = {
    "score": Verb(
        "Score a file of your own texts with one metric, or several",
        "judge.verbs.score.score",
        file="source",
        hidden=("references", "ray"),
        settings={"judge.engines.Ray": "ray"},
        metrics=("metric",),
        reads_texts=True,
    ),
    "agree": Verb(
        "Find out which metric agrees best with human ratings, with intervals and tests",
        "judge.verbs.agree.agree",
        file="source",
        settings={"meta_eval.ranking.Comparison": "", **INTERVALS, "judge.labelling.Labelling": ""},
        metrics=("metrics",),
        reads_texts=True,
    ),
    "compare": Verb(
        "Compare systems on the same inputs by any metric, also with few human ratings",
        "judge.verbs.compare.compare",
        file="source",
        hidden=("references",),
        metrics=("metrics",),
        reads_texts=True,
    ),
    "prefer": Verb(
        "Rank systems by preferences of people or of a chat model, and see which metrics prefer as they do",
        "judge.verbs.prefer.prefer",
        file="source",
        metrics=("metrics", "judge"),
        reads_sets=True,
    ),
    "audit": Verb(
        "Find out what fools metrics: length and other cheap cues, unnoticed damage, harmless edits",
        "judge.verbs.audit.audit",
        file="source",
        metrics=("metrics",),
        reads_texts=True,
        reads_sets=True,
    ),
    "plan": Verb(
        "Plan how many inputs, systems, raters and labels a study needs",
        "judge.verbs.plan.plan",
        file="pilot",
        settings={"judge.label_plans.PlanSettings": ""},
        reads_sets=True,
    ),
    "label": Verb(
        "Draw texts for people to label, and write a blind sheet that judge agree --labels reads back",
        "judge.verbs.label.label",
        file="source",
    ),
    "steer": Verb(
        "Continue prompts with a guide and without, with the candidates of each step", "judge.verbs.steer.steer"
    ),
    "demo": Verb(
        "A page in a browser that steers, judges and compares",
        "judge.verbs.demo.demo",
        settings={"judge.demo.settings.DemoSettings": "settings"},
        hidden=("settings",),
    ),
}


@dataclass(frozen=True)
class TextFiles:
    """Where texts come from in place of FILE."""

    # in place of FILE: a file with one text per line
    text: str | None = None
    # a file of references aligned with text, or several
    references: Sequence[str] = ()
    # a file of contexts aligned with text
    source: str | None = None
    # of a folder of WMT with several language pairs: en-de; of a workbook with several sheets: the name of one
    split: str | None = None


@dataclass(frozen=True)
class SystemFiles:
    """Where the outputs of systems come from in place of FILE."""

    # in place of FILE: a file per system, old=old.txt new=new.txt
    systems: Sequence[str] = ()


@dataclass(frozen=True)
class SetFiles:
    """A set of `configs/data` in place of FILE."""

    # in place of FILE: builtin_sets, builtin_dialogues and others to audit; pandalm or alpaca_eval with --data.root
    data: Any = None


@dataclass(frozen=True)
class Common:
    """The settings of every verb."""

    # a YAML file with settings, by the names of these flags
    config: str | None = None
    # a folder for the page of the result, its plots and tables
    report: str | None = None
    # kinds of plots in the report: png, svg, pdf
    plots: Sequence[str] = ("png",)
    # lets metrics name objects of this package; give it only for code that you trust
    allow: Sequence[str] = ()
    # allows downloads from the model hub
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
    if first in ("-h", "--help"):
        print(describe_verbs())
        return FINE
    if other := next((word for word in words if SURROGATE.search(word)), None):
        say(f"{other} must be UTF-8 text, found other bytes: rename it")
        return BAD_INPUT
    if first not in VERBS:
        say(refuse_verb(first))
        return BAD_INPUT
    try:
        with named_extras("demo" if first == "demo" else None):
            return run_verb(first, [*words[1:]])
    except (SettingError, InputError) as error:
        say(write_flags(describe_missing(error, words) if isinstance(error, MissingModelError) else str(error)))
        if isinstance(error, SettingError):
            say(f"`judge {first} --help` lists the settings")
        return BAD_INPUT
    except KeyboardInterrupt:
        say("interrupted: run the same command again to continue; finished stages are kept")
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.strerror == os.strerror(36):  # a name that is too long
            say(f"{error.filename}: {error.strerror}")
            return BAD_INPUT
        say(describe_failure(error, "".join(traceback.format_exception(error))))
        return FAILED


def run_verb(name: str, words: Sequence[str]) -> int:
    """Reads the words behind a verb, calls its function and shows the result."""
    verb = VERBS[name]
    asks_help = any(word in ("-h", "--help") for word in words)
    if not asks_help:
        check_file(verb, words)
    flags = list_flags(verb)
    if asks_help:
        shown = [word for word in words if word not in ("-h", "--help")]
        print(describe_verb(name, flags, Words.read(name, shown, flags)))
        return FINE
    given = Words.read(f"judge {name}", words, flags)
    set_defaults(given)
    with show_log():
        began = time.perf_counter()
        if given.get("report"):
            from judge.report.verbs import check_report

            check_report(given)
        found = call_verb(verb, given)
        if found is None:
            return FINE
        deliver(found, name, words, given, time.perf_counter() - began)
    return FOUND if found.findings else FINE


def check_file(verb: Verb, words: Sequence[str]) -> None:
    """Raises InputError for a FILE that does not exist, before anything is imported."""
    file = words[0] if words else "--"
    if verb.file and not file.startswith("--") and file != STANDARD and "=" not in file and not os.path.lexists(file):
        raise InputError([fault(file, 0, "no such file")])


def list_flags(verb: Verb) -> list[Flag]:
    """The flags of a verb: parameters of its function, fields of its settings, and those of every verb."""
    function = find_object(verb.function)
    found = [each for each in list_parameters(function) if each.name not in (verb.file, *verb.hidden)]
    for kind, parameter in (verb.settings or {}).items():
        if parameter == "ray":
            found.append(Flag("ray", None, "Ray", RAY))
        else:
            found += list_fields(find_object(kind))
    found += list_fields(TextFiles) if verb.reads_texts else []
    found += list_fields(SystemFiles) if verb.reads_texts or verb.file == "source" else []
    found += list_fields(SetFiles) if verb.reads_sets else []
    found += list_metric_flags(verb)
    named = {each.name: each for each in [*list_fields(Common), *found]}
    if "stages" in named:
        named["stages"] = replace(named["stages"], comment=f"{named['stages'].comment} null keeps none", default=kept())
    return list(named.values())


RAY = "scores with a pool of Ray actors: --ray.workers 4, with .cpus, .gpus and .address (HOST:PORT of a cluster)"


def list_metric_flags(verb: Verb) -> Iterator[Flag]:
    """`--metric NAME` and `--metrics NAME NAME`, of which a verb takes both."""
    if not verb.metrics:
        return
    one = "a metric; --metric.SETTING VALUE sets it, and --metric NAME --help lists its settings"
    yield Flag("metric", None, "Metrics", one)
    yield Flag("metrics", None, "Metrics", "several metrics; --metrics.NAME.SETTING VALUE sets one of them")
    if "judge" in verb.metrics:
        asked = "a judge that compares pairs of outputs, in both orders: llm_judge; --judge.SETTING VALUE sets it"
        yield Flag("judge", None, "Metrics", asked)


def kept() -> str:
    """The folder for scores and replies that later commands find again."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(cache) / PACKAGE / "stages")


def set_defaults(given: Words) -> None:
    """Sets environment variables that libraries read at import, unless the user has set them."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tokenizers would warn in forked data loaders
    if not given.get("network"):
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")


# ---- the call -------------------------------------------------------------------------------------------------------


def call_verb(verb: Verb, given: Words) -> Any:
    """The result of the verb's function with what the words say. Raises SettingError and InputError."""
    from core.progress import shown
    from judge.metrics import importable
    from judge.terminal import show_steps

    trusted = importable.set(frozenset(given.get("allow")))
    try:
        settings = collect_settings(verb, given)
        with show_steps() as progress:
            before = shown.set(progress)
            try:
                return find_object(verb.function)(**settings)
            finally:
                shown.reset(before)
    finally:
        importable.reset(trusted)


def collect_settings(verb: Verb, given: Words) -> dict[str, Any]:
    """The arguments of the verb's function. Raises SettingError and InputError."""
    named = ("metric", "metrics", "judge", "data")
    settings = {name: join_own(value) for name, value in given.settings.items() if name not in named}
    for kind in (Common, TextFiles, SystemFiles, SetFiles):
        for each in list_fields(kind):
            is_own = verb.function.endswith(".plan") and each.name == "systems"
            if each.name not in ("network",) and not is_own:
                settings.pop(each.name, None)
    network = bool(settings.pop("network", False))
    if verb.function.endswith("steer"):
        settings["network"] = network
    stages = given.get("stages") if "stages" in given.flags else None
    if "stages" in given.flags:
        settings["stages"] = stages
    if verb.metrics:
        settings |= plan_named(verb, given, network, stages)
    for kind, parameter in (verb.settings or {}).items():
        if parameter:
            take_whole(settings, find_object(kind), parameter)
    if verb.file:
        settings |= find_source(verb, given)
    elif given.others:
        raise SettingError(f"{given.called} takes no file, but got {printable(given.others[0])}")
    for each in given.flags.values():
        if each.is_needed and each.name not in settings:
            raise SettingError(f"--{each.name} is needed: {each.comment}")
    return settings


def join_own(value: Any) -> Any:
    """The value of an open flag: its own words, or its settings by name."""
    if not isinstance(value, dict) or SELF not in value:
        return value
    own = value[SELF]
    if len(value) == 1:
        return own
    raise SettingError(f"give either {own} or settings by name, {', '.join(str(key) for key in value if key)}")


def take_whole(settings: dict[str, Any], kind: Any, parameter: str) -> None:
    """Puts the settings of a dataclass together, as the parameter that takes them whole."""
    if parameter == "ray":
        inner = settings.pop("ray", None)
        if inner is not None:
            settings["ray"] = kind(**({} if inner is True else inner))
        return
    names = [each.name for each in list_fields(kind)]
    settings[parameter] = kind(**{name: settings.pop(name) for name in names if name in settings})


def plan_named(verb: Verb, given: Words, network: bool, stages: str | None) -> dict[str, Any]:
    """The metrics that `--metric`, `--metrics` and `--judge` name, by the parameters of the verb."""
    from judge.metrics import plan_metric

    how: dict[str, Any] = {"network": network, "stages": None if stages is None else Path(stages)}
    planned: dict[str, Any] = {}
    for flag in ("metric", "metrics"):
        for name, source, settings in name_metrics(flag, given.settings.get(flag, {})):
            if name in planned:
                raise SettingError(f"metrics must name each metric once, but {name} is named twice")
            place = "--metric." if flag == "metric" else f"--metrics.{name}."
            planned[name] = plan_metric(source, settings, place=place, **how)
    parameter = verb.metrics[0]
    if not planned and parameter == "metric":
        raise SettingError("--metric NAME is needed, or --metrics NAME NAME")
    found: dict[str, Any] = {parameter: planned}
    if parameter == "metrics" and "metric" in given.flags:
        found["metrics"] = planned
    if asked := given.settings.get("judge"):
        ((_, source, settings),) = name_metrics("metric", asked)
        found["judge"] = plan_metric(source, settings, place="--judge.", **how)
    return found


def name_metrics(flag: str, given: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The name, the metric and the settings of each metric that a flag names.

    >>> list(name_metrics("metrics", {"": ["b2=bleu", "ter"], "b2": {"order": 2}}))
    [('b2', 'bleu', {'order': 2}), ('ter', 'ter', {})]
    >>> list(name_metrics("metric", {"": "bleu", "order": 2}))
    [('bleu', 'bleu', {'order': 2})]
    """
    from judge.metrics import short_name

    own = given.get(SELF)
    inner = {name: value for name, value in given.items() if name != SELF}
    if own is None and flag == "metrics":
        own = [*inner]
    words = [own] if isinstance(own, str) else own
    if given and not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise SettingError(f"--{flag} NAME is needed beside --{flag}.{next(iter(inner), 'SETTING')}")
    named = {}
    for word in words or ():
        name, is_pair, source = word.partition("=")
        name = name if is_pair else short_name(word)
        if name in named:
            raise SettingError(f"metrics must name each metric once, but {name} is named twice")
        named[name] = source or word
    if flag == "metric":
        if len(named) > 1 and inner:
            raise SettingError(f"of several metrics, set one by --metrics and --metrics.NAME.{next(iter(inner))}")
        yield from ((name, source, inner) for name, source in named.items())
        return
    if other := [name for name in inner if name not in named]:
        known = suggest_similar(other[0], [*named])
        raise SettingError(f"--metrics.{other[0]} belongs to no metric{known}: --metrics names {', '.join(named)}")
    for name, source in named.items():
        settings = inner.get(name) or {}
        if not isinstance(settings, Mapping):
            raise SettingError(f"--metrics.{name} has settings: --metrics.{name}.SETTING VALUE")
        yield name, source, settings


def find_source(verb: Verb, given: Words) -> dict[str, Any]:
    """What FILE, `--text`, `--systems` or `--data` give, by the parameter of the verb."""
    if len(given.others) > 1:
        raise SettingError(f"{given.called} takes one file, but got {', '.join(map(printable, given.others))}")
    file = given.others[0] if given.others else None
    settings = given.settings
    places = [name for name in ("text", "systems", "data") if name in settings and name in given.flags]
    if verb.file == "pilot":
        places = [name for name in places if name == "data"]
    if file is not None and places and not (verb.function.endswith("prefer") and places == ["systems"]):
        raise SettingError(f"FILE and --{places[0]} are two inputs: give one")
    columns = {key: value for key, value in settings.get("columns", {}).items() if key != SELF}
    if "data" in places:
        return find_set(verb, given)
    from data.input_file import InputFile
    from data.scored import read_scored

    how = {name: settings[name] for name in ("text", "source", "split") if name in settings and name in given.flags}
    if "references" in settings and "references" in given.flags:
        how["references"] = settings["references"]
    if "levels" in settings:
        how["levels"] = join_own(settings["levels"])
    if "systems" in places:
        outputs = read_scored(systems=settings["systems"], scores=settings.get("scores"), columns=columns, **how)
        if verb.function.endswith("prefer"):
            found: dict[str, Any] = {"outputs": outputs, "scores": None, "columns": None}
            return found | ({} if file is None else {"source": file, "columns": columns})
        return {verb.file: outputs, **({"scores": None} if "scores" in given.flags else {}), "columns": None}
    if file is None and "text" not in places:
        if verb.file == "pilot":
            return {}
        raise SettingError(f"{given.called} needs a file: {given.called} FILE ...")
    if "text" not in places and verb.reads_texts is False:
        return {verb.file: file}
    return {verb.file: InputFile.of(file, columns=columns, **how), "columns": None}


def find_set(verb: Verb, given: Words) -> dict[str, Any]:
    """The set that `--data` names, with its settings."""
    from judge.sets import load_set

    own = given.settings["data"]
    found = load_set(own.get(SELF), {key: value for key, value in own.items() if key != SELF}, given.get("seed"))
    if isinstance(found, tuple):
        if verb.function.endswith("audit"):
            raise SettingError("data must hold texts: preferences have none alone")
        given_set, outputs = found
        return {verb.file: given_set} | ({} if verb.file == "pilot" or outputs is None else {"outputs": outputs})
    if not verb.function.endswith("audit"):
        raise SettingError(f"{given.called} takes pandalm or alpaca_eval by --data, or a FILE")
    return {verb.file: list(found.rated)}


# ---- what is shown --------------------------------------------------------------------------------------------------


def deliver(found: Any, name: str, words: Sequence[str], given: Words, seconds: float) -> None:
    """Prints the tables and notes of a result, and makes its report where one is asked for."""
    from judge import terminal
    from judge.report.outcome import print_outcome

    outcome: Outcome = found.present()
    is_printed = name == "score" and str(given.get("output")) == STANDARD
    print_outcome(outcome, terminal.console(stderr=is_printed))
    if given.get("report"):
        from judge.report.verbs import write_verb

        path = write_verb(replace(outcome, plots=found.draw()), name, ["judge", name, *words], given, seconds)
        say(f"wrote {path}")


@contextmanager
def show_log() -> Iterator[None]:
    """Shows the messages of this project on standard error; warnings of libraries are not shown."""
    handler, root = Terminal(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        root.setLevel(level)


class Terminal(logging.Handler):
    """Shows the messages of this project, and all errors."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.split(".")[0] in ROOMS or record.levelno >= logging.ERROR:
            say(self.format(record))


ROOMS = frozenset(path.parent.name for path in Path(__file__).parents[1].glob("*/__init__.py"))  # of this project


def write_flags(text: str) -> str:
    """A message with flags in place of `key=VALUE`.

    >>> write_flags("data.columns.system=COLUMN names it; data.root=FOLDER and data.download=true")
    '--columns.system COLUMN names it; --data.root FOLDER and --data.download'
    >>> write_flags("incomplete=drop leaves such inputs out")
    '--incomplete drop leaves such inputs out'
    """
    text = re.sub(r"(?<![\w.-])data\.(columns[\w.]*)=([\w.]+)", r"--\1 \2", text)
    text = re.sub(r"(?<![\w.-])data\.(columns\.\w+)", r"--\1", text)
    text = re.sub(r"(?<![\w.-])data\.path=(\w+)", r"\1", text)
    text = re.sub(r"(?<![\w.-])data\.(text|references|source|systems|outputs)(?:=(\w+))?", _as_flag, text)
    text = re.sub(r"(?<![\w.-])(data\.(?:root|download)|network)=(\w+)", _as_flag, text)
    text = re.sub(r"(?<![\w.-])(people|incomplete)=(\w+)", _as_flag, text)
    text = text.replace("levels=WORST,...,BEST", "--levels WORST ... BEST")
    return re.sub(
        r"(?<![\w.-])([a-z_]+(?:\.[a-z_]+)*)=(-|FILE|NAME|FOLDER|VALUE|bleu,rouge_l|llm_judge)", r"--\1 \2", text
    )


def _as_flag(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    return f"--{name}" if value in (None, "true") else f"--{name} {value}"


def describe_missing(error: MissingModelError, words: Sequence[str]) -> str:
    """The message for a missing model: the flag that names it, and the flag that fetches it."""
    named = [words[i - 1] for i, word in enumerate(words) if word == error.name and words[i - 1].startswith("--")]
    fetch = "; --network fetches it" if error.fetchable and "--network" not in words else ""
    return f"{' '.join([*named[:1], error.name])}: {error.what}{fetch}"


# ---- help -----------------------------------------------------------------------------------------------------------


def refuse_verb(word: str) -> str:
    """What is said where the first word is no verb."""
    similar = suggest_similar(word, [*VERBS]) if word else ""
    said = f"{printable(word)} is no verb{similar}" if word else "the command lacks a verb"
    return f"{said}\n\n{describe_verbs()}"


def describe_verbs() -> str:
    """The text of `judge --help`."""
    lines = "\n".join(f"  {name:<10}{verb.line}" for name, verb in VERBS.items())
    return f"usage: judge VERB [FILE] [--name value ...]\n\n{lines}\n\n{MORE}"


MORE = """judge VERB --help lists the settings of a verb, judge score --metric NAME --help those of a metric.
judge --version prints the version.

Examples
  judge compare docs/examples/summaries.jsonl --metrics rouge_l bleu
  judge score in.jsonl --metric word_count --output out.jsonl

python experiments/run.py trains metrics and runs the papers' experiments."""


def describe_verb(name: str, flags: Sequence[Flag], given: Words) -> str:
    """The text of `judge VERB --help`: every flag, what it means, and its default."""
    verb = VERBS[name]
    file = f" {'[FILE]' if verb.reads_sets or verb.reads_texts else 'FILE'}" if verb.file else ""
    common = {each.name for each in list_fields(Common)}
    own = [each for each in flags if each.name not in common]
    shared = [each for each in flags if each.name in common]
    parts = [f"usage: judge {name}{file} [--name value ...]\n\n{verb.line}."]
    parts += ["\n".join(map(describe_flag, own)), "Of every verb\n" + "\n".join(map(describe_flag, shared))]
    parts += describe_metrics(given)
    return "\n\n".join(parts)


def describe_flag(flag: Flag) -> str:
    """A flag, what it means, and its default."""
    default = "" if flag.is_needed or flag.default in (None, (), "") else f" (default: {write_default(flag.default)})"
    needed = " (needed)" if flag.is_needed else ""
    text = f"{flag.comment}{default}{needed}"
    width = min(shutil.get_terminal_size((WIDTH, 24)).columns, 120)
    said = textwrap.fill(text, width, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return f"  {flag.form}\n{said}" if text else f"  {flag.form}"


def write_default(value: Any) -> str:
    """A default as the command line writes it."""
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def describe_metrics(given: Words) -> Iterator[str]:
    """The settings of each metric that the words name; without one, the names of all."""
    from judge.metrics import find_config, list_names

    named = [(flag, given.settings[flag]) for flag in ("metric", "metrics", "judge") if flag in given.settings]
    for flag, value in named:
        for name, source, _ in name_metrics("metrics" if flag == "metrics" else "metric", value):
            place = f"--metrics.{name}" if flag == "metrics" else f"--{flag}"
            text = find_config(source).read_text(encoding="utf-8")
            shown = re.sub(r"^ *_[a-z]+_:.*\n", "", text, flags=re.MULTILINE).strip()
            yield f"{name}, set by {place}.SETTING VALUE\n{textwrap.indent(shown, '  ')}"
    if not named and "metrics" in given.flags:
        yield textwrap.fill(f"Metrics: {', '.join(list_names())}", WIDTH, subsequent_indent="  ")
