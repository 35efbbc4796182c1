"""Lists the checkpoints and data sets that a run needs and this machine lacks (`dry_run=true`); asks no hub."""

from collections.abc import Iterator, Mapping
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.errors import InputError, SettingError, causes
from data.corpus import Corpus
from experiments.runner.configuration import name_settings, walk
from experiments.runner.sweep import BAD_INPUT, FINE
from models.encoders import encoder_source
from models.folders import find_folder
from report import terminal

# Where a configuration names a model: these keys, and `name` of these targets
KEYS = ("encoder", "model", "language_model", "generator", "bart", "bleurt", "iwf_tokenizer")
NAMED = ("experiments.training.Pretrained", "models.conditional.PretrainedLM")


def examine(config: DictConfig, unresolved: Mapping[str, Any]) -> int:
    """Prints what a run of a resolved configuration lacks; returns the exit code: 0 if nothing is missing, else 2.

    `unresolved` has the settings as typed, with references to others.
    """
    experiment: Any = OmegaConf.to_container(config.experiment)
    missing = [f"data: {line}" for line in list_missing_data(config)]
    for name in dict.fromkeys(find_checkpoints(experiment)):
        if find_folder(encoder_source(name)) is None:
            missing.append(f"{' and '.join(name_settings(unresolved, name))}={name}")
    if not missing:
        print(f"{config.name}: nothing is missing")
        return FINE
    terminal.say("\n".join(["missing:", *(f"- {what}" for what in missing)]))
    return BAD_INPUT


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
    try:
        corpus = instantiate(data, _convert_="all", **({"download": False} if "download" in data else {}))
        if isinstance(corpus, Corpus) and corpus.iwf is not None and not (config.model or {}).get("iwf"):
            corpus.iwf()
    except (InputError, SettingError, InstantiationException) as error:
        for fault in causes(error):
            if isinstance(fault, InputError | SettingError):
                return str(fault).splitlines()
        raise
    return []
