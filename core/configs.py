"""The folder `configs/`: experiments, metrics and the settings that they start from, as YAML files."""

from pathlib import Path

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
