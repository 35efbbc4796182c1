"""The models of the demo page.

This module is separate from the page's settings, which are read before a library asks for the settings of the hub.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.notes import read_note
from core.scores import Metric
from discriminators.discriminator import Discriminator
from discriminators.guides import CausalGuide, load_guide
from judge.browser.judging import load_metrics
from judge.browser.settings import DemoSettings
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
        guide_folders = sorted(folder.glob(f"{GUIDE}*"))
        source = settings.generator or str(folder / GENERATOR)
        is_there = settings.generator is not None or Path(source).is_dir()
        generator = None
        guides: dict[str, CausalGuide | Discriminator] = {}
        if guide_folders and is_there:
            generator = CausalLM.from_pretrained(source, settings.device, settings.dtype)
            for path in guide_folders:
                label = path.name.removeprefix(GUIDE)
                guides[label] = load_guide(path, settings.device)
        return cls(
            settings.models,
            generator=generator,
            guides=guides,
            metrics=load_metrics(folder, settings.device),
            notes=read_notes(folder),
        )


def read_notes(folder: Path) -> tuple[str, ...]:
    """Lists the notes of the models in a folder, each once."""
    if not folder.is_dir():
        return ()
    notes: list[str] = []
    for path in sorted(folder.iterdir()):
        notes += read_note(path)
    return tuple(dict.fromkeys(notes))
