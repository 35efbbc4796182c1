"""Lists the checkpoints and sets that a run needs, and which are missing on this machine (`dry_run=true`).

The hub is not asked: `models.published` has the sizes of published checkpoints.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.errors import InputError, SettingError, causes
from data.corpus import Corpus
from data.download import PUBLIC_FILES
from experiments.runner import hardware
from experiments.runner.configuration import name_settings, walk
from models.devices import count_weights
from models.encoders import encoder_source
from models.folders import find_folder
from models.published import PUBLISHED
from report import terminal
from report.tables import Table

# Where a configuration names a model: these keys, and `name` of these targets
KEYS = ("encoder", "model", "language_model", "generator", "bart", "bleurt")
NAMED = ("experiments.training.Pretrained", "models.conditional.PretrainedLM")
TOKENIZERS = ("iwf_tokenizer",)  # of these models the vocabulary alone is read
GB = 1e9


def examine(config: DictConfig, unresolved: Mapping[str, Any]) -> int:
    """Prints what a run of a resolved configuration needs; returns 0 if all is here or will be fetched, else 2.

    `unresolved` has the settings as typed, with references to others.
    """
    settings: Any = OmegaConf.to_container(config)
    lacking: list[str] = []
    try:
        hardware.check_devices(settings)
    except SettingError as fault:
        lacking.append(str(fault))
    print(f"{config.name}: {describe_data(config, lacking)}")
    named = dict.fromkeys(find_checkpoints(choose_judges(settings["experiment"])))
    rows = [describe_checkpoint(name, has_weights, unresolved, lacking) for name, has_weights in named]
    if rows:
        print(Table("Checkpoints", "", rows).to_markdown())
    print(f"to download: {sum(row.get('GB to download', 0.0) for row in rows):.2f} GB of weights")
    if lacking:
        terminal.say("\n".join(["missing:", *(f"- {what}" for what in lacking)]))
    return 2 if lacking else 0


def choose_judges(experiment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the settings of the experiment without discriminators (of OUMG) that the run does not use."""
    judges = experiment.get("discriminators")
    if not isinstance(judges, Mapping) or "kinds" not in judges:
        return experiment
    chosen = {kind: plan for kind, plan in judges["judges"].items() if kind in judges["kinds"]}
    return {**experiment, "discriminators": {**judges, "judges": chosen}}


def find_checkpoints(experiment: Any) -> Iterator[tuple[str, bool]]:
    """Yields the names of pretrained models in an experiment's settings, and whether their weights are read."""
    for _, node in walk(experiment):
        is_named = isinstance(node, Mapping) and node.get("_target_") in NAMED
        for key, value in node.items() if isinstance(node, Mapping) else ():
            if key in TOKENIZERS and "/" in str(value):
                yield value, False
            elif isinstance(value, str) and (key in KEYS or (key == "name" and is_named)):
                yield value, True


def holds_weights(folder: Path) -> bool:
    """Whether a model's folder has weights."""
    return bool(count_weights(folder)) or any(folder.glob("*.bin"))


def describe_checkpoint(
    name: str, has_weights: bool, unresolved: Mapping[str, Any], lacking: list[str]
) -> dict[str, Any]:
    """Makes the table row of a checkpoint; adds a missing checkpoint to `lacking`."""
    places = ", ".join(name_settings(unresolved, name))
    row: dict[str, Any] = {"model": name, "settings": places, "state": "here"}
    try:
        folder = find_folder(encoder_source(name))
        is_whole = folder is not None and (not has_weights or holds_weights(folder))
    except (SettingError, InputError) as fault:
        lacking.append(f"{places}={name}: {fault}")
        return {**row, "state": "faulty"}
    if is_whole:
        return row
    known = PUBLISHED.get(name)
    size = f"{known.download / GB:.2f} GB" if known else "size not known"
    if has_weights and known:
        row["GB to download"] = known.download / GB
    size = size if has_weights else "vocabulary alone"
    if unresolved["network"] and folder is None:
        return {**row, "state": f"will be fetched ({size})"}
    row["state"] = f"{'missing' if folder is None else 'weights missing'} ({size})"
    lacking.append(f"{places}={name}: {row['state']}; network=true fetches it, or name a folder")
    return row


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
        return describe_faults(error, bool(config.network and data.get("download")), lacking)
    if not isinstance(corpus, Corpus):
        return "data that the run reads itself: not checked here"
    sets = ", ".join(f"{rated.name} ({len(rated.examples)})" for rated in corpus.rated) or "no rated set"
    return f"data {corpus.name}, {len(corpus.train)} training texts, {len(corpus.held_out)} held out, {sets}"


def describe_faults(error: Exception, has_download: bool, lacking: list[str]) -> str:
    """Describes data sets that cannot be read. Adds those that the run will not fetch to `lacking`."""
    fault = next((cause for cause in causes(error) if isinstance(cause, InputError | SettingError)), None)
    if fault is None:
        raise error
    fetched: list[str] = []
    lines = fault.faults if isinstance(fault, InputError) else [str(fault)]
    for line in lines:
        place = line.partition(": ")[0]
        public = next((file for name, file in PUBLIC_FILES.items() if place.endswith(name)), None)
        if has_download and public is not None and public.is_fetchable:
            fetched.append(f"{public.name} will be fetched (size not known)")
        else:
            lacking.append(f"data: {line}")
    return "; ".join(fetched) or "data missing"
