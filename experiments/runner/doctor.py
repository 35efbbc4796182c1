"""Doctor: what a run needs, before its hours: checkpoints, data, memory, devices, and how long its training takes.

Of a checkpoint it reads the headers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.errors import InputError, SettingError
from core.example import Example
from data.corpus import Corpus
from data.sentences import make_splitter
from experiments.runner.configuration import complete_experiment
from experiments.runner.execution import BAD_INPUT, FINE, name_settings, set_library_defaults
from experiments.runner.hardware import check_devices, check_trainer
from experiments.runner.journal import journal, quiet_libraries
from experiments.runner.trust import walk
from judge import terminal
from judge.tables import Table

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
GB = 1e9
CAPTION = (
    "Memory to train is that of weights, gradients and AdamW's state, or of frozen weights, beside which LoRA's "
    "matrices are small; activations come on top. Hours are of one training or one reading; a run may have several. "
    "They are computed: 6 x parameters x tokens for a training and 2 x for a reading, at {speed:g} TFLOP/s, with "
    "{text} ASCII characters, or one other, a token."
)


class Use(NamedTuple):
    """What an experiment does with a pretrained model at one place."""

    # bytes of a weight where the model is read; 0 where its vocabulary alone is
    itemsize: int
    # the plan that trains it
    plan: Mapping[str, Any] | None


class Texts(NamedTuple):
    """Tokens of the data, about; 0 where files are missing."""

    training: int = 0
    rated: int = 0
    # of the longest training text
    longest: int = 0


def examine(configs: Sequence[DictConfig]) -> int:
    """Prints what each run needs; returns 0 where all is here or will be fetched, else 2.

    Raises SettingError for settings that no run can have.
    """
    with journal():
        return max(Examination(config).show() for config in configs)


class Examination:
    """What one run needs; `lacking` is what is missing of it."""

    def __init__(self, config: DictConfig) -> None:
        set_library_defaults(network=config.network)
        self.config: Any = OmegaConf.to_container(config)
        self.experiment = complete_experiment(self.config)  # checks targets and their settings
        quiet_libraries()
        self.lacking: list[str] = []
        self.precision = str(self.config["trainer"]["precision"])
        self.device = self._check_hardware(config)
        on_cpu = self.device is not None and self.device.type == "cpu"
        self.speed = SPEEDS["cpu" if on_cpu else "16" if "16" in self.precision else "32"]
        self.texts = Texts()

    def show(self) -> int:
        judges = self.experiment.get("discriminators") or {}  # of OUMG, of which a run takes some kinds
        for kind in {*judges.get("judges", ())}.difference(judges.get("kinds", ())):
            del judges["judges"][kind]
        found: dict[str, list[Use]] = {}
        for name, use in find_checkpoints(self.experiment, (self.config.get("model") or {}).get("dtype")):
            found.setdefault(name, []).append(use)
        trained = [use.plan for uses in found.values() for use in uses if use.plan is not None]
        plans = [(place, node) for place, node in walk(self.experiment) if _is_plan(node)]
        trains = f"trains on {self.device or 'a device not here'} with precision {self.precision}"
        print(f"{self.config['name']}: {trains if plans else 'nothing trains'}")
        print(self._read_data())
        rows = [row for name, uses in found.items() for row in self._describe(name, uses)]
        rows += [
            {"model": "from scratch", "settings": place, "state": "its hours are not known"}
            for place, node in plans
            if not any(node is plan for plan in trained)
        ]
        if rows:
            print(CAPTION.format(speed=self.speed / 1e12, text=TEXT))
            table = Table("Models", "", rows)
            terminal.console().print(table.to_terminal(terminal.WIDTH_OF_A_FILE))
        fetched = {row["model"]: row.get("GB to download", 0.0) for row in rows}
        print(f"to download: {sum(fetched.values()):.2f} GB of weights")
        if self.lacking:
            terminal.say("\n".join(["missing:", *(f"- {each}" for each in self.lacking)]))
        return BAD_INPUT if self.lacking else FINE

    def _describe(self, name: str, uses: Sequence[Use]) -> Iterator[dict[str, Any]]:
        """The rows of a checkpoint: one for each training, or one."""
        from models.devices import count_weights, free_memory
        from models.encoders import encoder_source
        from models.folders import find_folder, find_weights
        from models.published import PUBLISHED

        places = ", ".join(name_settings(self.config, name))
        row: dict[str, Any] = {"model": name, "settings": places, "state": "here"}
        itemsize = max(use.itemsize for use in uses)
        try:
            source = encoder_source(name)
            folder, files = find_folder(source), find_weights(source)
            is_whole = folder is not None and (bool(files) or not itemsize)
            known = PUBLISHED.get(name)
            count = count_weights(source) if is_whole or known is None else known.parameters
        except (SettingError, InputError) as fault:
            self.lacking.append(f"{places}={name}: {fault}")
            return
        if not is_whole:
            is_here = Path(name).exists()
            size = f"{known.download / GB:.2f} GB" if known else "size not known"
            size = size if itemsize else "vocabulary alone"
            row["state"] = f"{'missing' if folder is None else 'weights missing'} ({size})"
            if self.config["network"] and not is_here:
                row["state"] = f"will be fetched ({size})"
            else:
                hint = "" if is_here else "; network=true fetches it, or name a folder"
                self.lacking.append(f"{places}={name}: {row['state']}{hint}")
        if not itemsize or count is None:
            yield row
            return
        if known and not is_whole:
            row["GB to download"] = known.download / GB
        row["parameters (M)"] = round(count / 1e6)
        row["GB to score or sample"] = count * itemsize / GB
        trained = {id(use.plan): use for use in uses if use.plan is not None}.values()
        for use in trained:
            assert use.plan is not None
            training = use.plan.get("schedule") or use.plan["training"]
            needed = count * (use.itemsize if training.get("lora") else ADAMW)
            row["GB to train"] = needed / GB
            if known and known.shape and self.texts.longest:
                activations = count_activations(known.shape, use.plan, self.texts.longest, self.precision)
                row["GB of activations"] = activations / GB
            free = None if self.device is None else free_memory(self.device)
            if free is not None and needed > free:
                left = f"{self.device} has {free / GB:.2f} GB free"
                self.lacking.append(f"{places}={name}: training needs {needed / GB:.2f} GB, {left}")
            passes = training.get("epochs", 1) * use.plan.get("tasks_per_text", 1)
            read = self.texts.training * passes * (1 if "schedule" in use.plan else 2)  # a classifier: counterparts too
            hours = {"hours": 6 * count * read / self.speed / 3600} if read else {}
            counted = f"{passes} {'pass' if passes == 1 else 'passes'}"
            tokens = f"{read / 1e6:.1f} M" if read else "unknown"
            yield {**row, **hours, "of": f"{counted}, {tokens} tokens at most"}
        if not trained:
            reading = {"hours": 2 * count * self.texts.rated / self.speed / 3600, "of": "a reading of the rated texts"}
            yield row | (reading if self.texts.rated else {})

    def _read_data(self) -> str:
        from data.download import PUBLIC_FILES

        data = self.config.get("data")
        if not isinstance(data, Mapping) or "_target_" not in data:
            return "data: none of its own"
        try:
            corpus = instantiate({**data, **({"download": False} if "download" in data else {}), "_convert_": "all"})
            if isinstance(corpus, Corpus) and corpus.iwf is not None and not (self.config["model"] or {}).get("iwf"):
                corpus.iwf()
        except (InputError, SettingError, InstantiationException) as error:
            fault = error.__cause__ if isinstance(error, InstantiationException) else error  # Hydra wraps it
            if not isinstance(fault, InputError | SettingError):
                raise
            said: list[str] = []
            for each in fault.faults if isinstance(fault, InputError) else [str(fault)]:
                place = each.partition(": ")[0]
                file = next((file for name, file in PUBLIC_FILES.items() if place.endswith(name)), None)
                if data.get("download") and file is not None and file.is_fetchable:
                    said.append(f"data: {file.name} will be fetched (size not known)")
                else:
                    self.lacking.append(f"data: {each}")
            return "\n".join(said) or "data: missing"
        if not isinstance(corpus, Corpus):
            return "data: read by the run itself"
        training = [*map(_count_tokens, corpus.train)]
        rated = [_count_tokens(example) for each in corpus.rated for example in each.examples]
        self.texts = Texts(sum(training), sum(rated), max(training, default=0))
        sets = ", ".join(f"{each.name} ({len(each.examples)})" for each in corpus.rated) or "no rated set"
        return f"data {corpus.name}: {len(corpus.train)} training texts, {len(corpus.held_out)} held out, {sets}"

    def _check_hardware(self, config: DictConfig) -> torch.device | None:
        """The device that trains; devices, a library or NLTK's data that this machine lacks go to `lacking`."""
        from models.devices import check_device

        device = None
        with self._gather():
            check_devices(self.config)
        with self._gather():
            device = check_trainer(config.trainer)
        for place, value in walk({name: self.config.get(name) for name in ("model", "metric", "metrics")}):
            if isinstance(value, Mapping) and value.get("_target_") == LORA and find_spec("peft") is None:
                self.lacking.append(f"{place}: peft is not installed: pip install -e '.[peft]'")
            if place.endswith("sentence_split") and isinstance(value, str):
                with self._gather(f"{place}: "):
                    make_splitter(value)
            name = place.rpartition(".")[2]
            if place.startswith("metric") and name in ("device", "dtype") and isinstance(value, str):
                with self._gather(f"{place}: "):
                    check_device(**{"device": "cpu", name: value})
        return device

    @contextmanager
    def _gather(self, place: str = "") -> Iterator[None]:
        try:
            yield
        except SettingError as fault:
            self.lacking.append(f"{place}{fault}")


def find_checkpoints(node: Any, dtype: str | None, plan: Mapping[str, Any] | None = None) -> Iterator[tuple[str, Use]]:
    """The pretrained models of a completed experiment by name, and what it does with each.

    A metric says its dtype; what experiments load themselves has `dtype`.
    """
    is_named, plan = node.get("_target_") in NAMED, node if _is_plan(node) else plan
    for key, value in node.items():
        is_tokenizer = key in TOKENIZERS and "/" in str(value)
        if isinstance(value, Mapping):
            yield from find_checkpoints(value, dtype, plan)
        elif not isinstance(value, str) or node.get("base_url") is not None:  # no model behind an address
            continue
        elif is_tokenizer or key in KEYS or (key == "name" and is_named):
            itemsize = BYTES.get(node.get("dtype") or (dtype if is_named else None) or "float32", 4)
            yield value, Use(0 if is_tokenizer else itemsize, plan)


def count_activations(shape: tuple[int, int, int, int], plan: Mapping[str, Any], longest: int, precision: str) -> float:
    """Bytes of the encoder's activations for the longest texts.

    Korthikanti et al. 2023, section 4.1, for any width of the feed-forward layers: a token takes 15 h + 4 f + 5 a s
    bytes a layer in 16 bits, in a text of s tokens.
    """
    layers, width, inner, heads = shape
    length = min(longest, plan["learns"]["max_length"])
    tokens = length * max(1, (plan["schedule"].get("token_budget") or length) // length)
    layer = tokens * (15 * width + 4 * inner + 5 * heads * length)
    recomputed = plan["schedule"].get("checkpointing")
    sixteen = layer + layers * 2 * width * tokens if recomputed else layers * layer
    return sixteen if "16" in precision else 2 * sixteen


def _is_plan(node: Any) -> bool:
    return isinstance(node, Mapping) and bool({*node} & TRAINS)


def _count_tokens(example: Example) -> int:
    text = " ".join([example.text or "", *(example.turns or ())])
    plain = len(text.encode("ascii", "ignore"))
    return plain // TEXT + len(text) - plain
