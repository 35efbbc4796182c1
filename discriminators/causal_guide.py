"""A causal guide: the cost of a candidate does not grow with its prefix. It is ours; OUMG's guide is a Bi-LSTM.

A one-directional LSTM reads the generator's tokens and keeps the attention of the Bi-LSTM as a running softmax. A text
then has a logit at each position: one pass learns all its prefixes, and a candidate costs one step from the state of
its prefix. The Bi-LSTM has to read the prefix again for every candidate (`bilstm_guide`).
"""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from pytorch_lightning import LightningDataModule, Trainer
from pytorch_lightning.loggers import Logger
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from core.settings import Count, Share, checked_dataclass, read_settings
from core.stages import fingerprint
from discriminators.batches import pad_rows
from discriminators.causal_lstm import CausalLSTM
from discriminators.data_module import ClassifierBatch, LabelledText, RowBatches, load_rows, split_by_group
from discriminators.prefixes import SHORTEST
from discriminators.segments import TokenRow
from discriminators.training import DiscriminatorTraining, TrainingSettings, fit_classifier, is_finished, note_origin
from models.batching import batches_by_budget
from models.loading import load_pretrained, load_weights
from models.model import plain_token_ids

log = logging.getLogger(__name__)

SETTINGS = "guide.json"


@checked_dataclass
class SavedGuide:
    """The content of `guide.json`."""

    vocabulary_size: Count
    embedding_dim: Count
    hidden_dim: Count
    dropout: Share


@dataclass(frozen=True)
class CausalGuide:
    """A trained causal guide.

    Attributes:
        network: reads token ids.
        tokenizer: the generator's.
        settings: the arguments of the network, for `guide.json`.
    """

    network: CausalLSTM
    tokenizer: PreTrainedTokenizerBase
    settings: dict[str, Any]

    @torch.inference_mode()
    def logits(self, texts: Sequence[str], token_budget: int = 8192) -> NDArray[np.float64]:
        """One logit per text, read without an end token; 0 for a text without tokens."""
        encoded = plain_token_ids(self.tokenizer, texts)
        rows = [TokenRow(np.array(ids, dtype=np.int64), i, 1.0) for i, ids in enumerate(encoded) if ids]
        found = np.zeros(len(texts))
        training = self.network.training
        self.network.eval()
        for batch in batches_by_budget([len(row.ids) for row in rows], token_budget):
            ids, mask = (t.to(self.network.w.device) for t in pad_rows([rows[i] for i in batch], 0))
            last = self.network(ids, mask).gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)
            found[[rows[i].text for i in batch]] = last.double().cpu().numpy()
        self.network.train(training)
        return found

    def save_pretrained(self, folder: Path | str) -> None:
        """Write `guide.json`, the weights as safetensors and the tokenizer in the Hugging Face form."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save_pretrained(folder / "tokenizer")
        save_file(self.network.state_dict(), folder / "model.safetensors")
        (folder / SETTINGS).write_text(json.dumps(self.settings, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: Path | str, device: str | torch.device = "cpu") -> "CausalGuide":
        """What `save_pretrained` wrote. Raises FileNotFoundError for a folder without a `guide.json`, InputFaults with
        the file for a broken one.
        """
        folder = Path(folder)
        if not (folder / SETTINGS).is_file():
            raise FileNotFoundError(
                f"a causal guide is a folder with {SETTINGS}, but {folder} has none: train one there"
            )
        settings = read_settings(folder / SETTINGS, SavedGuide)
        network = load_weights(partial(CausalLSTM, **settings), folder / "model.safetensors")
        return cls(
            network.to(device).eval(), load_pretrained(AutoTokenizer.from_pretrained, folder / "tokenizer"), settings
        )


@checked_dataclass
class GuideShape:
    """The size of a causal guide.

    Attributes:
        embedding_dim, hidden_dim, dropout: see `CausalLSTM`.
        max_tokens: of a training text; a longer one is cut, so it has fewer prefixes.
    """

    embedding_dim: Count = 128
    hidden_dim: Count = 128
    dropout: Share = 0.3
    max_tokens: Count = 512


class AllPrefixes(nn.Module):
    """A causal guide in training: the logits of all prefixes of a batch in one row, text after text."""

    def __init__(self, guide: CausalLSTM) -> None:
        super().__init__()
        self.guide = guide

    def forward(self, ids: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, " prefixes"]:
        return self.guide(ids, mask)[mask_prefix_ends(mask)]


def mask_prefix_ends(mask: Bool[Tensor, "batch time"]) -> Bool[Tensor, "batch time"]:
    """The positions where a prefix ends: the real tokens from the second on."""
    return mask & (torch.arange(mask.shape[1], device=mask.device) >= SHORTEST - 1)


class PrefixBatches(RowBatches):
    """Batches by lists of row indices; each prefix, not each row, has a label, a weight and a number."""

    def __init__(self, rows: Sequence[TokenRow], labels: NDArray[np.float32]) -> None:
        super().__init__(rows, labels, 0)
        self.counts = np.array([len(row.ids) - SHORTEST + 1 for row in rows])
        self.first = np.cumsum(self.counts) - self.counts

    @property
    def prefix_labels(self) -> NDArray[np.float32]:
        """The label of each prefix, in the order of their numbers."""
        return np.repeat(self.labels, self.counts)

    def __getitem__(self, indices: list[int]) -> ClassifierBatch:
        batch = super().__getitem__(indices)
        indices = indices or [0]
        counts = torch.from_numpy(self.counts[indices])
        numbers = [np.arange(self.first[i], self.first[i] + self.counts[i]) for i in indices]
        return {
            **batch,
            "labels": batch["labels"].repeat_interleave(counts),
            "weights": batch["weights"].repeat_interleave(counts),
            "texts": torch.from_numpy(np.concatenate(numbers)),
        }


class GuideData(LightningDataModule):
    """Batches of training and held-out texts for a causal guide, sharded over the processes of the trainer."""

    def __init__(self, train: PrefixBatches, held_out: PrefixBatches, settings: TrainingSettings, seed: int) -> None:
        super().__init__()
        self.train = train
        self.held_out = held_out
        self.settings = settings
        self.seed = seed

    @property
    def prefixes_per_batch(self) -> float:
        """Training prefixes in a batch, on average."""
        lengths = [len(row.ids) for row in self.train.rows]
        batches = batches_by_budget(lengths, self.settings.token_budget, np.random.default_rng(0))
        return float(self.train.counts.sum()) / len(batches)

    def train_dataloader(self) -> DataLoader[ClassifierBatch]:
        return self._loader(self.train, self.seed, self.settings.validations_per_epoch)

    def val_dataloader(self) -> DataLoader[ClassifierBatch]:
        return self._loader(self.held_out, None, 1)

    def _loader(self, batches: PrefixBatches, seed: int | None, parts: int) -> DataLoader[ClassifierBatch]:
        return load_rows(batches, self.settings.token_budget, seed, parts, self.trainer)


def train_causal_guide(
    texts: Sequence[LabelledText],
    tokenizer: PreTrainedTokenizerBase,
    folder: Path | str,
    make_trainer: Callable[..., Trainer] = Trainer,
    settings: TrainingSettings | None = None,
    shape: GuideShape | None = None,
    loggers: Sequence[Logger] = (),
    seed: int = 0,
) -> CausalGuide:
    """A causal guide trained on all prefixes of `texts`, with the weights that `settings.keep` names, on the CPU.

    Every prefix has the same weight, as in the paper's data (section 4.2). The segments of a text are joined without
    change: a text that continues a prompt has to begin as the generator's continuations do, with a space where its
    tokens have one. The end token follows each text, so the guide also scores where a text ends.

    A training that was interrupted resumes from `folder/checkpoints/last.ckpt`. A finished folder holds what
    `CausalGuide.from_pretrained` reads, and `curve.json`; it is loaded, not trained again.

    Args:
        texts: of both classes, 1 for human or the wanted attribute; they are split by group before anything else.
        tokenizer: the generator's.
        folder: where to train.
        make_trainer: makes the trainer from the arguments that this function sets; it adds the hardware.
        settings: how to train; by default ten epochs in small batches, for some hundreds of texts.
        shape: the size of the guide.
        loggers: Lightning loggers.
        seed: of the split, fresh weights, batches and dropout.

    Raises ValueError when a side of the split lacks a class, or when the folder belongs to other texts or settings;
    FloatingPointError when training diverges.
    """
    settings = settings or TrainingSettings(epochs=10, learning_rate=2e-3, token_budget=2048)
    shape = shape or GuideShape()
    folder = Path(folder)
    origin = {
        "texts": fingerprint(texts),
        "tokens": fingerprint(tokenizer.get_vocab()),
        "settings": asdict(settings),
        "shape": asdict(shape),
        "seed": seed,
    }
    if is_finished(folder, origin, SETTINGS):
        return CausalGuide.from_pretrained(folder)
    train, held_out = (
        _batches(side, tokenizer, shape.max_tokens) for side in split_by_group(texts, settings.held_out, seed)
    )
    note_origin(folder, origin)
    arguments = {
        "vocabulary_size": len(tokenizer),
        "embedding_dim": shape.embedding_dim,
        "hidden_dim": shape.hidden_dim,
        "dropout": shape.dropout,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        guide = CausalGuide(CausalLSTM(**arguments), tokenizer, arguments)
        seen = torch.zeros(len(tokenizer), dtype=torch.bool)
        seen[torch.from_numpy(np.concatenate([row.ids for row in train.rows]))] = True
        guide.network.know_only(seen)
        data = GuideData(train, held_out, settings, seed)
        module = DiscriminatorTraining(
            AllPrefixes(guide.network), settings, data.prefixes_per_batch, held_out.prefix_labels, seed
        )
        fit_classifier(module, data, folder, make_trainer, loggers, guide.save_pretrained)
    return guide


def _batches(texts: Sequence[LabelledText], tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> PrefixBatches:
    """The texts that have prefixes, each followed by the end token, and their labels."""
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    encoded = [[*ids, *end] for ids in plain_token_ids(tokenizer, ["".join(t.segments) for t in texts])]
    kept = [i for i, ids in enumerate(encoded) if len(ids) >= SHORTEST]
    cut = sum(len(ids) > max_tokens for ids in encoded)
    if len(kept) < len(texts):
        log.warning("%d of %d texts have too few tokens for a prefix", len(texts) - len(kept), len(texts))
    if cut:
        log.warning("%d of %d texts were cut at %d tokens", cut, len(texts), max_tokens)
    labels = np.array([texts[i].label for i in kept], dtype=np.float32)
    if len(set(labels.tolist())) < 2:
        raise ValueError(
            f"both classes need a text of at least {SHORTEST} tokens on each side of the split, but of {len(texts)} "
            f"texts {len(kept)} have as many, {int(labels.sum())} of them of label 1"
        )
    rows = [TokenRow(np.array(encoded[i][:max_tokens], dtype=np.int64), n, 1.0) for n, i in enumerate(kept)]
    return PrefixBatches(rows, labels)
