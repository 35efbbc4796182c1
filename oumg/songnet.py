"""A small SongNet: a causal model over characters that is told the form of the poem it writes (Li et al. 2020).

Every position carries, beside its own token, the symbols of the token that it has to predict: kind (C), phrase (S) and
how many characters of the phrase are left (P, counting down). In front stand the tune name and the whole form, so that
the plan of the poem is visible from the first character on. Smaller than the original, and without its pretraining.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Int
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn
from transformers import GenerationMixin, GPT2Config, GPT2Model, GPT2PreTrainedModel, PreTrainedTokenizerFast
from transformers.modeling_outputs import CausalLMOutputWithPast

from language_models.batching import pad
from language_models.training import Batch, Task, causal_batch
from oumg.form import MARKS, Form, Kind, Slot

LONGEST_PHRASE = 24
SPECIAL = ("<pad>", "<unk>", "<end>", "<poem>")
LENGTHS = tuple(f"<{n}>" for n in range(1, LONGEST_PHRASE + 1))
Symbols = tuple[int, int, int]  # kind, phrase, left


def character_tokenizer(texts: Iterable[str], min_count: int = 1) -> PreTrainedTokenizerFast:
    """One token for every character that occurs `min_count` times, every mark and every phrase length."""
    counts: dict[str, int] = {}
    for text in texts:
        for character in text:
            counts[character] = counts.get(character, 0) + 1
    kept = sorted(c for c, n in counts.items() if n >= min_count and c not in MARKS and not c.isspace())
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *LENGTHS, *MARKS, *kept])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.decoder = decoders.Fuse()  # no blanks between characters
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<end>",
        sep_token="<poem>",
        additional_special_tokens=list(LENGTHS),
        clean_up_tokenization_spaces=False,
        padding_side="left",
    )


class SongNetConfig(GPT2Config):
    """GPT-2's settings and the numbers of symbols."""

    model_type = "songnet"

    def __init__(self, phrases: int = 64, longest_phrase: int = LONGEST_PHRASE, **settings: Any) -> None:
        super().__init__(**settings)
        self.phrases = phrases
        self.longest_phrase = longest_phrase


class SongNetModel(GPT2PreTrainedModel, GenerationMixin):
    """GPT-2 with the symbols of what is to be predicted added to its inputs."""

    config_class = SongNetConfig  # pyright: ignore[reportAssignmentType]
    _tied_weights_keys: ClassVar[Any] = {"lm_head.weight": "transformer.wte.weight"}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, config: SongNetConfig) -> None:
        super().__init__(config)
        self.transformer = GPT2Model(config)
        self.kinds = nn.Embedding(len(Kind), config.n_embd)
        self.phrases = nn.Embedding(config.phrases + 1, config.n_embd)
        self.left = nn.Embedding(config.longest_phrase + 1, config.n_embd)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: Int[Tensor, "rows time"],
        symbols: Int[Tensor, "rows total 3"],
        attention_mask: Int[Tensor, "rows total"] | None = None,
        past_key_values: Any = None,
        position_ids: Int[Tensor, "rows time"] | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **_: Any,
    ) -> CausalLMOutputWithPast:
        """Logits of the next token at each position.

        `symbols` speak of the whole sequence from its first column on, also of what is yet to be written; with a cache
        those of the columns at hand are taken.
        """
        seen = past_key_values.get_seq_length() if past_key_values is not None else 0
        at = symbols[:, seen : seen + input_ids.shape[1]]
        embedded = (
            self.transformer.wte(input_ids)
            + self.kinds(at[..., 0])
            + self.phrases(at[..., 1].clamp(max=self.config.phrases))
            + self.left(at[..., 2].clamp(max=self.config.longest_phrase))
        )
        output = self.transformer(
            inputs_embeds=embedded,
            attention_mask=attention_mask,
            past_key_values=past_key_values,
            position_ids=position_ids,
            use_cache=use_cache,
        )
        hidden = output.last_hidden_state[:, -logits_to_keep:] if logits_to_keep else output.last_hidden_state
        return CausalLMOutputWithPast(logits=self.lm_head(hidden), past_key_values=output.past_key_values)


@dataclass(frozen=True)
class SongNet:
    """The model and its tokenizer."""

    model: Any
    tokenizer: PreTrainedTokenizerFast

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str = "cpu") -> "SongNet":
        """What `save_pretrained` wrote."""
        model: Any = SongNetModel.from_pretrained(str(folder))
        return cls(model.to(device).eval(), PreTrainedTokenizerFast.from_pretrained(str(folder)))

    def save_pretrained(self, folder: Path) -> None:
        """Writes model and tokenizer in the Hugging Face form."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    @property
    def parameters(self) -> int:
        """How many parameters the model has."""
        return sum(p.numel() for p in self.model.parameters())

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Tokens and their ids; asking the tokenizer for them takes milliseconds each time."""
        return self.tokenizer.get_vocab()

    def prompt(self, tune: str, form: Form) -> list[int]:
        """The tune name, the length and mark of every phrase, and where the poem begins, as token ids.

        Raises ValueError for a form with more or longer phrases than the model knows, and for a poem that does not fit.
        """
        longest = max(length for length, _ in form.phrases)
        config = self.model.config
        if longest > config.longest_phrase or len(form.phrases) > config.phrases:
            raise ValueError(
                f"the generator knows forms of at most {config.phrases} phrases of at most {config.longest_phrase} "
                f"characters, but got {len(form.phrases)} phrases, the longest of {longest}"
            )
        plan = [token for length, mark in form.phrases for token in (f"<{length}>", mark)]
        ids = [*self.encode(tune), *(self.vocabulary[token] for token in plan), self.vocabulary["<poem>"]]
        if len(ids) + len(form) + 1 > config.n_positions:
            raise ValueError(
                f"the generator reads {config.n_positions} tokens, but tune and form are {len(ids)} and the poem with "
                f"its end {len(form) + 1}"
            )
        return ids

    def encode(self, text: str) -> list[int]:
        """A token for every character; what the vocabulary lacks is `<unk>`."""
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]  # pyright: ignore[reportReturnType]

    def decode(self, ids: Sequence[int]) -> str:
        """The characters and marks of a poem, without special tokens."""
        special = set(self.tokenizer.all_special_ids)
        return str(self.tokenizer.decode([i for i in ids if i not in special]))

    def task(self, tune: str, poem: str) -> Task:
        """The prompt of the poem's own form, and the poem with its end."""
        return Task(self.prompt(tune, Form.of(poem)), [*self.encode(poem), self.vocabulary["<end>"]])

    def training_batch(self, model: Any, tasks: Sequence[Task]) -> Batch:
        """What the model is called with to learn the tasks."""
        batch = causal_batch(model, tasks)
        width = batch["input_ids"].shape[1]
        rows = []
        for task in tasks:
            tokens = self.tokenizer.convert_ids_to_tokens(list(task.target[:-1]))
            poem = "".join(token if len(token) == 1 else "□" for token in tokens)  # an unknown character takes a place
            rows.append(symbols(len(task.source), Form.of(poem).slots(), 0, width))
        return {**batch, "symbols": torch.tensor(rows)}


def symbols(prompt: int, slots: Sequence[Slot], before: int, width: int) -> list[Symbols]:
    """The symbols of one row of `width` columns: `before` of left padding, the prompt, the poem.

    Column t carries the symbols of what column t + 1 will hold.
    """
    nothing = (int(Kind.NONE), 0, 0)
    told = [(int(slot.kind), slot.phrase, slot.left) for slot in slots]
    row = [nothing] * (before + prompt - 1) + told
    return (row + [nothing] * max(0, width - len(row)))[:width]


def generation_inputs(songnet: SongNet, prompts: Sequence[Sequence[int]], forms: Sequence[Form]) -> dict[str, Tensor]:
    """What `generate()` is called with for these prompts: padded on the left, with the symbols of the whole poems."""
    longest = max(map(len, prompts))
    total = longest + max(map(len, forms)) + 1
    fill = songnet.vocabulary["<pad>"]
    device = songnet.model.device
    rows = [
        symbols(len(prompt), form.slots(), longest - len(prompt), total)
        for prompt, form in zip(prompts, forms, strict=True)
    ]
    turned = pad([list(reversed(prompt)) for prompt in prompts], fill, device).flip(1)
    mask = pad([[1] * len(prompt) for prompt in prompts], 0, device).flip(1)
    return {"input_ids": turned, "attention_mask": mask, "symbols": torch.tensor(rows, device=device)}


def new_songnet(tokenizer: PreTrainedTokenizerFast, seed: int, **shape: Any) -> SongNet:
    """A SongNet with random weights; `shape` are fields of `GPT2Config` (n_embd, n_layer, n_head, n_positions ...)."""
    config = SongNetConfig(
        **{
            "vocab_size": len(tokenizer),
            "pad_token_id": tokenizer.pad_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "bos_token_id": tokenizer.sep_token_id,
            "resid_pdrop": 0.0,
            "embd_pdrop": 0.0,
            "attn_pdrop": 0.0,
            **shape,
        }
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SongNet(SongNetModel(config), tokenizer)


@dataclass(frozen=True)
class SongNetPlan:
    """What to build: a SongNet over the characters of the poems at hand; the rest are fields of `GPT2Config`."""

    n_embd: int
    n_layer: int
    n_head: int
    n_positions: int = 640
    phrases: int = 64
    min_count: int = 1
    dropout: float = 0.0

    def build(self, texts: Sequence[str], seed: int) -> SongNet:
        """The generator with random weights."""
        return new_songnet(
            character_tokenizer(texts, self.min_count),
            seed,
            n_embd=self.n_embd,
            n_layer=self.n_layer,
            n_head=self.n_head,
            n_positions=self.n_positions,
            phrases=self.phrases,
            resid_pdrop=self.dropout,
            embd_pdrop=self.dropout,
            attn_pdrop=self.dropout,
        )
