"""A causal guide: judges prefix + candidate at a cost that does not grow with the prefix (OUMG; the guide is ours).

A one-directional LSTM over the generator's own tokens with the attention of the Bi-LSTM kept as a running softmax, so
that a text has a logit at each of its positions: one pass learns all prefixes of a text, and a candidate costs one
step from the state of its prefix. The paper's own guide is a Bi-LSTM, which has to read the prefix again for every
candidate (`bilstm_guide`).
"""

import json
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from pytorch_lightning import LightningDataModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from data.stages import fingerprint
from discriminators.batches import pad_rows
from discriminators.data_module import Batch, BatchOrder, LabelledText, RowBatches, split_by_group
from discriminators.segments import Row
from discriminators.training import DiscriminatorTraining, TrainingSettings
from language_models.batching import batches_by_budget
from language_models.learning_curve import LearningCurve
from language_models.training import fit
from oumg.prefixes import SHORTEST

log = logging.getLogger(__name__)

SETTINGS = "guide.json"


class Pool(NamedTuple):
    """Attention over what was read so far, as a running softmax: r / Z are the pooled states.

    Attributes:
        m: the highest energy, -inf where nothing was read.
        z: the sum of exp(energy - m).
        r: the sum of exp(energy - m) times the state.
    """

    m: Float[Tensor, "*rows"]
    z: Float[Tensor, "*rows"]
    r: Float[Tensor, "*rows dim"]


def attend(pool: Pool, energy: Float[Tensor, "*rows"], hidden: Float[Tensor, "*rows dim"]) -> Pool:
    """One more state: m' = max(m, e), Z' = Z exp(m - m') + exp(e - m'), and r' likewise.

    >>> nothing = Pool(torch.tensor(-torch.inf), torch.tensor(0.0), torch.zeros(1))
    >>> [value.tolist() for value in attend(nothing, torch.tensor(5.0), torch.ones(1))]
    [5.0, 1.0, [1.0]]
    """
    m = torch.maximum(pool.m, energy)
    kept, added = (pool.m - m).exp_(), (energy - m).exp_()
    r = torch.addcmul(added[..., None] * hidden, kept[..., None], pool.r)
    return Pool(m, torch.addcmul(added, kept, pool.z), r)


def prefix_attention(
    hidden: Float[Tensor, "batch time dim"], energy: Float[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]
) -> Float[Tensor, "batch time dim"]:
    """At each position the states up to it, pooled by the softmax of their energies; padding has no weight.

    A row must begin with a real token.
    """
    earlier = torch.ones(mask.shape[1], mask.shape[1], dtype=torch.bool, device=mask.device).tril()
    seen = earlier & mask[:, None, :]
    weights = energy[:, None, :].masked_fill(~seen, -torch.inf).softmax(dim=-1)
    return weights @ hidden


def tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """tanh x. On a CPU as 2 sigmoid(2x) - 1, which torch computes in a fifth of the time of its tanh."""
    return torch.tanh(x) if x.is_cuda else (2 * x).sigmoid_().mul_(2).sub_(1)


def lstm_cell(
    gates: Float[Tensor, "*rows gates"], c: Float[Tensor, "*rows dim"]
) -> tuple[Float[Tensor, "*rows dim"], Float[Tensor, "*rows dim"]]:
    """h' and c' from the sums of the four gates (input, forget, cell, output, as torch orders them) and from c.

    `gates` is overwritten.
    """
    i, f, g, o = gates.chunk(4, dim=-1)
    c = torch.addcmul(i.sigmoid_() * tanh(g), f.sigmoid_(), c)
    return o.sigmoid_() * tanh(c), c


@torch.no_grad()
def input_table(embedded: Float[Tensor, "ids embedding"], lstm: nn.LSTM) -> Float[Tensor, "ids gates"]:
    """What each token adds to the gates: W_ih x + b."""
    bias = lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")
    return embedded @ lstm.get_parameter("weight_ih_l0").T + bias


def recurrent(lstm: nn.LSTM, h: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows gates"]:
    """What the state adds to the gates: W_hh h."""
    return h @ lstm.get_parameter("weight_hh_l0").T


class CausalState(NamedTuple):
    """What a causal guide knows of the prefixes it has read.

    Attributes:
        recurrent: W_hh h, which the next token of whatever kind needs, instead of h.
        c: the cell.
        m, z, r: the running softmax, see `Pool`.
        unknown: how many tokens of the prefix it never met in training.
    """

    recurrent: Float[Tensor, "rows gates"]
    c: Float[Tensor, "rows dim"]
    m: Float[Tensor, " rows"]
    z: Float[Tensor, " rows"]
    r: Float[Tensor, "rows dim"]
    unknown: Int[Tensor, " rows"]

    def select(self, index: Int[Tensor, " rows"]) -> "CausalState":
        """The states of other rows, in the order of `index`."""
        return CausalState(*(value[index] for value in self))


class CausalLSTM(nn.Module):
    """Embedding, LSTM, attention over the prefix, tanh, dropout, one logit per position.

    Args:
        vocabulary_size: number of tokens of the generator. Whatever it writes beyond them is read as an unknown token.
        embedding_dim: size of the embedding.
        hidden_dim: size of the LSTM.
        dropout: on the embedding and before the last layer.
    """

    def __init__(self, vocabulary_size: int, embedding_dim: int = 128, hidden_dim: int = 128, dropout: float = 0.3):
        super().__init__()
        self.vocabulary_size = vocabulary_size
        self.embedding = nn.Embedding(vocabulary_size, embedding_dim)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
        self.w = nn.Parameter(torch.zeros(hidden_dim))  # attention starts as the mean
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden_dim, 1)
        self.register_buffer("known", torch.ones(vocabulary_size, dtype=torch.bool))
        self.known: Bool[Tensor, " vocabulary"]
        self._tables: tuple[Tensor, Tensor] | None = None

    def forward(self, ids: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, "batch time"]:
        """The logit of the prefix that ends at each position; higher means human or good.

        Padding must be at the end of a row; what stands there means nothing.
        """
        hidden, _ = self.lstm(self.dropout(self.embedding(ids)))
        pooled = prefix_attention(hidden, torch.tanh(hidden) @ self.w, mask)
        return self.head(self.dropout(torch.tanh(pooled))).squeeze(-1)

    @torch.no_grad()
    def know_only(self, seen: Bool[Tensor, " vocabulary"]) -> None:
        """Tokens that training does not show are marked as unknown and say nothing: their embedding is 0 and stays 0.

        A random one would be noise, which Eq. 5 stretches to the full strength.
        """
        self.known.copy_(seen)
        self.embedding.weight[~seen] = 0.0

    def train(self, mode: bool = True) -> "CausalLSTM":
        self._tables = None  # they are those of other weights
        return super().train(mode)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> "CausalLSTM":
        self._tables = None  # another device or type
        return super()._apply(fn, recurse)

    @torch.no_grad()
    def tables(self) -> tuple[Float[Tensor, "ids gates"], Bool[Tensor, " ids"]]:
        """What each token adds to the gates (W_ih x + b), and whether it is known; the last row is of all other ids.

        Computed once for the weights at hand.
        """
        if self._tables is None:
            embedded = F.pad(self.embedding.weight, (0, 0, 0, 1))  # whatever is unknown is embedded as 0
            self._tables = input_table(embedded, self.lstm), F.pad(self.known, (0, 1), value=False)
        return self._tables

    def start(self, rows: int) -> CausalState:
        """The state before the first token."""
        zeros = self.w.new_zeros(rows, len(self.w))
        nothing = self.w.new_zeros(rows)
        return CausalState(zeros.repeat(1, 4), zeros, nothing - torch.inf, nothing, zeros, nothing.to(torch.long))

    @torch.no_grad()
    def advance(
        self, state: CausalState, tokens: Int[Tensor, " rows"], read: Bool[Tensor, " rows"] | None = None
    ) -> CausalState:
        """The state after one more token; where `read` is False the row stays as it is.

        The token was among the candidates, whose products with W_hh the state still holds: its step is elementwise.
        """
        inputs, known = self.tables()
        tokens = tokens.clamp(max=self.vocabulary_size)
        h, c = lstm_cell(inputs[tokens] + state.recurrent, state.c)
        pool = attend(Pool(state.m, state.z, state.r), tanh(h) @ self.w, h)
        after = CausalState(recurrent(self.lstm, h), c, *pool, state.unknown + ~known[tokens])
        if read is None:
            return after
        return CausalState(
            *(
                torch.where(read.view(-1, *[1] * (old.ndim - 1)), new, old)
                for new, old in zip(after, state, strict=True)
            )
        )

    @torch.no_grad()
    def candidates(self, state: CausalState, tokens: Int[Tensor, "rows k"]) -> Float[Tensor, "rows k"]:
        """The logit of each row's prefix with each of its candidates; O(1) in the length of the prefix."""
        inputs, _ = self.tables()
        gates = F.embedding(tokens.clamp(max=self.vocabulary_size), inputs).add_(state.recurrent[:, None])
        h, _ = lstm_cell(gates, state.c[:, None])
        pool = attend(Pool(state.m[:, None], state.z[:, None], state.r[:, None]), tanh(h) @ self.w, h)
        return self.head(tanh(pool.r.div_(pool.z[..., None]))).squeeze(-1)

    def unknown(self, state: CausalState) -> int:
        """How many tokens the rows hold that training did not show."""
        return int(state.unknown.sum())


@dataclass(frozen=True)
class CausalGuide:
    """A trained causal guide: its network and the tokens of the generator it is made for.

    Attributes:
        network: what reads token ids.
        tokenizer: the generator's.
        settings: the arguments of the network, for `guide.json`.
    """

    network: CausalLSTM
    tokenizer: PreTrainedTokenizerBase
    settings: dict[str, Any]

    @torch.inference_mode()
    def logits(self, texts: Sequence[str], token_budget: int = 8192) -> NDArray[np.float64]:
        """One logit per text as far as it goes, without an end token; 0 for a text without tokens."""
        encoded = token_ids(texts, self.tokenizer)
        rows = [Row(np.array(ids, dtype=np.int64), i, 1.0) for i, ids in enumerate(encoded) if ids]
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
        """What `save_pretrained` wrote. Raises FileNotFoundError for a folder without a `guide.json`."""
        folder = Path(folder)
        if not (folder / SETTINGS).is_file():
            raise FileNotFoundError(
                f"a causal guide is a folder with {SETTINGS}, but {folder} has none: train one there"
            )
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        network = CausalLSTM(**settings)
        network.load_state_dict(load_file(folder / "model.safetensors"))
        return cls(network.to(device).eval(), AutoTokenizer.from_pretrained(str(folder / "tokenizer")), settings)


def token_ids(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[list[int]]:
    """The generator's tokens of each text as it stands, without special ones."""
    if not texts:
        return []
    return tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class GuideShape:
    """The size of a causal guide.

    Attributes:
        embedding_dim, hidden_dim, dropout: see `CausalLSTM`.
        max_tokens: of a training text; what is longer is cut, which leaves fewer prefixes of it and changes none.
    """

    embedding_dim: int = 128
    hidden_dim: int = 128
    dropout: float = 0.3
    max_tokens: int = 512


class AllPrefixes(nn.Module):
    """A causal guide as training sees it: the logits of all prefixes of a batch in one row, text after text."""

    def __init__(self, guide: CausalLSTM) -> None:
        super().__init__()
        self.guide = guide

    def forward(self, ids: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, " prefixes"]:
        return self.guide(ids, mask)[ends_of_prefixes(mask)]


def ends_of_prefixes(mask: Bool[Tensor, "batch time"]) -> Bool[Tensor, "batch time"]:
    """The positions at which a prefix ends: the real tokens from the second on."""
    return mask & (torch.arange(mask.shape[1], device=mask.device) >= SHORTEST - 1)


class PrefixBatches(RowBatches):
    """Rows by lists of indices, with a label, a weight and a number for each prefix instead of each row."""

    def __init__(self, rows: Sequence[Row], labels: NDArray[np.float32]) -> None:
        super().__init__(rows, labels, 0)
        self.counts = np.array([len(row.ids) - SHORTEST + 1 for row in rows])
        self.first = np.cumsum(self.counts) - self.counts

    @property
    def prefix_labels(self) -> NDArray[np.float32]:
        """The label of each prefix, in the order of their numbers."""
        return np.repeat(self.labels, self.counts)

    def __getitem__(self, indices: list[int]) -> Batch:
        batch = super().__getitem__(indices)
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

    def train_dataloader(self) -> DataLoader[Batch]:
        return self._loader(self.train, self.seed, self.settings.validations_per_epoch)

    def val_dataloader(self) -> DataLoader[Batch]:
        return self._loader(self.held_out, None, 1)

    def _loader(self, batches: PrefixBatches, seed: int | None, parts: int) -> DataLoader[Batch]:
        lengths = [len(row.ids) for row in batches.rows]
        rank, world_size = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        order = BatchOrder(lengths, self.settings.token_budget, seed, parts, rank, world_size)
        return DataLoader(batches, batch_size=None, sampler=order)


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
    """A causal guide trained on all prefixes of `texts`, with the weights of the lowest held-out loss, on the CPU.

    Every prefix weighs the same, as in the data of the paper (section 4.2). The segments of a text are read as one,
    as they stand: a text that continues a prompt has to begin as the generator's continuations do (with a space, where
    its tokens have one). The end token follows each text, so that the guide has a say in where a text ends.

    While it trains, `folder/checkpoints/last.ckpt` is what the same call resumes from. Afterwards `folder` holds what
    `CausalGuide.from_pretrained` reads, and `curve.json`. A finished folder is loaded.

    Args:
        texts: of both classes, 1 for human or for the attribute wanted; they are split by group before anything else.
        tokenizer: the generator's.
        folder: where to train.
        make_trainer: called with the arguments this function decides about; it adds the hardware.
        settings: how to train.
        shape: the size of the guide.
        loggers: Lightning loggers.
        seed: of the split, fresh weights, batches and dropout.

    Raises ValueError when a side of the split lacks a class, or when the folder belongs to other texts or settings;
    FloatingPointError when training diverges.
    """
    settings, shape = settings or TrainingSettings(learning_rate=2e-3), shape or GuideShape()
    folder = Path(folder)
    _claim(folder, texts, tokenizer, settings, shape, seed)
    checkpoints = folder / "checkpoints"
    if (folder / SETTINGS).is_file():  # written last
        if checkpoints.is_dir():
            shutil.rmtree(checkpoints)
        return CausalGuide.from_pretrained(folder)
    train, held_out = (
        _batches(side, tokenizer, shape.max_tokens) for side in split_by_group(texts, settings.held_out, seed)
    )
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
        curve = LearningCurve("train/loss_step", ("val/loss", "val/accuracy", "val/auc"))
        kept: dict[str, Any] = {"save_on_train_epoch_end": True, "enable_version_counter": False}
        best = ModelCheckpoint(checkpoints, "best", monitor="val/loss", save_weights_only=True, **kept)
        last = ModelCheckpoint(checkpoints, "last", **kept)
        trainer = make_trainer(
            callbacks=[curve, best, last],
            logger=list(loggers),
            default_root_dir=folder,
            max_epochs=settings.epochs * settings.validations_per_epoch,
            max_time=settings.max_time,
            gradient_clip_val=settings.gradient_clip,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,  # the data module shards its batches itself
        )
        fit(trainer, module, data, checkpoints)
    module.cpu().load_state_dict(
        torch.load(checkpoints / "best.ckpt", map_location="cpu", weights_only=True)["state_dict"]
    )
    guide.network.eval()
    trainer.strategy.barrier()  # every process has read the weights before they are removed
    if trainer.is_global_zero:
        curve.save(folder / "curve.json")
        guide.save_pretrained(folder)
        shutil.rmtree(checkpoints)
    trainer.strategy.barrier()
    return guide


def _batches(texts: Sequence[LabelledText], tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> PrefixBatches:
    """The texts that have prefixes, each with the end token, and their labels."""
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    encoded = [[*ids, *end] for ids in token_ids(["".join(t.segments) for t in texts], tokenizer)]
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
    rows = [Row(np.array(encoded[i][:max_tokens], dtype=np.int64), n, 1.0) for n, i in enumerate(kept)]
    return PrefixBatches(rows, labels)


def _claim(
    folder: Path,
    texts: Sequence[LabelledText],
    tokenizer: PreTrainedTokenizerBase,
    settings: TrainingSettings,
    shape: GuideShape,
    seed: int,
) -> None:
    """Note in the folder what it is trained from; refuse a folder that was begun with something else."""
    content = {
        "texts": fingerprint([[list(t.segments), t.label, t.group] for t in texts]),
        "tokens": fingerprint(tokenizer.get_vocab()),
        "settings": asdict(settings),
        "shape": asdict(shape),
        "seed": seed,
    }
    note = json.dumps(content, indent=2) + "\n"
    path = folder / "training.json"
    folder.mkdir(parents=True, exist_ok=True)
    if path.is_file() and path.read_text(encoding="utf-8") != note:
        raise ValueError(
            "a folder is trained with one set of texts, tokens, settings and seed, but "
            f"{path} names others: use another folder"
        )
    path.write_text(note, encoding="utf-8")
