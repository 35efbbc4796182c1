"""Settings and fixtures of all tests: no network, no display, few threads, real data where it is at hand, a BERT."""

import os
from collections.abc import Callable, Sequence
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


@pytest.fixture(scope="session")
def saved_bert(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a random BERT with two heads and a word-piece tokenizer over `pieces`; returns its folder."""
    import torch  # here, for the rooms that need no model
    from transformers import BertConfig, BertModel, BertTokenizer

    def save(pieces: Sequence[str], dimension: int, layers: int, longest: int) -> Path:
        folder = tmp_path_factory.mktemp("bert")
        vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]
        (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
        BertTokenizer(str(folder / "vocab.txt"), model_max_length=longest).save_pretrained(folder)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=dimension,
            num_hidden_layers=layers,
            num_attention_heads=2,
            intermediate_size=2 * dimension,
            max_position_embeddings=longest,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            BertModel(config).save_pretrained(folder)
        return folder

    return save
