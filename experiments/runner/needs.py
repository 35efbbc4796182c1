"""Lists the checkpoints and sets that a run needs, and which are missing on this machine (`dry_run=true`).

The hub is not asked: `models.published` has the sizes of published checkpoints.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.errors import InputError, SettingError, causes
from data.corpus import Corpus
from data.download import PUBLIC_FILES
from experiments.runner.configuration import name_settings, walk
from models.encoders import encoder_source
from models.folders import find_folder
from models.published import PUBLISHED
from report import terminal
from report.tables import Table

# Where a configuration names a model: these keys, and `name` of these targets
KEYS = ("encoder", "model", "language_model", "generator", "bart", "bleurt", "iwf_tokenizer")
NAMED = ("experiments.training.Pretrained", "models.conditional.PretrainedLM")
GB = 1e9


def examine(config: DictConfig, unresolved: Mapping[str, Any]) -> int:
    """Prints what a run of a resolved configuration needs; returns 0 if all is here or will be fetched, else 2.

    `unresolved` has the settings as typed, with references to others.
    """
    settings: Any = OmegaConf.to_container(config)
    lacking: list[str] = []
    print(f"{config.name}: {describe_data(config, lacking)}")
    used = choose_judges(settings["experiment"])
    names = dict.fromkeys(find_checkpoints(used))
    rows = [describe_checkpoint(name, unresolved, lacking) for name in names]
    if rows:
        print(Table("Checkpoints", "", rows).to_markdown())
    download = sum(row.get("GB to download", 0.0) for row in rows)
    print(f"to download: {download:.2f} GB of weights")
    if not lacking:
        return 0
    listed = [f"- {what}" for what in lacking]
    terminal.say("\n".join(["missing:", *listed]))
    return 2


def choose_judges(experiment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the settings of the experiment without discriminators (of OUMG) that the run does not use."""
    judges = experiment.get("discriminators")
    if not isinstance(judges, Mapping) or "kinds" not in judges:
        return experiment
    used = [judges["judges"].get(kind) for kind in judges["kinds"]]
    return {**experiment, "discriminators": used}


def find_checkpoints(experiment: Any) -> Iterator[str]:
    """Yields the names of pretrained models in an experiment's settings."""
    for _, node in walk(experiment):
        if not isinstance(node, Mapping):
            continue
        is_named = node.get("_target_") in NAMED
        for key in (*KEYS, "name") if is_named else KEYS:
            if isinstance(node.get(key), str):
                yield node[key]


def describe_checkpoint(name: str, unresolved: Mapping[str, Any], lacking: list[str]) -> dict[str, Any]:
    """Makes the table row of a checkpoint; adds a missing checkpoint to `lacking`."""
    places = ", ".join(name_settings(unresolved, name))
    row: dict[str, Any] = {"model": name, "settings": places, "state": "here"}
    if find_folder(encoder_source(name)) is not None:
        return row
    size = "size not known"
    known = PUBLISHED.get(name)
    if known is not None:
        row["GB to download"] = known.download / GB
        size = f"{known.download / GB:.2f} GB"
    if unresolved["network"]:
        return {**row, "state": f"will be fetched ({size})"}
    missing = f"missing ({size})"
    lacking.append(f"{places}={name}: {missing}; network=true fetches it, or name a folder")
    return {**row, "state": missing}


def describe_data(config: DictConfig, lacking: list[str]) -> str:
    """Describes the data sets of the run. Adds missing files that the run will not fetch to `lacking`."""
    data = config.get("data")
    if data is None or "_target_" not in data:
        return "no data sets of its own"
    given = {"download": False} if "download" in data else {}
    try:
        corpus = instantiate(data, _convert_="all", **given)
        if isinstance(corpus, Corpus) and corpus.iwf is not None and not (config.model or {}).get("iwf"):
            corpus.iwf()
    except (InputError, SettingError, InstantiationException) as error:
        faults = [cause for cause in causes(error) if isinstance(cause, InputError | SettingError)]
        if not faults:
            raise
        fault = faults[0]
        lines = fault.faults if isinstance(fault, InputError) else [str(fault)]
        is_fetched = config.network and data.get("download")
        files = {line: is_fetched and find_public(line) for line in lines}
        lacking += [f"data: {line}" for line, file in files.items() if not file]
        fetched = [f"{file} will be fetched (size not known)" for file in files.values() if file]
        return "; ".join(fetched) or "data missing"
    if not isinstance(corpus, Corpus):
        return "data that the run reads itself: not checked here"
    sets = [f"{rated.name} ({len(rated.examples)})" for rated in corpus.rated]
    counts = f"{len(corpus.train)} training texts, {len(corpus.held_out)} held out"
    return f"data {corpus.name}, {counts}, {', '.join(sets) or 'no rated set'}"


def find_public(line: str) -> str:
    """Finds the public file that a fault is about, if it can be fetched; else ""."""
    place, _, _ = line.partition(": ")
    public = (file.name for name, file in PUBLIC_FILES.items() if place.endswith(name) and file.is_fetchable)
    return next(public, "")
