"""The prompts of guided decoding: given ones, prefixes of the data, or the first words of held-out texts."""

from collections.abc import Sequence

from core.example import Example
from core.faults import InputFaults
from data.corpus import Corpus
from experiments.steering.settings import TextSampling
from models.causal import CausalLM
from models.model import plain_token_ids
from oumg.pieces import normalise_text, split_pieces


def choose_prompts(data: Corpus, sampling: TextSampling) -> tuple[list[str], bool]:
    """The prompts, and whether they are the first words of held-out texts.

    They come from the first of these sources that has any: `sampling.prompts`, the different prefixes of the rated
    texts, the prefixes of the held-out texts, the first words of the held-out texts. Held-out texts are taken at
    regular distances, because data may be sorted by label.

    Raises InputFaults where there are none.
    """
    if sampling.prompts is not None:
        return [prompt.strip() for prompt in sampling.prompts][: sampling.inputs], False
    if found := _prefixes([example for each in data.rated for example in each.examples]):
        return found[: sampling.inputs], False
    prefixes = _prefixes(data.held_out)
    if found := prefixes or first_words(data.held_out, sampling.prompt_words):
        number = min(sampling.inputs, len(found))
        return [found[i * len(found) // number] for i in range(number)], not prefixes
    raise InputFaults(
        [f"{data.name} has no held-out texts to take prompts from: set sampling.prompts to a list of texts"]
    )


def _prefixes(examples: Sequence[Example]) -> list[str]:
    return list(dict.fromkeys(e.prefix.strip() for e in examples if e.prefix and e.prefix.strip()))


def first_words(examples: Sequence[Example], words: int) -> list[str]:
    """The different first words of texts that have more words; a CJK character is a word.

    >>> first_words([Example("a", text="The food was cold."), Example("b", text="Cold food")], words=2)
    ['The food']
    """
    rows = [split_pieces(normalise_text(example.full_text), "words") for example in examples]
    return list(dict.fromkeys("".join(row[:words]).strip() for row in rows if len(row) > words))


def encode_prompts(lm: CausalLM, prompts: Sequence[str], new_tokens: int) -> list[list[int]]:
    """The start token and the tokens of each prompt.

    Raises InputFaults for prompts that leave the model no room for the new tokens.
    """
    rows = [[lm.start, *ids] for ids in plain_token_ids(lm.tokenizer, prompts)]
    faults = [
        f"the generator reads {lm.longest} tokens, but this prompt has {len(row)} and {new_tokens} are to follow: "
        f"{prompt!r}"
        for prompt, row in zip(prompts, rows, strict=True)
        if len(row) + new_tokens > lm.longest
    ]
    if faults:
        raise InputFaults(faults)
    return rows
