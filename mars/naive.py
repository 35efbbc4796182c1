"""Naive augmentation: a masked language model fills all blanks at once, a token for each word (MARS, section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from mars.masking import Blank, Kept
from mars.references import Augmented, Fill, Job
from models.masked import MaskedLM, most_likely_at_masks
from models.model import plain_token_ids
from models.windows import cut_end


@dataclass(frozen=True)
class NaiveAugmenter:
    """Replaces each masked word by one mask token, and fills all masks independently in one pass."""

    lm: MaskedLM  # the masked language model
    use_context: bool = True  # whether the context is the first segment; its end is cut to what the model can read
    token_budget: int = 8192  # padded tokens in a batch

    @property
    def depends(self) -> dict[str, str | bool]:
        return {
            "augmenter": "naive",
            "model": self.lm.weights,
            "use_context": self.use_context,
        }

    def augment(self, jobs: Sequence[Job]) -> list[Augmented | str]:
        """Fills the blanks of every job, or says that the model cannot read it. The fills have no perplexity."""
        special = 2 + self.lm.separators
        results: list[Augmented | str] = []
        rows: list[list[int]] = []
        for job in jobs:
            text = self._mask(job)
            room = self.lm.max_length - len(text) - special
            if room < 0:
                rule = f"the model reads {self.lm.max_length} tokens at once, but the reference alone has"
                results.append(f"{rule} {len(text)} and {special} special ones")
                continue
            context = self._encode(job.context) if self.use_context else []
            kept, dropped = cut_end(context, room)
            rows.append(self.lm.framed(kept, text))
            results.append(Augmented("", dropped_context=dropped))
        tokens = iter(most_likely_at_masks(self.lm, rows, self.token_budget))
        for i, (job, result) in enumerate(zip(jobs, results, strict=True)):
            if isinstance(result, Augmented):
                results[i] = self._fill(job, next(tokens), result.dropped_context)
        return results

    def _mask(self, job: Job) -> list[int]:
        mask = self.lm.special("mask")
        tokens: list[int] = []
        for part in job.template:
            tokens += [mask] * part.count if isinstance(part, Blank) else self._encode(part.text)
        return tokens

    def _encode(self, text: str) -> list[int]:
        return plain_token_ids(self.lm.tokenizer, [text])[0]

    def _fill(
        self,
        job: Job,
        tokens: Sequence[int],
        dropped: int,
    ) -> Augmented:
        text = ""
        fills: list[Fill] = []
        start = 0
        for part in job.template:
            if isinstance(part, Kept):
                text += part.text
                continue
            chosen = list(tokens[start : start + part.count])
            start += part.count
            decoded = self.lm.tokenizer.decode(chosen, clean_up_tokenization_spaces=False)
            words = str(decoded).strip()
            text += f" {words}" if text else words
            fills.append(Fill(words, tuple(chosen), ()))
        return Augmented(text, tuple(fills), dropped_context=dropped)
