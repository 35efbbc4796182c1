"""Settings and fixtures of all tests: no network, no display, few threads, and real data where it is at hand."""

import os
from pathlib import Path

# Set before any library is imported, because they read these once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["WANDB_MODE"] = "offline"
os.environ["WANDB_SILENT"] = "true"
os.environ["MPLBACKEND"] = "Agg"
os.environ["OMP_NUM_THREADS"] = str(min(2, int(os.environ.get("OMP_NUM_THREADS", "2"))))  # torch reads it

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data: `$SHARED_DATA`, else `../shared/data` beside the repository; skips where there is none.

    Fails, rather than skip, where `SHARED_DATA` names no folder, and in CI where `../shared` is there without its data.
    """
    named = os.environ.get("SHARED_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"SHARED_DATA must name a folder, but {named} is none")
    if os.environ.get("CI") and folder.parent.exists():
        pytest.fail(f"CI must test with the real data, but {folder} is missing")
    pytest.skip(f"no real data: {folder} is missing and SHARED_DATA is not set")
