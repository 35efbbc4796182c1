"""Lists the checkpoints that a run needs, and what of them and of its data this machine lacks (`dry_run=true`).

It asks no hub.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.errors import InputError, SettingError, causes
from core.objects import walk
from data.corpus import Corpus
from experiments.runner.configuration import name_settings
from experiments.runner.sweep import BAD_INPUT, FINE
from models.encoders import encoder_source
from models.folders import find_folder
from report import terminal

# Where a configuration names a model: these keys, and `name` of these targets
KEYS = ("encoder", "model", "language_model", "generator", "bart", "bleurt", "iwf_tokenizer")
NAMED = ("experiments.training.Pretrained", "models.conditional.PretrainedLM")


def examine(config: DictConfig, unresolved: Mapping[str, Any]) -> int:
    """Prints what a run of a resolved configuration needs; returns the exit code: 2 if it lacks what it will not fetch.

    `unresolved` has the settings as typed, with references to others.
    """
    experiment: Any = OmegaConf.to_container(config.experiment)
    data = config.get("data") or {}
    needs: dict[str, list[str]] = {"here": [], "to be fetched": [], "missing": []}
    absent = "to be fetched" if config.network else "missing"
    for line in list_missing_data(config):
        needs[absent if data.get("download") else "missing"].append(f"data: {line}")
    for name in dict.fromkeys(find_checkpoints(experiment)):
        setting = f"{' and '.join(name_settings(unresolved, name))}={name}"
        try:
            is_here = find_folder(encoder_source(name)) is not None
            needs["here" if is_here else absent].append(setting)
        except SettingError as fault:  # of `offline`, which an extra brings
            needs["missing"].append(f"{setting}: {fault}")
    missing = needs.pop("missing")
    print("\n".join([f"{config.name} {'lacks what it needs' if missing else 'can run'}", *list_lines(needs)]))
    if not missing:
        return FINE
    terminal.say("\n".join(list_lines({"missing": missing})))
    return BAD_INPUT


def list_lines(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Lists what a run needs, by state.

    >>> list_lines({"here": ["model.encoder=offline"], "missing": []})
    ['here:', '- model.encoder=offline']
    """
    lines: list[str] = []
    for state, several in needs.items():
        if several:
            lines += [f"{state}:", *(f"- {each}" for each in several)]
    return lines


def find_checkpoints(experiment: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names of pretrained models in an experiment's settings, but for unused discriminators."""
    of_oumg = experiment.get("discriminators") or {}
    used = of_oumg.get("kinds", ())
    for place, node in walk(experiment):
        if place.startswith("discriminators.judges.") and place.split(".")[2] not in used:
            continue
        if isinstance(node, Mapping):
            keys = (*KEYS, "name") if node.get("_target_") in NAMED else KEYS
            yield from (node[key] for key in keys if isinstance(node.get(key), str))


def list_missing_data(config: DictConfig) -> list[str]:
    """Lists the faults of the run's data, which is read and not fetched."""
    data = config.get("data") or {}
    if "_target_" not in data:
        return []
    given = {"download": False} if "download" in data else {}
    has_table = (config.model or {}).get("iwf") is not None
    try:
        corpus = instantiate(data, _convert_="all", **given)
        if isinstance(corpus, Corpus) and corpus.iwf is not None and not has_table:
            corpus.iwf()
    except (InputError, SettingError, InstantiationException) as error:
        for fault in causes(error):
            if isinstance(fault, InputError | SettingError):
                return str(fault).splitlines()
        raise
    return []
