"""Generation of poems: the form as a constraint, and the decoders of G1 and G2 (OUMG, section 4.1)."""

from collections.abc import Callable, Sequence
from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor
from transformers import LogitsProcessor

from core.errors import SettingError
from core.settings import Count, check
from models.sampling import sample_continuations, sample_in_batches
from oumg.form import MARKS, Form
from oumg.guidance import Scores
from oumg.songnet import SongNet, generation_inputs


class FormConstraint(LogitsProcessor):
    """A logits processor that keeps the form: it forces punctuation and the end where the form has them.

    At all other positions `content` chooses characters. `forms` has one form for each row of `generate()`; several rows
    of one form (beams, return sequences) are consecutive. `prompt` is the number of columns before the poem, left
    padding included.
    """

    def __init__(
        self,
        songnet: SongNet,
        forms: Sequence[Form],
        prompt: int,
        content: LogitsProcessor,
    ) -> None:
        self.prompt = prompt
        self.content = content
        self.slots = [form.slots() for form in forms]
        self.vocabulary = songnet.vocabulary
        marks = [songnet.vocabulary[mark] for mark in MARKS]
        self.no_characters = torch.tensor(sorted({*songnet.tokenizer.all_special_ids, *marks}))

    def __call__(self, input_ids: Int[Tensor, "rows time"], scores: Scores) -> Scores:  # pyright: ignore
        rows, width = input_ids.shape
        forms = [self.slots[row * len(self.slots) // rows] for row in range(rows)]
        slots = [form[min(width - self.prompt, len(form) - 1)] for form in forms]
        scores = scores.index_fill(1, self.no_characters.to(scores.device), -torch.inf)
        forced = {row: self.vocabulary[slot.mark or "<end>"] for row, slot in enumerate(slots) if slot.left == 0}
        for row, token in forced.items():
            scores[row] = -torch.inf
            scores[row, token] = 0.0
        if len(forced) == rows:
            return scores
        chosen = self.content(cast(torch.LongTensor, input_ids), cast(torch.FloatTensor, scores))
        kept = torch.tensor([row in forced for row in range(rows)], device=scores.device)
        return torch.where(kept[:, None], scores, chosen)


class ShiftedRanks(LogitsProcessor):
    """The worse decoder, G2: keeps the tokens of ranks 4k to 5k - 1 (from 0) and renormalises their log-probabilities.

    The better decoder, G1, keeps the ranks 0 to k - 1. A row with only one possible token, such as a forced punctuation
    mark, stays unchanged.

    >>> ShiftedRanks(2)(torch.zeros(1, 0, dtype=torch.long), -torch.arange(10.0)[None]).exp().nonzero()[:, 1].tolist()
    [8, 9]

    Raises SettingError for k below 1, and for a row with fewer than 5k possible tokens.
    """

    def __init__(self, k: int) -> None:
        check(Count, k=k)
        self.k = k

    def __call__(self, input_ids: Int[Tensor, "rows time"], scores: Scores) -> Scores:  # pyright: ignore
        possible = (scores > -torch.inf).sum(dim=-1)
        free = possible > 1
        if not free.any():
            return scores
        fewest = int(possible[free].min())
        if fewest < 5 * self.k:
            raise SettingError(
                f"the ranks 4k to 5k with k = {self.k} need {5 * self.k} possible tokens, but a row has {fewest}: "
                f"k can be at most {fewest // 5}"
            )
        values, indices = scores.topk(5 * self.k)
        kept = values[:, 4 * self.k :]
        tokens = indices[:, 4 * self.k :]
        shifted = torch.full_like(scores, -torch.inf).scatter_(1, tokens, kept.log_softmax(dim=-1))
        return torch.where(free[:, None], shifted, scores)


def generate_poems(
    songnet: SongNet,
    inputs: Sequence[tuple[str, Form]],
    content: Callable[[], LogitsProcessor],
    seed: int,
    batch_size: int = 64,
    advance: Callable[[int], None] = lambda poems: None,
    **generation: object,
) -> list[str]:
    """Generates a poem for every (tune, form). A poem depends on the seed and on the batch it is in.

    `content` makes the processor for characters: top-k for G1, shifted ranks for G2, or guidance. `advance` is called
    with the number of poems after each batch. `generation` are settings of `generate()`, which samples by default.
    """

    def write(rows: list[int]) -> list[str]:
        batch = [inputs[i] for i in rows]
        forms = [form for _, form in batch]
        prompts = [songnet.prompt(tune, form) for tune, form in batch]
        arguments = generation_inputs(songnet, prompts, forms)
        constraint = FormConstraint(
            songnet,
            forms,
            arguments["input_ids"].shape[1],
            content(),
        )
        poems = sample_continuations(
            songnet,
            arguments,
            new_tokens=max(map(len, forms)) + 1,
            seed=seed + rows[0],
            processors=[constraint],
            **generation,
        )
        return [songnet.decode(poem) for poem in poems]

    return sample_in_batches(
        write,
        len(inputs),
        batch_size,
        advance,
    )
