"""A key-value cache of rows of different lengths, with one slot per token.

The token at position i of a row's text is written to slot i. Rows of different lengths therefore share one tensor, and
later tokens overwrite rejected ones. Branches are texts that continue differently after a common beginning. They are
read side by side in one row: their tokens are written to later slots, but keep their positions, and see only the common
beginning and their own branch. The branch that is kept is then moved to its place. In the same way several lines
continue one beginning, such as a long context, which is read and stored once.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicLayer, DynamicSlidingWindowLayer

from core.errors import SettingError
from models.batching import pad
from models.causal import CausalLM
from models.model import last_hidden_states

BLOCK = 256  # tokens of a row in one pass
COPIED = 6  # a layer copies 1 / COPIED slots for each dimension of its hidden states while it computes an idle token


class Token(NamedTuple):
    """A token to read: where it is written in the cache, and which slots it sees."""

    id: int
    # the slot that it is written to
    slot: int
    # its position in the text
    position: int
    # how many of the first slots it sees
    prefix: int
    # the first slot of its branch, which it sees up to itself
    own: int


Reading = list[Token]  # what a row reads in one pass


def read_on(ids: Sequence[int], length: int) -> Reading:
    """Prepares reading tokens that follow the first `length` tokens of a row.

    >>> read_on([7], 3)
    [Token(id=7, slot=3, position=3, prefix=3, own=3)]
    """
    return [Token(token, place, place, length, length) for place, token in enumerate(ids, length)]


@dataclass(frozen=True)
class Branch:
    """A text in a row of the cache.

    The text shares the first `shared` slots with other texts of the row, and continues in its own slots from `start`
    on.
    """

    row: int
    shared: int = 0
    start: int = 0

    def slot(self, place: int) -> int:
        """Returns the slot of the token at this position of the branch.

        >>> [Branch(row=0, shared=2, start=7).slot(place) for place in range(4)]
        [0, 1, 7, 8]
        """
        return place if place < self.shared else place - self.shared + self.start

    def lay_out(self, token: Token) -> tuple[int, ...]:
        """Lists a token's id, slot and position, and the ends and starts of the three ranges of slots that it sees."""
        shared = min(token.prefix, self.shared)
        end = self.start + max(0, token.prefix - self.shared)
        return (
            token.id,
            self.slot(token.slot),
            token.position,
            shared,
            self.start,
            end,
            self.slot(token.own),
        )


class _Layer(CacheLayerMixin):
    """Keys and values of one layer as (rows, slots, heads, dim), with an extra slot at the end for padding."""

    is_sliding = False

    def __init__(self, owner: "Slots") -> None:
        super().__init__()
        self.owner = owner
        self.stored: list[Tensor] = []  # keys and values

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        for states in (key_states, value_states):
            _, heads, _, dim = states.shape
            self.stored.append(states.new_zeros(self.owner.rows, self.owner.capacity + 1, heads, dim))
        self.is_initialized = True

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        owner = self.owner
        for stored, states in zip(self.stored, (key_states, value_states), strict=True):
            stored[owner.reads, owner.slots] = states.transpose(1, 2)
        keys, values = (stored[owner.view, : owner.width].transpose(1, 2) for stored in self.stored)
        return keys, values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.owner.width, 0

    def get_seq_length(self) -> int:
        return 0  # positions are given, so the model must not count them

    def get_max_length(self) -> int:
        return self.owner.capacity


class Slots:
    """A key-value cache of `rows` rows with `capacity` slots each. Several texts may share a row (`Branch`)."""

    reads: Tensor  # the rows that the pass under way writes to
    view: slice | Tensor  # those that it reads
    slots: Tensor  # of their tokens
    width: int  # how many slots they may see

    def __init__(
        self,
        lm: CausalLM,
        rows: int,
        capacity: int,
    ) -> None:
        self.lm = lm
        self.rows = rows
        self.capacity = capacity
        self.lines = [Branch(row) for row in range(rows)]  # the texts in these rows, at first one in each
        self.layers: list[_Layer] = []
        self.cache = Cache(layer_class_to_replicate=self._add_layer)  # pyright: ignore[reportArgumentType]

    def _add_layer(self) -> _Layer:
        self.layers.append(_Layer(self))
        return self.layers[-1]

    @torch.inference_mode()
    def read(self, readings: Sequence[Reading], lines: Sequence[int]) -> Float[Tensor, "lines time dim"]:
        """Reads new tokens of some texts of the cache; returns the last layer's hidden states of these tokens.

        `lines` has the number of each text in the cache. Texts with fewer new tokens than others are padded; the hidden
        states of padding mean nothing. Many tokens are read in blocks of BLOCK, so that the memory of the attention
        mask grows linearly with the length of the text.
        """
        readings_of_row: dict[int, list[int]] = {}
        for i, line in enumerate(lines):
            readings_of_row.setdefault(self.lines[line].row, []).append(i)
        layouts: list[list[tuple[int, ...]]] = []
        for indices in readings_of_row.values():
            layouts.append([self.lines[lines[i]].lay_out(token) for i in indices for token in readings[i]])
        blocks: list[Tensor] = []
        for start in range(0, max(map(len, layouts)), BLOCK):
            block = [layout[start : start + BLOCK] for layout in layouts]
            blocks.append(self._read_block(block, list(readings_of_row)))
        read = torch.cat(blocks, dim=1)
        by_line = read.new_zeros(len(lines), max(map(len, readings)), read.shape[-1])
        for states, indices in zip(read, readings_of_row.values(), strict=True):
            start = 0
            for i in indices:
                count = len(readings[i])
                by_line[i, :count] = states[start : start + count]
                start += count
        return by_line

    def _read_block(self, layouts: list[list[tuple[int, ...]]], rows: list[int]) -> Float[Tensor, "rows time dim"]:
        """Reads a block of tokens in these rows, each with its layout, in one pass."""
        device = self.lm.device
        self.width = 1 + max(slot for layout in layouts for _, slot, *_ in layout)
        asked: list[int] | slice = slice(None)
        every_row = list(range(self.rows))
        longest = max(map(len, layouts))
        idle_tokens = longest * (self.rows - len(rows))
        if idle_tokens * self.lm.model.config.hidden_size < COPIED * self.width * len(rows):
            by_row = dict(zip(rows, layouts, strict=True))
            asked = rows
            rows = every_row
            layouts = [by_row.get(row, []) for row in rows]
        chosen = torch.tensor(rows, device=device)
        self.reads = chosen[:, None]
        self.view = slice(None) if rows == every_row else chosen  # all rows: no copy
        idle = (0, self.capacity, 0, 0, 0, 0, 0)
        padded: list[list[tuple[int, ...]]] = []
        for layout in layouts:
            idle_tail = [idle] * (longest - len(layout))
            padded.append(layout + idle_tail)
        ids, self.slots, positions, *seen = torch.tensor(padded, device=device).unbind(-1)
        states = _last_hidden(
            self.lm,
            input_ids=ids,
            position_ids=positions,
            attention_mask=self._find_mask(seen),
            past_key_values=self.cache,
            use_cache=True,
        )
        return states[asked]

    def _find_mask(self, seen: Sequence[Tensor]) -> Float[Tensor, "rows 1 time width"]:
        """The attention mask of a pass: 0 at the slots in the three ranges that a token sees, else the lowest number.

        `seen` has the end of the shared slots, the start and the end of the branch before, and the start of its own.
        """
        place = torch.arange(self.width, device=self.lm.device)
        shared, start, stop, own = (ends[..., None] for ends in seen)
        slots = self.slots[..., None]
        sees_shared = place < shared
        sees_before = (place >= start) & (place < stop)
        sees_own = (place >= own) & (place <= slots)
        is_hidden = ~(sees_shared | sees_before | sees_own)
        dtype = self.lm.model.dtype
        mask = torch.zeros(is_hidden.shape, dtype=dtype, device=self.lm.device)
        mask.masked_fill_(is_hidden, torch.finfo(dtype).min)
        return mask[:, None]

    @torch.inference_mode()
    def move(
        self,
        lines: Sequence[int],
        start: Sequence[Sequence[int]],
        end: Sequence[Sequence[int]],
    ) -> None:
        """Copies the cached tokens of each text in `lines` from the positions `start` to the positions `end`."""
        branches = [self.lines[line] for line in lines]
        rows = torch.tensor([branch.row for branch in branches], device=self.lm.device)[:, None]
        source = self._list_slots(branches, start)
        target = self._list_slots(branches, end)
        for layer in self.layers:
            for stored in layer.stored:
                stored[rows, target] = stored[rows, source]

    def _list_slots(self, branches: Sequence[Branch], places: Sequence[Sequence[int]]) -> Tensor:
        """The slots of the tokens at these places of each branch, padded with the extra slot."""
        slots = [list(map(branch.slot, of_branch)) for branch, of_branch in zip(branches, places, strict=True)]
        return pad(slots, self.capacity, self.lm.device)


@torch.inference_mode()
def read_alone(lm: CausalLM, ids: Sequence[int]) -> Float[Tensor, "time dim"]:
    """Reads one text without cache, mask or other rows, and returns its last hidden states."""
    row = torch.tensor([list(ids)], device=lm.device)
    return _last_hidden(lm, input_ids=row, use_cache=False)[0]


def _last_hidden(lm: CausalLM, **inputs: Any) -> Float[Tensor, "rows time dim"]:
    states = last_hidden_states(lm.model, **inputs)
    return _exact(states)


def _exact(numbers: Tensor) -> Tensor:
    """At least float32: a product with the vocabulary in bfloat16 would round many logits to one."""
    dtype = torch.promote_types(numbers.dtype, torch.float32)
    return numbers.to(dtype)


SEEING = (DynamicLayer, DynamicSlidingWindowLayer)  # layers that see all tokens before, the second in a window


def count_readable(lm: CausalLM) -> int:
    """Counts the tokens that MARS reads at once. With a sliding window, every token must see all tokens before it."""
    layers = DynamicCache(config=lm.model.config).layers
    windows = [layer.sliding_window for layer in layers if isinstance(layer, DynamicSlidingWindowLayer)]
    return min([lm.max_length, *windows])


@torch.inference_mode()
def check_model(lm: CausalLM) -> None:
    """Raises SettingError for a model that cannot be read in slots or whose logits are not h E^T.

    The model has to place tokens by `position_ids`, respect a 4-D attention mask and see all previous tokens (GPT-2,
    GPT-NeoX, OPT, Llama, Qwen2 and Gemma 3 do). The test reads four tokens at once, and in slots with a rejected branch
    in between.
    """
    name = type(lm.model).__name__
    layers = DynamicCache(config=lm.model.config).layers
    if any(type(layer) not in SEEING for layer in layers):
        raise SettingError(
            f"MARS needs a model whose layers all see all previous tokens, but the layers of {name} do not"
        )
    arguments = inspect.signature(type(lm.model).forward).parameters
    if "position_ids" not in arguments:
        raise SettingError(f"MARS needs a model that places tokens by position_ids, but {name} does not read them")
    others = [i for i in range(len(lm.tokenizer)) if i != lm.start]
    ids = [lm.start, *others][:4]
    ids += [lm.start] * (4 - len(ids))
    row = torch.tensor([ids], device=lm.device)
    plain = lm.model(input_ids=row, use_cache=False).logits[0]
    slots = Slots(lm, rows=1, capacity=8)
    chosen = [
        Token(
            ids[2],
            slot=5,
            position=2,
            prefix=2,
            own=5,
        ),
        Token(
            ids[3],
            slot=6,
            position=3,
            prefix=2,
            own=5,
        ),
    ]
    branches = [*read_on([ids[3], ids[0]], 2), *chosen]
    opening = slots.read([read_on(ids[:2], 0)], [0])[0]
    continued = slots.read([branches], [0])[0, 2:]
    hidden = torch.cat([opening, continued])
    slotted = hidden @ get_output_embeddings(lm).T
    centred = plain - plain.mean(-1, keepdim=True)
    spread = float(centred.abs().max())
    rounding = torch.finfo(plain.dtype).eps
    tolerance = spread * max(0.01, 8 * rounding)
    difference = float((slotted - plain).abs().max())
    if not difference <= tolerance:
        raise SettingError(
            "MARS needs a model that places tokens by position_ids, respects a 4-D attention mask and whose logits are "
            f"its hidden states times its output embeddings, but the logits of {name} differ by {difference:.2g}: "
            "take a model such as GPT-2, with attention sdpa or eager"
        )


def get_output_embeddings(lm: CausalLM) -> Float[Tensor, "vocabulary dim"]:
    """Returns E, the output embeddings that planning uses: the weight of the output layer."""
    return _exact(lm.model.get_output_embeddings().weight.detach())
