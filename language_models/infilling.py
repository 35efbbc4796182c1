"""How a family of models writes an infilling task: where the mask stands, what frames the target."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Infilling:
    """Source: text with `mask` in the gap. Target: `before`, the missing tokens, `after`.

    The tokens of `before` are given to the model and never scored; `after` ends the segment and is scored.
    """

    mask: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    def target(self, segment: Sequence[int]) -> list[int]:
        """The target ids for a missing segment."""
        return [*self.before, *segment, *self.after]


def sentinel_infilling(tokenizer: PreTrainedTokenizerBase) -> Infilling:
    """T5's convention: `<extra_id_0>` in the source, `<extra_id_0> segment <extra_id_1>` as the target.

    Raises ValueError for a tokenizer without these sentinels.
    """
    first, second = (tokenizer.convert_tokens_to_ids(f"<extra_id_{i}>") for i in range(2))
    if not isinstance(first, int) or not isinstance(second, int) or tokenizer.unk_token_id in (first, second):
        raise ValueError(
            "infilling needs a tokenizer with the sentinels <extra_id_0> and <extra_id_1> (the T5 family), "
            f"but {type(tokenizer).__name__} of {tokenizer.name_or_path!r} has none"
        )
    return Infilling(mask=first, before=(first,), after=(second,))
