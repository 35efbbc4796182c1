"""Doctor: what a run needs, before its hours: checkpoints, data, memory, devices, and how long its training takes.

Of a checkpoint it reads the headers alone, unless a step of its training can be measured here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.example import Example
from core.faults import InputFaults, SettingFault
from data.corpus import Corpus
from data.sentences import make_splitter
from experiments.runner.configuration import complete_experiment
from experiments.runner.execution import BAD_INPUT, FINE, name_settings, set_library_defaults
from experiments.runner.hardware import check_devices, check_trainer
from experiments.runner.journal import journal, quiet_libraries
from experiments.runner.terminal import say
from experiments.runner.trust import walk

if TYPE_CHECKING:
    import torch

# Where a configuration names a model: these keys, and `name` of these targets
KEYS = ("encoder", "model", "language_model", "generator", "bart", "bleurt")
NAMED = ("experiments.training.Pretrained", "models.conditional.PretrainedLM")
TOKENIZERS = ("iwf_tokenizer",)  # of these models the vocabulary alone is read
LORA = "models.training.Lora"
TRAINS = {"schedule", "training"}  # keys of a plan
ADAMW = 16  # bytes for each parameter that is trained: weights, gradients and two moments in float32
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
TEXT = 4  # ASCII characters for each token, about; any other character is one
SPEEDS = {"cpu": 5e10, "32": 1e13, "16": 1e14}  # FLOP/s: of a CPU, of a GPU by precision (a third of an A100's peak)


class Use(NamedTuple):
    """What an experiment does with a pretrained model at one place."""

    # bytes of a weight where the model is read
    itemsize: int
    # the plan that trains it
    plan: Mapping[str, Any] | None
    only_tokenizer: bool

    @property
    def frozen(self) -> int:
        """Bytes of a weight that LoRA freezes; 0 where all weights are trained."""
        return self.itemsize if self.plan and (self.plan.get("schedule") or {}).get("lora") else 0


def examine(configs: Sequence[DictConfig]) -> int:
    """Prints what each run needs; returns 0 where all is here or will be fetched, else 2.

    Raises SettingFault for settings that no run can have.
    """
    with journal():
        return max(map(_examine, configs))


def _examine(config: DictConfig) -> int:
    set_library_defaults(network=config.network)
    plain: Any = OmegaConf.to_container(config)
    experiment = complete_experiment(plain)  # checks targets and their settings
    quiet_libraries()
    judges = experiment.get("discriminators") or {}  # of OUMG, of which a run takes some kinds
    for kind in {*judges.get("judges", ())}.difference(judges.get("kinds", ())):
        del judges["judges"][kind]
    lacking: list[str] = []
    device = _check_hardware(config, plain, lacking)
    found = find_checkpoints(experiment, (plain.get("model") or {}).get("dtype"))
    trained = [use.plan for uses in found.values() for use in uses if use.plan is not None]
    plans = [(place, node) for place, node in walk(experiment) if isinstance(node, Mapping) and {*node} & TRAINS]
    scratch = [place for place, node in plans if not any(node is plan for plan in trained)]
    trains = f"trains on {_name_device(device)} with precision {plain['trainer']['precision']}"
    print(f"{plain['name']}: {trains if plans else 'nothing trains'}")
    texts = _read_data(plain, lacking)
    fetched = sum(_describe(name, uses, plain, texts, device, lacking) for name, uses in found.items())
    for place in scratch:
        print(f"trains from scratch: {place}; its hours are not known")
    print(f"to download: {_size(fetched)} of weights. Hours are of one training or one reading; a run may have several")
    if lacking:
        say("\n".join(["missing:", *(f"- {each}" for each in lacking)]))
    return BAD_INPUT if lacking else FINE


def find_checkpoints(
    node: Any, dtype: str | None, plan: Mapping[str, Any] | None = None, found: dict[str, list[Use]] | None = None
) -> dict[str, list[Use]]:
    """By name the pretrained models of a completed experiment and what it does with them.

    A metric says its dtype; what experiments load themselves has `dtype`.
    """
    found = {} if found is None else found
    if not isinstance(node, Mapping):
        return found
    is_named, plan = node.get("_target_") in NAMED, node if {*node} & TRAINS else plan
    for key, value in node.items():
        is_model = key in KEYS or (key == "name" and is_named) or (key in TOKENIZERS and "/" in str(value))
        if isinstance(value, Mapping):
            find_checkpoints(value, dtype, plan, found)
        elif is_model and isinstance(value, str) and node.get("base_url") is None:  # no model behind an address
            itemsize = BYTES[node.get("dtype") or (dtype if is_named else None) or "float32"]
            found.setdefault(value, []).append(Use(itemsize, plan, key in TOKENIZERS))
    return found


class Texts(NamedTuple):
    """Tokens of the data, about; 0 where files are missing."""

    training: int = 0
    rated: int = 0
    # of the longest training text
    longest: int = 0


def _describe(
    name: str,
    uses: Sequence[Use],
    config: Mapping[str, Any],
    texts: Texts,
    device: torch.device | None,
    lacking: list[str],
) -> float:
    """Prints a checkpoint; returns the bytes to download."""
    from models.devices import count_weights, free_memory
    from models.encoders import encoder_source
    from models.folders import find_folder, find_weights
    from models.published import PUBLISHED

    places = ", ".join(name_settings(config, name))
    if Path(name).is_file():
        print(f"{name} ({places}): here, a file of word vectors")
        return 0
    only_tokenizer = all(use.only_tokenizer for use in uses)
    try:
        source = encoder_source(name)
        folder, files = find_folder(source), find_weights(source)
        is_whole = folder is not None and (bool(files) or only_tokenizer)
        known = PUBLISHED.get(name)
        count = count_weights(source) if is_whole or known is None else known.parameters
    except (SettingFault, InputFaults) as fault:
        lacking.append(f"{places}={name}: {fault}")
        return 0
    download = known.download if known and not is_whole and not only_tokenizer else 0
    state = "here" if is_whole else "weights missing" if folder is not None else "missing"
    if not is_whole:
        can_fetch = config["network"] and not Path(name).exists()
        size = "vocabulary alone" if only_tokenizer else _size(known.download) if known else "size not known"
        state = f"{'will be fetched' if can_fetch else state} ({size})"
        if not can_fetch:
            hint = "" if config["network"] else "; network=true fetches it, or name a folder"
            lacking.append(f"{places}={name}: {state}{hint}")
    print(f"{name} ({places}): {state}")
    if only_tokenizer:
        return download
    if count is None:
        print("  number of parameters not known here, so neither memory nor hours")
        return download
    memory = _size(count * max(use.itemsize for use in uses))
    print(f"  {count / 1e6:.0f} M parameters; {memory} of memory to score or sample")
    trained = {id(use.plan): use for use in uses if use.plan is not None}.values()
    for use in trained:
        assert use.plan is not None
        training = count * (use.frozen or ADAMW)
        what = "frozen weights, LoRA's matrices besides" if use.frozen else "weights, gradients and AdamW's state"
        print(f"  {_size(training)} of memory to train ({what}), and activations")
        if known and known.shape and texts.longest:
            print(f"  {describe_activations(known.shape, use.plan, texts.longest, config)}")
        free = None if device is None else free_memory(device)
        fits = free is None or training <= free
        if not fits:
            lacking.append(f"{places}={name}: training needs {_size(training)}, {device} has {_size(free or 0)} free")
        can_measure = is_whole and fits and device is not None and not use.frozen
        print(f"  {_time(count, use.plan, config, texts.training, str(source) if can_measure else None, device)}")
    if not trained and texts.rated:
        speed = _speed(config, device)
        hours = _hours(2 * count * texts.rated / speed)
        print(f"  {hours} for each time that it reads the rated texts, computed: {_basis(2, speed)}")
    return download


def describe_activations(
    shape: tuple[int, int, int, int], plan: Mapping[str, Any], longest: int, config: Mapping[str, Any]
) -> str:
    """The memory of the encoder's activations for the longest texts.

    Korthikanti et al. 2023, section 4.1, for any width of the feed-forward layers: a token takes 15 h + 4 f + 5 a s
    bytes a layer in 16 bits, in a text of s tokens.
    """
    layers, width, inner, heads = shape
    length = min(longest, plan["learns"]["max_length"])
    tokens = length * max(1, (plan["schedule"].get("token_budget") or length) // length)
    layer = tokens * (15 * width + 4 * inner + 5 * heads * length)
    recomputed = plan["schedule"].get("checkpointing")
    sixteen = layer + layers * 2 * width * tokens if recomputed else layers * layer
    size = _size(sixteen if "16" in str(config["trainer"]["precision"]) else 2 * sixteen)
    return (
        f"{size} of activations, computed, for {tokens:,} tokens at once in texts of {length:,}, the longest it reads"
    )


def _time(
    count: int, plan: Mapping[str, Any], config: Mapping[str, Any], texts: int, source: str | None, device: Any
) -> str:
    """How long one training takes, and where that figure comes from."""
    training = plan.get("schedule") or plan["training"]
    passes = training.get("epochs", 1) * plan.get("tasks_per_text", 1)
    if not texts:
        return f"hours of training not known without texts ({passes} passes)"
    read = texts * passes * (1 if "schedule" in plan else 2)  # a classifier reads a text and its counterpart
    said = f"for {passes} passes, {read / 1e6:.1f} M tokens or fewer"
    if source is not None:
        seconds = measure_step(source, device, str(config["trainer"]["precision"]))
        return f"{_hours(seconds * read)} to train {said}, from a step measured on {device}"
    speed = _speed(config, device)
    return f"{_hours(6 * count * read / speed)} to train {said}, computed: {_basis(6, speed)}"


def measure_step(source: str, device: torch.device, precision: str) -> float:
    """Seconds for each token of a training step: forward, backward and AdamW, on 4 rows of at most 128 tokens.

    The first of two steps is not counted.
    """
    import torch
    from transformers import AutoModel

    from models.loading import load_pretrained

    model: Any = load_pretrained(AutoModel.from_pretrained, source).to(device).train()
    longest = getattr(model.config, "max_position_embeddings", None) or 256
    ids = torch.zeros(4, min(128, longest // 2), dtype=torch.long, device=device)
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    given |= {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    optimizer, times = torch.optim.AdamW(model.parameters()), []
    for _ in range(2):
        started = perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=precision.startswith("bf16")):
            loss = model(**given)[0].float().mean()
        loss.backward()
        optimizer.step()
        next(model.parameters()).flatten()[0].item()  # waits for the device
        times.append(perf_counter() - started)
    return times[-1] / ids.numel()


def _read_data(config: Mapping[str, Any], lacking: list[str]) -> Texts:
    """Reads the data and prints its sets."""
    from data.download import PUBLIC_FILES

    data = config.get("data")
    if not isinstance(data, Mapping) or "_target_" not in data:
        print("data: none of its own")
        return Texts()
    try:
        corpus = instantiate({**data, **({"download": False} if "download" in data else {}), "_convert_": "all"})
        if isinstance(corpus, Corpus) and corpus.iwf is not None and not (config["model"] or {}).get("iwf"):
            corpus.iwf()
    except (InputFaults, SettingFault, InstantiationException) as error:
        fault = error.__cause__ if isinstance(error, InstantiationException) else error  # Hydra wraps it
        if not isinstance(fault, InputFaults | SettingFault):
            raise
        for each in fault.faults if isinstance(fault, InputFaults) else [str(fault)]:
            place = each.partition(": ")[0]
            file = next((file for name, file in PUBLIC_FILES.items() if place.endswith(name)), None)
            if data.get("download") and file is not None and file.sha256 is not None:
                print(f"data: {file.name} will be fetched (size not known)")
            else:
                lacking.append(f"data: {each}")
        return Texts()
    if not isinstance(corpus, Corpus):
        print("data: read by the run itself")
        return Texts()
    rated = ", ".join(f"{each.name} ({len(each.examples)})" for each in corpus.rated) or "no rated set"
    print(f"data {corpus.name}: here; {len(corpus.train)} training texts, {len(corpus.held_out)} held out, {rated}")
    training = [*map(_tokens, corpus.train)]
    return Texts(
        sum(training), sum(_tokens(x) for each in corpus.rated for x in each.examples), max(training, default=0)
    )


def _tokens(example: Example) -> int:
    text = " ".join([example.text or "", *(example.turns or ())])
    plain = len(text.encode("ascii", "ignore"))
    return plain // TEXT + len(text) - plain


def _check_hardware(config: DictConfig, plain: Mapping[str, Any], lacking: list[str]) -> torch.device | None:
    """The device that trains; what this machine lacks goes to `lacking`: devices, a library, NLTK's data."""
    device = None
    with _gather(lacking):
        check_devices(plain)
    with _gather(lacking):
        device = check_trainer(config.trainer)
    for place, value in walk({"model": plain.get("model"), "metric": plain.get("metric")}):
        if isinstance(value, Mapping) and value.get("_target_") == LORA and find_spec("peft") is None:
            lacking.append(f"{place}: peft is not installed: pip install -e '.[peft]'")
        if place.endswith("sentence_split") and isinstance(value, str):
            with _gather(lacking, f"{place}: "):
                make_splitter(value)
    return device


@contextmanager
def _gather(lacking: list[str], place: str = "") -> Iterator[None]:
    try:
        yield
    except SettingFault as fault:
        lacking.append(f"{place}{fault}")


def _name_device(device: torch.device | None) -> str:
    from torch import cuda

    return cuda.get_device_name(device) if device and device.type == "cuda" else str(device or "a device not here")


def _speed(config: Mapping[str, Any], device: torch.device | None) -> float:
    if device is not None and device.type == "cpu":
        return SPEEDS["cpu"]
    return SPEEDS["16" if "16" in str(config["trainer"]["precision"]) else "32"]


def _basis(factor: int, speed: float) -> str:
    return f"{factor} x parameters x tokens at {speed / 1e12:g} TFLOP/s, {TEXT} ASCII characters, or one other, a token"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2g} hours"


def _size(count: float) -> str:
    return f"{count / 1e9:.2f} GB"
