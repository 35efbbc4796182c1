"""A small SongNet: a causal model over characters that reads the form of the poem it generates (Li et al. 2020).

The input at every position is its own token and the symbols of the next token: its kind (C), its phrase (S) and how
many characters of the phrase are left (P). The prompt is the tune name and the whole form, so the model knows the form
from the first character on. The model is smaller than the original and is not pretrained.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import WordLevel
from torch import Tensor, nn
from transformers import GenerationMixin, GPT2Config, GPT2Model, GPT2PreTrainedModel, PreTrainedTokenizerFast
from transformers.modeling_outputs import CausalLMOutputWithPast

from core.example import Example
from core.settings import Count, Share, checked_dataclass
from models.batching import Batch, Task, pad_with_mask
from models.causal import CausalLM
from models.model import Float32Linear, decode_tokens, last_hidden_states
from models.sampling import pad_prompts
from models.tiny import DROPOUTS, initialise_model
from models.windows import Pair
from oumg.form import MARKS, Form, Slot, SlotKind

LONGEST_PHRASE = 24
SPECIAL = ("<pad>", "<unk>", "<end>", "<poem>")
LENGTHS = tuple(f"<{n}>" for n in range(1, LONGEST_PHRASE + 1))


def character_tokenizer(texts: Iterable[str], min_count: int = 1) -> PreTrainedTokenizerFast:
    """Makes a tokenizer with a token for each character that occurs `min_count` times, each mark and phrase length."""
    tokens = [*SPECIAL, *LENGTHS, *MARKS, *frequent_characters(texts, min_count)]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.decoder = decoders.Fuse()  # no spaces between characters
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


def frequent_characters(texts: Iterable[str], min_count: int = 1) -> list[str]:
    """Lists the characters with at least `min_count` occurrences, without punctuation, in Unicode order."""
    counts = Counter(character for text in texts for character in text)
    frequent = [character for character, count in counts.items() if count >= min_count]
    return sorted(character for character in frequent if character not in MARKS and not character.isspace())


class SongNetConfig(GPT2Config):
    """GPT-2's settings, and the maximum number of phrases."""

    model_type = "songnet"

    def __init__(self, phrases: int = 64, **settings: Any) -> None:
        super().__init__(**settings)
        self.phrases = phrases


class SongNetModel(GPT2PreTrainedModel, GenerationMixin):
    """GPT-2 whose inputs also have the symbols of the next token."""

    config_class = SongNetConfig  # pyright: ignore[reportAssignmentType]
    _tied_weights_keys: ClassVar[Any] = {"lm_head.weight": "transformer.wte.weight"}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, config: SongNetConfig) -> None:
        super().__init__(config)
        self.transformer = GPT2Model(config)
        self.kinds = nn.Embedding(len(SlotKind), config.n_embd)
        self.phrases = nn.Embedding(config.phrases + 1, config.n_embd)
        self.left = nn.Embedding(LONGEST_PHRASE + 1, config.n_embd)
        self.lm_head = Float32Linear(config.n_embd, config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: Int[Tensor, "rows time"],
        symbols: Int[Tensor, "rows total 3"],
        attention_mask: Int[Tensor, "rows read"] | None = None,
        past_key_values: Any = None,
        position_ids: Int[Tensor, "rows time"] | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **_: Any,
    ) -> CausalLMOutputWithPast:
        """Computes the logits of the next token at each position, always in float32.

        `symbols` covers the whole sequence, also tokens that are not generated yet. With a cache, only the symbols at
        the positions of `input_ids` are used.
        """
        seen = past_key_values.get_seq_length() if past_key_values is not None else 0
        kinds, phrases, left = symbols[:, seen : seen + input_ids.shape[1]].unbind(-1)
        embedded = (
            self.transformer.wte(input_ids)
            + self.kinds(kinds)
            + self.phrases(phrases.clamp(max=self.config.phrases))
            + self.left(left.clamp(max=LONGEST_PHRASE))
        )
        output: Any = self.transformer(
            inputs_embeds=embedded,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past_key_values,
            use_cache=use_cache,
        )
        hidden = output.last_hidden_state
        if logits_to_keep:
            hidden = hidden[:, -logits_to_keep:]
        return CausalLMOutputWithPast(logits=self.lm_head(hidden), past_key_values=output.past_key_values)


@dataclass(frozen=True)
class SongNet(CausalLM):
    """A SongNet and its tokenizer. Sources are prompts, targets are poems with the end token."""

    loader = SongNetModel

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Tokens and their ids, cached because the tokenizer takes milliseconds to list them."""
        return self.tokenizer.get_vocab()

    def prompt(self, tune: str, form: Form) -> list[int]:
        """Encodes the prompt: the tune name, the length and mark of every phrase, and the start of the poem.

        Raises ValueError for a form with more or longer phrases than the model knows, and for a poem that does not fit.
        """
        config = self.model.config
        misfit = find_misfit(
            tune,
            form,
            config.phrases,
            config.n_positions,
        )
        if misfit:
            raise ValueError(misfit)
        plan = [token for length, mark in form.phrases for token in (f"<{length}>", mark)]
        following = [self.vocabulary[token] for token in (*plan, "<poem>")]
        return [*self.encode(tune), *following]

    def encode(self, text: str) -> list[int]:
        """Returns the token ids of a text, one per character."""
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]  # pyright: ignore[reportReturnType]

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the characters and marks of a poem, without special tokens."""
        return decode_tokens(self.tokenizer, ids)

    def task(self, tune: str, poem: str) -> Task:
        """Makes the training task of a poem: source is the prompt of its form, target the poem with the end token."""
        target = [*self.encode(poem), self.vocabulary["<end>"]]
        return Task(self.prompt(tune, Form.of(poem)), target)

    def training_batch(self, tasks: Sequence[Task]) -> Batch:
        """Makes the training batch of a causal model, and adds the symbols of the form."""
        batch = super().training_batch(tasks)
        read = [(task.source, task.target[:-1]) for task in tasks]
        return {**batch, "symbols": self._symbols(read, batch["input_ids"].shape[1])}

    @torch.inference_mode()
    def predict(self, pairs: Sequence[Pair], given: Sequence[int]) -> list[Float[Tensor, "tokens dim"]]:
        """Returns, for each pair, the last hidden states that predict the target.

        Each poem has a row of its own, because its symbols depend on its form.
        """
        inputs = pad_with_mask([[*prompt, *written] for prompt, written in pairs], 0, self.device)
        symbols = self._symbols(pairs, inputs["input_ids"].shape[1]).to(self.device)
        hidden = last_hidden_states(
            self.model,
            **inputs,
            symbols=symbols,
            use_cache=False,
        )
        states = []
        for row, (prompt, written), read in zip(
            hidden,
            pairs,
            given,
            strict=True,
        ):
            start = len(prompt) - 1 + read
            states.append(row[start : len(prompt) + len(written)].clone())
        return states

    def _symbols(self, pairs: Sequence[Pair], width: int) -> Int[Tensor, "rows time 3"]:
        rows: list[list[tuple[int, int, int]]] = []
        for prompt, written in pairs:
            tokens = self.tokenizer.convert_ids_to_tokens(list(written))
            # An unknown character has a place too.
            poem = "".join(token if len(token) == 1 else "□" for token in tokens)
            rows.append(
                row_symbols(
                    len(prompt),
                    Form.of(poem).slots(),
                    0,
                    width,
                )
            )
        return torch.tensor(rows)


def find_misfit(
    tune: str,
    form: Form,
    phrases: int,
    max_length: int,
) -> str | None:
    """Returns the reason why a poem and its prompt do not fit into a generator of this size; None if both fit."""
    number = len(form.phrases)
    longest = max(length for length, _ in form.phrases)
    prompt = len(tune) + 2 * number + 1
    poem = len(form) + 1
    if longest > LONGEST_PHRASE or number > phrases:
        known = f"the generator knows forms of at most {phrases} phrases of at most {LONGEST_PHRASE} characters"
        return f"{known}, but got {number} phrases, the longest of {longest}"
    if prompt + poem > max_length:
        return (
            f"the generator reads {max_length} tokens, but tune and form have {prompt} and the poem with its end {poem}"
        )
    return None


def poem_nll(songnet: SongNet, poems: Sequence[tuple[str, str]]) -> Float[NDArray[np.float64], " poems"]:
    """Computes the negative log-probability of each poem and its end, in nats, given tune and form.

    Punctuation counts, too, though the form determines it: the generator is nearly certain of it.
    """
    tasks = (songnet.task(tune, poem) for tune, poem in poems)
    rows = songnet.log_probabilities([(task.source, task.target) for task in tasks])
    return np.array([-row.sum(dtype=np.float64) for row in rows])


def row_symbols(
    prompt: int,
    slots: Sequence[Slot],
    padding: int,
    width: int,
) -> list[tuple[int, int, int]]:
    """Lists the symbols (kind, phrase, left) of each column of a row: padding, prompt, poem, padding to `width`.

    Column t has the symbols of the token in column t + 1.
    """
    none = (int(SlotKind.NONE), 0, 0)
    row = [none] * (padding + prompt - 1)
    row += [(int(slot.kind), slot.phrase, slot.left) for slot in slots]
    row += [none] * max(0, width - len(row))
    return row[:width]


def generation_inputs(songnet: SongNet, prompts: Sequence[Sequence[int]], forms: Sequence[Form]) -> dict[str, Tensor]:
    """Makes the arguments of `generate()` for prompts, padded on the left, with the symbols of the whole poems."""
    padded = pad_prompts(songnet, prompts)
    width = padded["input_ids"].shape[1]
    total = width + max(map(len, forms)) + 1
    rows = [
        row_symbols(
            len(prompt),
            form.slots(),
            width - len(prompt),
            total,
        )
        for prompt, form in zip(prompts, forms, strict=True)
    ]
    return {**padded, "symbols": torch.tensor(rows, device=songnet.device)}


@checked_dataclass
class SongNetPlan:
    """A SongNet to build, with the characters of the training poems as tokens."""

    # as in `GPT2Config`
    n_embd: Count
    n_layer: Count
    n_head: Count
    # tokens of tune, form and poem, `n_positions` of `GPT2Config`
    max_length: Count = 640
    # the most phrases of a poem
    phrases: Count = 64
    # occurrences that a character needs for a token
    min_count: Count = 1
    # of embeddings, attention and residual connections
    dropout: Share = 0.0

    def fits(self, tune: str, form: Form) -> bool:
        """Whether a poem of this tune and form fits into the generator together with its prompt."""
        return (
            find_misfit(
                tune,
                form,
                self.phrases,
                self.max_length,
            )
            is None
        )

    def build(self, texts: Sequence[str], seed: int) -> SongNet:
        tokenizer = character_tokenizer(texts, self.min_count)
        dropouts: Any = dict.fromkeys(DROPOUTS["gpt2"], self.dropout)
        config = SongNetConfig(
            phrases=self.phrases,
            vocab_size=len(tokenizer),
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=tokenizer.sep_token_id,
            n_embd=self.n_embd,
            n_layer=self.n_layer,
            n_head=self.n_head,
            n_positions=self.max_length,
            **dropouts,
        )
        return SongNet(initialise_model(SongNetModel, config, seed), tokenizer)


def tune_of(poem: Example) -> str:
    """The tune name of a poem."""
    if poem.prefix is None:
        raise ValueError(f"a poem needs the name of its tune as its prefix, but {poem.id!r} has none")
    return poem.prefix


def spell_poems(poems: Sequence[Example]) -> list[str]:
    """Lists the tune and the text of every poem."""
    return [tune_of(poem) + poem.text for poem in poems]


@dataclass(frozen=True)
class Poems:
    """A training task: to write every poem, given its tune and form."""

    def build(
        self,
        model: SongNetPlan,
        poems: Sequence[Example],
        seed: int,
    ) -> SongNet:
        return model.build(spell_poems(poems), seed)

    def tasks(self, songnet: SongNet, poems: Sequence[Example]) -> Callable[[int], Sequence[Task]]:
        tasks = [songnet.task(tune_of(poem), poem.text) for poem in poems]
        return lambda seed: tasks
