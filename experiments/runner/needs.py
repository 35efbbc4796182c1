"""Lists the checkpoints and sets that a run needs, and which are missing on this machine (`dry_run=true`).

The hub is not asked: `models.published` has the sizes of published checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.errors import InputError, SettingError, causes
from data.corpus import Corpus
from data.download import PUBLIC_FILES
from experiments.runner import hardware
from experiments.runner.configuration import name_settings
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
TRAINS = {"schedule", "training"}  # keys of a plan
ADAMW = 16  # bytes for each parameter that is trained: weights, gradients and two moments in float32
FROZEN = -1  # for LoRA: the bytes of a weight as it is read
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
GB = 1e9
CAPTION = (
    "Memory to train is that of weights, gradients and AdamW's state, or of frozen weights, beside which LoRA's "
    "matrices are small; activations come on top."
)


class CheckpointUse(NamedTuple):
    """How an experiment uses a pretrained model at one place of its settings."""

    # bytes of a weight where the model is read; 0 where its vocabulary alone is
    itemsize: int
    # bytes of memory for a weight where it is trained; 0 where it is not
    trained: int


def examine(config: DictConfig, unresolved: Mapping[str, Any]) -> int:
    """Prints what a run of a resolved configuration needs; returns 0 if all is here or will be fetched, else 2.

    `unresolved` has the settings as typed, with references to others.
    """
    settings: Any = OmegaConf.to_container(config)
    lacking: list[str] = []
    with gather(lacking):
        hardware.check_devices(settings)
    print(f"{config.name}: {describe_data(config, lacking)}")
    uses: dict[str, list[CheckpointUse]] = {}
    for name, use in find_checkpoints(choose_judges(settings["experiment"]), settings.get("model")):
        uses.setdefault(name, []).append(use)
    rows = [describe_checkpoint(name, of_name, unresolved, lacking) for name, of_name in uses.items()]
    if rows:
        terminal.console().print(Table("Checkpoints", CAPTION, rows).to_terminal(terminal.WIDTH_OF_A_FILE))
    fetched = sum(row.get("GB to download", 0.0) for row in rows)
    print(f"to download: {fetched:.2f} GB of weights")
    if lacking:
        terminal.say("\n".join(["missing:", *(f"- {what}" for what in lacking)]))
    return 2 if lacking else 0


@contextmanager
def gather(lacking: list[str]) -> Iterator[None]:
    """Catches a SettingError of the block, and adds its message to the list `lacking`."""
    try:
        yield
    except SettingError as fault:
        lacking.append(str(fault))


def choose_judges(experiment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the settings of the experiment without discriminators (of OUMG) that the run does not use."""
    judges = experiment.get("discriminators")
    if not isinstance(judges, Mapping) or "kinds" not in judges:
        return experiment
    chosen = {kind: plan for kind, plan in judges["judges"].items() if kind in judges["kinds"]}
    return {**experiment, "discriminators": {**judges, "judges": chosen}}


def find_checkpoints(node: Any, model: Any, trained: int = 0) -> Iterator[tuple[str, CheckpointUse]]:
    """Yields the pretrained models in an experiment's settings, at `node` or below, by name, with how each is used.

    A metric has its own dtype; models that experiments load have the dtype of `model`. `trained` is the number of bytes
    per weight that training needs, if the node is part of a plan. `FROZEN` is the number of bytes of a weight as it is
    read.
    """
    is_named = node.get("_target_") in NAMED
    if TRAINS & node.keys():
        training = node.get("schedule") or node["training"]
        trained = FROZEN if training.get("lora") else ADAMW
    of_models = model.get("dtype") if is_named and isinstance(model, Mapping) else None
    itemsize = BYTES.get(node.get("dtype") or of_models or "float32", 4)
    to_train = itemsize if trained == FROZEN else trained
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from find_checkpoints(value, model, trained)
        elif key in TOKENIZERS and "/" in str(value):
            yield value, CheckpointUse(0, to_train)
        elif isinstance(value, str) and (key in KEYS or (key == "name" and is_named)):
            yield value, CheckpointUse(itemsize, to_train)


def describe_checkpoint(
    name: str, uses: Sequence[CheckpointUse], unresolved: Mapping[str, Any], lacking: list[str]
) -> dict[str, Any]:
    """Makes the table row of a checkpoint; adds a missing checkpoint to `lacking`."""
    places = ", ".join(name_settings(unresolved, name))
    row: dict[str, Any] = {"model": name, "settings": places, "state": "here"}
    itemsize = max(use.itemsize for use in uses)
    known = PUBLISHED.get(name)
    try:
        folder = find_folder(encoder_source(name))
        count = None if folder is None else count_weights(folder)  # of a folder the hub is not asked
        is_whole = folder is not None and (not itemsize or count is not None or any(folder.glob("*.bin")))
    except (SettingError, InputError) as fault:
        lacking.append(f"{places}={name}: {fault}")
        return {**row, "state": "faulty"}
    if not is_whole:
        is_file = Path(name).exists()
        size = describe_size(name, itemsize)
        if unresolved["network"] and not is_file:
            row["state"] = f"will be fetched ({size})"
        else:
            lost = "missing" if folder is None else "weights missing"
            row["state"] = f"{lost} ({size})"
            hint = "" if is_file else "; network=true fetches it, or name a folder"
            lacking.append(f"{places}={name}: {row['state']}{hint}")
        if itemsize and known is not None:
            row["GB to download"] = known.download / GB
            count = known.parameters
    if itemsize and count is not None:
        row["parameters (M)"] = round(count / 1e6)
        row["GB to score or sample"] = count * itemsize / GB
        to_train = max(use.trained for use in uses)
        if to_train:
            row["GB to train"] = count * to_train / GB
    return row


def describe_size(name: str, itemsize: int) -> str:
    """Describes the size of a checkpoint's download.

    `itemsize` is bytes per weight, 0 if only the vocabulary is read.
    """
    if not itemsize:
        return "vocabulary alone"
    known = PUBLISHED.get(name)
    return f"{known.download / GB:.2f} GB" if known else "size not known"


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
