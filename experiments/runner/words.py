"""Words: the short form of a command, `judge VERB [FILE] key=value ...`, rewritten as settings.

Experiments and config groups are read from the config files as plain text, so that --help is fast.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from core.configs import CONFIGS
from core.errors import SettingError, suggest_similar


class Verb(NamedTuple):
    """What a verb stands for."""

    # none for doctor, which stands before another verb
    experiment: str = ""
    # the setting that a file without a name is
    file: str | None = None
    # further settings of the experiment
    settings: tuple[str, ...] = ()
    # for --help, where the description of the experiment says something else
    line: str = ""


VERBS = {
    "score": Verb("score", "data.path"),
    "agree": Verb("meta_eval", "data.path"),
    "compare": Verb("compare", "data.path"),
    "prefer": Verb("preferences", "data.path"),
    "audit": Verb("audit", "data.path"),
    "plan": Verb("plan", "pilot.path"),
    "steer": Verb("steer"),
    "train cdm": Verb("train_cdm", "data.train_path"),
    "train discriminator": Verb("oumg", line="Train discriminators of human text and two systems, which they compare"),
    "train guide": Verb("guided_text", "data.path", line="Train guides and classifiers of the labels of your texts"),
    "demo": Verb("demo"),
    "doctor": Verb(line="What a run needs, and what of it is missing: doctor NAME"),
}
# settings that are lists, so that neither a,b nor a alone needs brackets
LISTS = {"metrics", "metric.aspects", "pilot.systems", "differences", "raters", "costs", "kinds", "seeds", "labels"}
LISTS |= {"strengths", "ks", "plots", "lower_is_better", "demo.hosts", "data.plain", "model.rules", "model.baseline"}
SCALES_OF_WORDS = {"levels", "data.levels"}  # lists whose words may hold spaces
ONE_OR_SEVERAL = re.compile(r"\+\+data\.columns\..+|data\.references|data\.rated|metric\.(model|price)")
SYSTEMS = {"compare", "preferences"}  # experiments that take a file per system
SEVERAL_METRICS = "judge score, compare and agree take several: metrics=bleu,rouge_l"
ONE_NAME = {"exp": "+exp=score", "metric": f"metric=bleu. {SEVERAL_METRICS}"}


SCALES = ("tiny", "pretrained", "paper")  # the file names in configs/model/PAPER


def group_options(folders: Sequence[Path]) -> dict[str, list[str]]:
    """The options of every config group over several config folders; those of `model` look like `cdm/tiny`."""
    options: dict[str, set[str]] = {"scale": set(SCALES)}
    for folder in folders:
        for file in folder.glob("*/**/*.yaml"):
            group, *name = file.relative_to(folder).with_suffix("").parts
            if group == "hydra":  # as in hydra/launcher=slurm
                group, name = f"hydra/{name[0]}", name[1:]
            options.setdefault(group, set()).add("/".join(name))
    return {group: sorted(names) for group, names in sorted(options.items())}


def descriptions(folders: Sequence[Path]) -> dict[str, str]:
    """The one-line `description:` of every experiment, by name."""
    found: dict[str, str] = {}
    for folder in folders:
        for file in sorted((folder / "exp").glob("**/*.yaml")):
            line = re.search(r"^description: *(.+?) *$", file.read_text(encoding="utf-8"), re.MULTILINE)
            name = file.relative_to(folder / "exp").with_suffix("").as_posix()
            found[name] = line.group(1).strip("\"'") if line else ""
    return found


def is_setting(word: str) -> bool:
    """Whether a word of a command is neither a verb nor a file."""
    return "=" in word or word.startswith("~")


def is_experiment(setting: str) -> bool:
    """Whether a setting chooses the experiment."""
    return setting.lstrip("+").startswith("exp=")


def as_settings(words: Sequence[str], experiments: Collection[str], multirun: bool = False) -> list[str]:
    """The words of a command as Hydra takes them; the name of an experiment may take the place of a verb.

    >>> as_settings(["compare", "in.jsonl", "metrics=bleu", "costs=1,2"], ["compare"])
    ['+exp=compare', 'data.path="in.jsonl"', '+metric@metrics.bleu=bleu', 'costs=[1,2]']
    >>> as_settings(["compare", "in.jsonl", "metrics=bleu,ter"], ["compare"], multirun=True)
    ['+exp=compare', 'data.path="in.jsonl"', 'metric=bleu,ter']
    >>> as_settings(["steer", "prompts=The food"], ["steer"]), as_settings(["prompts=my.yaml"], [])
    (['+exp=steer', 'prompts=["The food"]'], ['prompts=my.yaml'])

    Raises SettingError for a first word that is neither a verb nor an experiment, for a file that no setting takes, for
    a metric that is named twice, and for a list of names in `metric` or `exp`.
    """
    settings = [word for word in words if is_setting(word)]
    names = [word for word in words if not is_setting(word)]
    if names[:1] == ["doctor"]:
        names, settings = names[1:], [*settings, "dry_run=true"]
    named = [*_name_experiment(names, settings, experiments), *settings] if names else settings
    if "+exp=steer" in named:  # elsewhere prompts are a file
        named = [
            f"prompts=[{quote(one.removeprefix('prompts='))}]" if re.match(r"prompts=[^\[]", one) else one
            for one in named
        ]
    return [each for setting in _gather_systems(named) for each in _rewrite(setting, multirun)]


def _name_experiment(names: Sequence[str], settings: Sequence[str], experiments: Collection[str]) -> list[str]:
    """The verb or the experiment, and a file without a name, as settings."""
    if any(map(is_experiment, settings)):
        raise SettingError(f"{names[0]}: with +exp=NAME every setting is key=value; a file alone follows a verb")
    length = 2 if names[0] == "train" else 1
    name, files = " ".join(names[:length]), list(names[length:])
    own = {verb.experiment: verb for verb in VERBS.values() if not verb.settings}
    verb = VERBS.get(name) or own.get(name) or Verb(name)
    if verb.experiment not in experiments:
        similar = suggest_similar(name, sorted({*VERBS, *experiments}))
        raise SettingError(f"{name} is neither a verb nor an experiment{similar}; verbs: {', '.join(VERBS)}")
    if files and verb.file is None:
        raise SettingError(f"{name} takes no file without a name, but has {files[0]}: write key={files[0]}")
    if stray := [word for word in files if word != "-" and not Path(word).suffix and not Path(word).exists()]:
        raise SettingError(f"{stray[0]} is neither a file nor a setting: write key=value, without spaces around =")
    given = [setting.partition("=")[2] for setting in settings if setting.startswith(f"{verb.file}=")]
    if files and len(files + given) > 1:
        raise SettingError(f"{name} takes one file, but has {', '.join(files + given)}; settings are key=value")
    return [f"+exp={verb.experiment}", *verb.settings, *(f"{verb.file}={quote(file)}" for file in files)]


def complete(line: str, experiments: Collection[str]) -> tuple[str, list[str]]:
    """The command line that a shell completes, in the form that Hydra completes, and the words of verbs that fit.

    >>> complete("judge compare in.jsonl metr", ["compare"])
    ('judge +exp=compare data.path="in.jsonl" metr', [])
    >>> complete("judge train c", ["cdm_dialogue", "oumg"])
    ('', ['cdm'])
    """
    program = re.match(r"\s*(\S*python\S*\s+)?\S*\s*", line)
    assert program  # it matches nothing too
    *words, last = re.split(r"\s+", line[program.end() :])
    words = [word for word in words if word[:1] != "-"]
    typed = " ".join([*words, last])
    fitting = [verb.split()[len(words)] for verb in VERBS if verb.startswith(typed)]
    if fitting:
        return "", list(dict.fromkeys(fitting))
    try:
        return program[0] + " ".join([*as_settings(words, experiments), last]), []
    except SettingError:
        return "", []


def _gather_systems(settings: Sequence[str]) -> Sequence[str]:
    """Replaces `old=old.txt new=new.txt`, files of systems, by `data.systems=[...]` where an experiment reads these."""
    named = {setting.partition("=")[2] for setting in settings if is_experiment(setting)}
    if not named & SYSTEMS:
        return settings
    texts = [(CONFIGS / name).read_text("utf-8") for name in ("run.yaml", *(f"exp/{name}.yaml" for name in named))]
    known = {*group_options((CONFIGS,)), *re.findall(r"^(\w+):", "\n".join(texts), re.MULTILINE)}
    pairs = [(setting, *setting.partition("=")[::2]) for setting in settings]
    others = {each: Path(file) for each, key, file in pairs if re.split(r"[.@]", key.lstrip("+"))[0] not in known}
    endings = {path.suffix for path in others.values() if path.is_file()}
    systems = [each for each, path in others.items() if path.is_file() or (path.suffix and path.suffix in endings)]
    rest = [setting for setting in settings if setting not in systems]
    return [*rest, f"data.systems=[{','.join(map(quote, systems))}]"] if systems else rest


def _rewrite(setting: str, multirun: bool) -> list[str]:
    """The setting with the brackets of a list, and metrics as choices, which `metrics.bleu.order=1` can follow.

    In a sweep, several values are one for each job.
    """
    setting = f"++{setting}" if setting.startswith("data.columns.") else setting
    key, _, value = setting.partition("=")
    is_plain = re.fullmatch(r"[\w.,+/:-]+", value) is not None
    has_several = is_plain and "," in value
    if key.lstrip("+") in ONE_NAME and (value.startswith("[") or (has_several and not multirun)):
        raise SettingError(f"{key} must be one name, as in {ONE_NAME[key.lstrip('+')]}")
    if key in SCALES_OF_WORDS and value not in ("auto", "null") and value[:1] not in ("[", "{"):
        return [f"{key}=[{','.join(map(quote, value.split(',')))}]"]
    if multirun and has_several:
        jobs = re.sub(r"[^,]+", r"[\g<0>]", value) if key in LISTS - {"metrics"} else value
        return [f"{'metric' if key == 'metrics' else key}={jobs}"]
    if key == "metrics" and (is_plain or value.startswith("[")):
        names = re.findall(r"[^\[\]\s,'\"]+", value)
        if twice := [name for name in names if names.count(name) > 1]:
            raise SettingError(f"metrics must name each metric once, but has {twice[0]} twice")
        return [f"+metric@metrics.{name}={name}" for name in names]
    if (key in LISTS and is_plain and value != "null") or (has_several and ONE_OR_SEVERAL.fullmatch(key)):
        return [f"{key}=[{value}]"]
    if has_several:
        raise SettingError(f"{setting} needs -m, which runs a job for each value; a list is written '{key}=[{value}]'")
    return [setting]


def find_verb(experiment: str) -> str:
    """The verb that stands for an experiment and for nothing else; empty where there is none.

    >>> find_verb("meta_eval"), find_verb("cdm_dialogue")
    ('agree', '')
    """
    return next((name for name, verb in VERBS.items() if verb.experiment == experiment and not verb.line), "")


def name_extra(target: str) -> str | None:
    """The extra that an experiment of this project needs as a whole; a tool needs what its metrics do.

    >>> name_extra("experiments.tools.score.score"), name_extra("experiments.small_models.models")
    (None, 'papers')
    """
    if not target.startswith("experiments.") or target.startswith("experiments.tools."):
        return None
    return "demo" if target == "experiments.tools.demo.demo" else "papers"


def name_verb(words: Sequence[str]) -> list[str]:
    """The words that say what runs, for `--help`.

    >>> name_verb(["train", "cdm", "in.jsonl", "seed=1"]), name_verb(["seed=1", "+exp=iwf"]), name_verb(["seed=1"])
    (['train', 'cdm'], ['+exp=iwf'], [])
    """
    if named := [word for word in words if is_experiment(word)]:
        return named
    others = [word for word in words if not is_setting(word)]
    return others[: 2 if others[:1] in (["train"], ["doctor"]) else 1]


def quote(text: str) -> str:
    """The text in quotation marks, as Hydra reads a value with commas or brackets in it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
