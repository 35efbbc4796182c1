"""LanguageModel: a model of transformers with its tokenizer. ConditionalLM: log-probabilities of target tokens."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase

from core.notes import read_note
from models.batching import Batch, Task, halve_when_out_of_memory
from models.devices import check_device, check_memory, choose_dtype
from models.loading import (
    check_tokens,
    copy_backend,
    load_pretrained,
    load_tokenizer,
    model_fingerprint,
    weights_fingerprint,
)
from models.windows import Pair

# These models number positions from pad_token_id + 1, so they read that many tokens fewer than they have positions.
OFFSET_POSITIONS = {
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
    "camembert",
    "roberta-prelayernorm",
    "longformer",
    "mpnet",
}
# LED numbers what its encoder and its decoder read apart.
POSITIONS = (
    "max_position_embeddings",
    "max_encoder_position_embeddings",
    "max_decoder_position_embeddings",
)
UNLIMITED = 10**6  # tokens: models without position embeddings state no limit, and tokenizers state 1e30
COPIED = 4096  # rows of an output matrix that are in float32 at once
# settings of models that cap or scale their logits
CHANGES = re.compile("^(final_|output_)?logits?_.*(cap|scal|mup)|^softcap$|head_multiplier$")
UNSPELT = "\0"  # begins what no text spells
READ_AT_ONCE = 16_384  # tokens, at most: some models state 131,072 or 1e30, which no memory holds in one row


def plain_token_ids(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """Returns the token ids of each text, uncut, without special tokens.

    A special token in a text is read as plain text.
    """
    if not texts:
        return []
    encoded: Any = tokenizer(
        list(texts),
        add_special_tokens=False,
        split_special_tokens=True,
        verbose=False,
    )
    rows: list[list[int]] = encoded["input_ids"]
    special = _special_ids(tokenizer)
    for i, row in enumerate(rows):
        if not special.isdisjoint(row):
            rows[i] = encode_plainly(tokenizer, texts[i]).ids
    return rows


def encode_plainly(tokenizer: Any, text: str) -> Encoding:
    """Encodes a text, with the character span of each id, and reads special tokens as plain text.

    With SentencePiece's unigram vocabularies `split_special_tokens` alone is not enough: they contain the special
    tokens as pieces, so that a text could still produce one.
    """
    return _plain_backend(tokenizer).encode(text, add_special_tokens=False)


def _special_ids(tokenizer: PreTrainedTokenizerBase) -> set[int]:
    special: list[int] = tokenizer.all_special_ids
    return {token for token in special if token != tokenizer.unk_token_id}


@lru_cache(maxsize=4)
def _plain_backend(tokenizer: Any) -> Tokenizer:
    content = json.loads(copy_backend(tokenizer).to_str())
    special = {token["content"] for token in content["added_tokens"]}
    content["added_tokens"] = []
    if content["model"]["type"] == "Unigram":
        pieces: list[tuple[str, float]] = []
        for piece, score in content["model"]["vocab"]:
            pieces.append((UNSPELT + piece if piece in special else piece, score))
        content["model"]["vocab"] = pieces
    return Tokenizer.from_str(json.dumps(content))


def decode_tokens(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], keep_special: bool = False) -> str:
    """Returns the text of token ids, exactly as the tokens spell it; special tokens only with `keep_special`."""
    text = tokenizer.decode(list(ids), skip_special_tokens=not keep_special, clean_up_tokenization_spaces=False)
    return str(text)


def special_frame(tokenizer: PreTrainedTokenizerBase) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the special tokens that the tokenizer puts before a text, and those that it puts after a text."""
    framed = list(tokenizer("a")["input_ids"])
    bare = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    start = next(i for i in range(len(framed)) if framed[i : i + len(bare)] == bare)
    end = start + len(bare)
    return tuple(framed[:start]), tuple(framed[end:])


def count_positions(config: Any) -> int:
    """Returns the number of positions of a model, special tokens included."""
    offset = config.pad_token_id + 1 if config.model_type in OFFSET_POSITIONS else 0
    stated = [getattr(config, name, None) or UNLIMITED for name in POSITIONS]  # T5 counts distances instead
    return min(stated) - offset


def readable_tokens(config: Any, tokenizer: PreTrainedTokenizerBase) -> int:
    """Returns how many tokens, special ones included, a model reads or writes at once; at most READ_AT_ONCE."""
    return min(tokenizer.model_max_length, count_positions(config), READ_AT_ONCE)


def get_layers(model: Any) -> nn.ModuleList:
    """Returns the layers of a model that has a single stack of layers (no encoder-decoder model)."""
    depth = model.config.num_hidden_layers
    lists = (module for module in model.modules() if isinstance(module, nn.ModuleList))
    return next(layers for layers in lists if len(layers) == depth)


class Float32Linear(nn.Linear):
    """A linear layer that multiplies in float32, whatever the precision of its weights and inputs."""

    @classmethod
    def sharing(cls, layer: nn.Linear) -> Self:
        """Makes such a layer with the parameters of another one."""
        made = cls(
            layer.in_features,
            layer.out_features,
            layer.bias is not None,
            device="meta",
        )
        made.weight = layer.weight
        made.bias = layer.bias
        return made

    def forward(self, input: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.float()
        if self.weight.dtype == torch.float32 or torch.is_grad_enabled():
            return nn.functional.linear(input.float(), self.weight.float(), bias)
        # a copy of the whole matrix in float32 would be the largest part of a small model
        states = input.float()
        logits = states.new_empty(*input.shape[:-1], self.out_features)
        for first in range(0, self.out_features, COPIED):
            block = self.weight[first : first + COPIED].float()
            logits[..., first : first + COPIED] = states @ block.T
        return logits if bias is None else logits.add_(bias)


@dataclass(frozen=True)
class LanguageModel:
    """A model and its tokenizer. Each subclass names the class of transformers that loads it."""

    loader: ClassVar[Any]
    unread: ClassVar[tuple[str, ...]] = ("mask_token",)  # special tokens that it need not know: no text has them
    model: Any  # the classes of transformers share no useful base type
    tokenizer: PreTrainedTokenizerBase
    # what a reader of its scores must know (`core.notes`)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> Self:
        """Loads a hub name or a folder. Logits are float32, because in bfloat16 the largest ones are often equal.

        Raises MissingModelError if neither a folder nor a reachable hub has the model, and SettingError for a device or
        a precision that this machine lacks and for weights that do not fit into memory.
        """
        check_device(device, dtype)
        dtype = choose_dtype(device, dtype)
        check_memory(name, dtype, "cpu", device)  # weights are loaded by the CPU first
        tokenizer = load_tokenizer(name)
        model = load_pretrained(cls.loader.from_pretrained, name, dtype=dtype)
        check_tokens(
            name,
            tokenizer,
            len(model.get_input_embeddings().weight),
            cls.unread,
        )
        head = model.get_output_embeddings()
        if model.dtype.itemsize < torch.float32.itemsize and head is not None:
            model.set_output_embeddings(Float32Linear.sharing(head))
        return cls(model.to(device).eval(), tokenizer, read_note(name))

    def save_pretrained(self, folder: Path) -> None:
        """Writes model and tokenizer in the Hugging Face form."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def training_batch(self, tasks: Sequence[Task]) -> Batch:
        """Makes the inputs of the model for learning these tasks, with `labels` of shape (rows, time)."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dtype(self) -> str:
        """The precision of the weights, such as float32."""
        return str(self.model.dtype).removeprefix("torch.")

    @property
    def max_length(self) -> int:
        """The number of tokens that the model reads, or writes, at once, special ones included."""
        return readable_tokens(self.model.config, self.tokenizer)

    @cached_property
    def weights(self) -> str:
        """A fingerprint of the weights, which must not change afterwards."""
        return weights_fingerprint(self.model)

    @cached_property
    def identity(self) -> str:
        """A fingerprint of model and tokenizer for signatures; they must not change afterwards."""
        return model_fingerprint(self.model, self.tokenizer)

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return sum(p.numel() for p in self.model.parameters())


@dataclass
class Reader(ABC):
    """A model that has read some sources and continues each of them token by token, with a cache."""

    model: Any
    cache: Any = field(default=None, init=False)

    @abstractmethod
    def inputs(self, chosen: Int[Tensor, " rows"] | None) -> dict[str, Any]:
        """Makes the arguments of the model for reading the chosen tokens."""

    def next_log_probabilities(self, chosen: Int[Tensor, " rows"] | None) -> Float[Tensor, "rows vocabulary"]:
        """Reads the chosen tokens; returns the log-probabilities (nats) of the next token.

        For None, those of the first token.
        """
        output = self.model(**self.inputs(chosen), past_key_values=self.cache, use_cache=True)
        self.cache = output.past_key_values
        return output.logits[:, -1].float().log_softmax(-1)

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Keeps these rows, and drops all others."""
        self.cache.batch_select_indices(rows)


@dataclass(frozen=True)
class ConditionalLM(LanguageModel, ABC):
    """A model of P(target | source): it encodes the source (Seq2SeqLM), or reads it before the target (CausalLM)."""

    @abstractmethod
    def read(self, sources: Sequence[Sequence[int]], before: Sequence[int]) -> Reader:
        """Reads the sources, and returns a Reader that continues them; every target begins with the tokens `before`."""

    @abstractmethod
    def predict(self, pairs: Sequence[Pair], given: Sequence[int]) -> list[Float[Tensor, "tokens dim"]]:
        """Returns, for each pair, the last hidden states that predict each target token from `given` on.

        The last state predicts the token after the target.
        """

    @abstractmethod
    def make_batches(self, pairs: Sequence[Pair], token_budget: int) -> list[list[int]]:
        """Groups the indices of the pairs into batches of at most `token_budget` padded tokens, or of a single pair."""

    @abstractmethod
    def dummy_inputs(self) -> dict[str, Any]:
        """Returns minimal arguments for a forward call.

        Its hidden states do not matter, because `project` replaces them.
        """

    @torch.inference_mode()
    def project(self, states: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens vocabulary"]:
        """Returns the float32 logits of last hidden states, with all that the model applies after its output layer."""
        with output_layer_given(self.model, lambda _: states):
            return self.model(**self.dummy_inputs(), use_cache=False).logits.float()

    def output_head(self) -> "OutputHead":
        """The matrix and bias that turn last hidden states into logits, and what the model does beside multiplying."""
        layer = self.model.get_output_embeddings()
        bias = layer.bias
        of_all = getattr(self.model, "final_logits_bias", None)  # of BART and its kind, in place of the layer's
        if of_all is not None:
            bias = of_all[0]
        bias = None if bias is None else bias.float()
        changes = [
            name
            for name, value in self.model.config.to_dict().items()
            if CHANGES.search(name) and value not in (None, 1)
        ]
        return OutputHead(layer.weight, bias, self.project if changes else None)

    def log_probabilities(
        self,
        pairs: Sequence[Pair],
        *,
        given: int | Sequence[int] = 0,
        token_budget: int = 16_384,
    ) -> list[NDArray[np.float32]]:
        """Returns log P(target token | source, target tokens before it) of every (source, target) pair, in nats.

        The first `given` tokens of the targets (one number, or one per target) are read, but not scored. Pairs are
        token ids that the caller has cut to fit. Batches have `token_budget` padded tokens, or one pair; those that do
        not fit into memory are halved. Dropout is off.

        The common beginning of targets with one source is read once. States are collected for one large product with
        the vocabulary, because many small products would take longer than everything else.
        """
        self.model.eval()
        first = [given] * len(pairs) if isinstance(given, int) else given
        scores: list[NDArray[np.float32]] = []
        for (_, target), unread in zip(pairs, first, strict=True):
            scores.append(np.zeros(max(0, len(target) - unread), np.float32))
        readings, owners = _share_readings(pairs, first)
        if not readings:
            return scores
        unscored: list[int] = []  # of each reading, the first tokens that none of its pairs scores
        for indices in owners:
            unscored.append(min(first[i] for i in indices))
        vocabulary = self.output_head()
        most = max(1, WAITING // self.model.config.vocab_size)
        batches = self.make_batches(readings, token_budget)
        waiting: list[int] = []  # readings whose states wait
        states: list[Tensor] = []

        def predict(rows: list[int]) -> list[Tensor]:
            return self.predict([readings[k] for k in rows], [unscored[k] for k in rows])

        for batch in tqdm(
            batches,
            desc="log-probabilities",
            delay=3,
            leave=False,
            disable=None,
        ):
            states += halve_when_out_of_memory(predict, batch)
            waiting += batch
            if batch is not batches[-1] and sum(map(len, states)) < most:
                continue
            scored: list[int] = []
            rows: list[int] = []
            tokens: list[int] = []
            end = 0
            for k, of_reading in zip(waiting, states, strict=True):
                end += len(of_reading)
                for i in owners[k]:
                    scored.append(i)
                    rows += range(end - len(scores[i]), end)
                    tokens += pairs[i][1][first[i] :]
            values = token_log_probabilities(vocabulary, torch.cat(states), tokens, rows).cpu().numpy()
            start = 0
            for i in scored:
                stop = start + len(scores[i])
                scores[i] = values[start:stop].copy()
                start = stop
            waiting = []
            states = []
        return scores


def _share_readings(pairs: Sequence[Pair], first: Sequence[int]) -> tuple[list[Pair], list[list[int]]]:
    """What is read once for all pairs that differ in their last tokens alone, and the indices of these pairs.

    Readings of one source stay side by side. Pairs without a token from `first` on are left out.
    """
    by_source: dict[tuple[int, ...], dict[tuple[int, ...], list[int]]] = {}  # source -> what is written -> pairs
    for i, (source, target) in enumerate(pairs):
        if len(target) > first[i]:
            of_source = by_source.setdefault(tuple(source), {})
            of_source.setdefault(tuple(target[:-1]), []).append(i)
    readings: list[Pair] = []
    owners: list[list[int]] = []
    for source, of_source in by_source.items():
        readings += [(source, written) for written in of_source]
        owners += of_source.values()
    return readings, owners


WAITING = 2**27  # logits of the states that wait for one product
# logits held at a time: 4 MB on a CPU, which its caches hold, elsewhere 256 MB in few products
BLOCK = 2**20
BLOCK_ELSEWHERE = 2**26
ROWS = 1024  # states multiplied at a time
CAPPED = 2**27  # logits of a model that caps them, held at a time


@dataclass(frozen=True)
class OutputHead:
    """The last step of a language model, from hidden states to logits, in float32: `states @ weight.T + bias`."""

    # of the output layer, with what the model adds to its logits
    weight: Float[Tensor, "vocabulary dim"]
    bias: Float[Tensor, " vocabulary"] | None = None
    # all logits of some states, of a model that caps or scales them; None for the plain product
    project: Callable[[Tensor], Tensor] | None = None

    def multiply(self, states: Float[Tensor, "states dim"]) -> Iterator[Float[Tensor, "states tokens"]]:
        """Yields the logits in blocks, one range of tokens after another; each block overwrites the previous one."""
        if self.project is not None:
            yield self.project(states)
            return
        block = BLOCK if states.device.type == "cpu" else BLOCK_ELSEWHERE
        width = max(1, block // len(states))
        states = states.float()
        buffer = torch.empty(len(states) * width, device=states.device)
        for first in range(0, len(self.weight), width):
            weight = self.weight[first : first + width].float()
            place = buffer[: len(states) * len(weight)].view(-1, len(weight))
            logits = torch.mm(states, weight.T, out=place)
            yield logits if self.bias is None else logits.add_(self.bias[first : first + width])


@torch.inference_mode()
def token_log_probabilities(
    vocabulary: OutputHead,
    states: Float[Tensor, "states dim"],
    tokens: Sequence[int],
    rows: Sequence[int] | None = None,
) -> Float[Tensor, " tokens"]:
    """Returns the log-probability of each token, in nats: the log softmax of the logits of its hidden state.

    `rows` gives the index of the state that predicts each token; None if state i predicts token i.

    >>> token_log_probabilities(OutputHead(torch.eye(4)), torch.zeros(1, 4), [2]).exp().tolist()
    [0.25]
    """
    device = states.device
    state_of = np.arange(len(states)) if rows is None else np.asarray(rows, np.int64)
    token_ids = np.asarray(tokens, np.int64)
    scores = torch.zeros(len(state_of), device=device)

    def score(block: list[int]) -> list[int]:
        # indices are made here and masks stay values: a device would have to wait for the size of a masked selection
        indices = np.flatnonzero((state_of >= block[0]) & (state_of <= block[-1]))
        place = torch.tensor(indices, device=device)
        row = torch.tensor(state_of[indices] - block[0], device=device)
        token = torch.tensor(token_ids[indices], device=device)
        chosen = torch.zeros(len(indices), device=device)
        totals: list[Tensor] = []
        for logits in vocabulary.multiply(states[block[0] : block[-1] + 1]):
            width = logits.shape[1]
            inside = (token >= 0) & (token < width)
            chosen = torch.where(inside, logits[row, token.clamp(0, width - 1)], chosen)
            totals.append(logits.logsumexp(-1))
            token = token - width  # counted from the next range of tokens
        scores[place] = chosen - torch.stack(totals).logsumexp(0)[row]
        return block

    most = ROWS if vocabulary.project is None else max(1, CAPPED // len(vocabulary.weight))
    for first in range(0, len(states), most):
        last = min(first + most, len(states))
        halve_when_out_of_memory(score, list(range(first, last)))
    return scores


@contextmanager
def output_layer_given(model: Any, choose: Callable[[Tensor], Tensor]) -> Iterator[list[Tensor]]:
    """In the block, the output layer reads only `choose(hidden states)`, and the list collects all hidden states.

    The logits have the leading axes of the chosen states.
    """
    seen: list[Tensor] = []

    def replaced(module: Any, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        seen.append(arguments[0])
        return choose(arguments[0]), *arguments[1:]

    hook = model.get_output_embeddings().register_forward_pre_hook(replaced)
    try:
        yield seen
    finally:
        hook.remove()


@torch.inference_mode()
def last_hidden_states(model: Any, **inputs: Any) -> Float[Tensor, "rows time dim"]:
    """Runs the model and returns the hidden states that its output layer reads."""
    with output_layer_given(model, lambda hidden: hidden[:, :0]) as seen:
        model(**inputs)
    return seen[0]
