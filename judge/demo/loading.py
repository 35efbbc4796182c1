"""The models of the demo page. Apart from its settings, which are read before a library asks for the hub's."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.notes import read_note
from core.scores import Metric
from discriminators.discriminator import Discriminator
from discriminators.guides import CausalGuide, load_guide
from judge.demo.judging import load_metrics
from judge.demo.settings import DemoSettings
from models.causal import CausalLM

GENERATOR, GUIDE = "generator", "guide_"  # folders of models


@dataclass(frozen=True)
class DemoModels:
    """The models of the page."""

    folder: str  # as the user gave it
    generator: CausalLM | None  # None without a generator and a guide
    guides: Mapping[str, CausalGuide | Discriminator]  # by label
    metrics: Mapping[str, Metric]  # by name
    notes: tuple[str, ...] = ()  # what a reader of their scores must know (`core.notes`)

    @classmethod
    def load(cls, settings: DemoSettings) -> "DemoModels":
        folder = Path(settings.models)
        guides = {path.name.removeprefix(GUIDE): path for path in sorted(folder.glob(f"{GUIDE}*"))}
        source = settings.generator or str(folder / GENERATOR)
        is_there = settings.generator is not None or Path(source).is_dir()
        generator = None
        loaded: dict[str, CausalGuide | Discriminator] = {}
        if guides and is_there:
            generator = CausalLM.from_pretrained(source, settings.device, settings.dtype)
            loaded = {name: load_guide(path, settings.device) for name, path in guides.items()}
        names = sorted(folder.iterdir()) if folder.is_dir() else []
        notes = tuple(dict.fromkeys(note for name in names for note in read_note(name)))
        metrics = load_metrics(folder, settings.device)
        return cls(settings.models, generator=generator, guides=loaded, metrics=metrics, notes=notes)
