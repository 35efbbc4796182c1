"""The models of the demo page."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.notes import read_note
from core.scores import Metric
from discriminators.discriminator import Discriminator
from discriminators.guides import load_guide
from judge.browser.judging import load_metrics
from models.causal import CausalLM

GENERATOR, GUIDE = "generator", "guide_"  # folders of models


@dataclass(frozen=True)
class DemoModels:
    """The models of the page."""

    folder: str  # as the user gave it
    writer: str  # what the page calls the generator
    generator: CausalLM | None  # None without a generator and a guide
    guides: Mapping[str, Discriminator]  # by label
    metrics: Mapping[str, Metric]  # by name
    notes: tuple[str, ...] = ()  # what a reader of their scores must know (`core.notes`)

    @classmethod
    def load(
        cls,
        folder: str,
        generator: str | None = None,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "DemoModels":
        """Loads the models of a folder, and a generator of another place (a folder or a name of the hub)."""
        path = Path(folder)
        source = generator or str(path / GENERATOR)
        guides = sorted(path.glob(f"{GUIDE}*"))
        has_generator = bool(guides) and (generator is not None or Path(source).is_dir())
        return cls(
            folder,
            writer="A small language model" if generator is None else Path(generator).name,
            generator=CausalLM.from_pretrained(source, device, dtype) if has_generator else None,
            guides={each.name.removeprefix(GUIDE): load_guide(each, device) for each in guides if has_generator},
            metrics=load_metrics(path, device),
            notes=read_notes(path),
        )


def read_notes(folder: Path) -> tuple[str, ...]:
    """Lists the notes of the models in a folder, each once."""
    if not folder.is_dir():
        return ()
    notes: list[str] = []
    for path in sorted(folder.iterdir()):
        notes += read_note(path)
    return tuple(dict.fromkeys(notes))
