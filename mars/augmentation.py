"""Self-planning cloze augmentation: a causal language model fills the blanks of a template (MARS, 2.2, Appendix B).

Algorithm 2, as intended. For each blank from left to right: write |B| + sigma tokens greedily, each planned toward the
kept text after the blank; judge every length by the perplexity of what it makes with that text; keep the best length
and go on behind the kept text. |B| counts words and sigma tokens: a blank of two words gets 2 + sigma tokens, of which
one to all stay. A blank at the end is open: no planning, and the perplexity of the fill alone.

All jobs of a batch run in lockstep on one key-value cache. What a batch computes differs in the last digits with its
shape. A decision that such a difference could turn (`DOUBT`) is made again by the job alone, so that the texts are the
same byte for byte in any batch and any order, for models in float32 or float64.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tqdm import tqdm

from core.faults import ExampleFaults
from language_models.batching import batches_by_budget, halving_on_out_of_memory
from language_models.causal import CausalLM
from mars.cloze import Augmentation, Augmented, Fill, Job
from mars.lockstep import Filler, TokenBlank, TokenJob, fill_in_lockstep
from mars.masking import Blank, Kept, Template
from mars.slots import check_model, output_embeddings
from mars.writable_tokens import WritableTokens

PAPER = Augmentation()


@dataclass(frozen=True)
class SelfPlanningAugmenter:
    """Fills blanks by generate, judge and revise.

    Attributes:
        lm: the model.
        settings: how blanks are filled.
        token_budget: slots of the cache in a batch; a batch that does not fit into memory is halved.
    """

    lm: CausalLM
    settings: Augmentation = PAPER
    token_budget: int = 16_384

    @property
    def depends(self) -> dict[str, Any]:
        """What a filled reference depends on beside its job."""
        return {"augmenter": "self_planning", "model": self.lm.weights, **asdict(self.settings)}

    def but(self, **changes: Any) -> "SelfPlanningAugmenter":
        """The same model with other settings."""
        return replace(self, settings=replace(self.settings, **changes))

    def augment(self, jobs: Sequence[Job]) -> list[Augmented]:
        """The augmented reference of every job, in their order.

        A batch encodes a context once for all of its jobs. Templates without a blank come back as they are, without a
        call to the model.

        Raises ExampleFaults, before the model is called, for all templates that are longer than the model reads even
        without context, and ValueError for a model or tokenizer that does not fit (`check_model`, `WritableTokens`).
        """
        results = [Augmented("".join(_kept_texts(job.template)), (), 0.0, 0) for job in jobs]
        blank = [i for i, job in enumerate(jobs) if any(isinstance(part, Blank) for part in job.template)]
        if not blank:
            return results
        self.lm.model.eval()
        embeddings = output_embeddings(self.lm)
        tokens = WritableTokens(self.lm.tokenizer, len(embeddings), self.lm.device)
        filler = Filler(self.lm, self.settings, tokens, embeddings)
        token_jobs = dict(zip(blank, _token_jobs(filler, [jobs[i] for i in blank], blank), strict=True))
        check_model(self.lm)
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, job in token_jobs.items():
            groups.setdefault(job.prompt, []).append(i)
        together = [i for group in groups.values() for i in group]  # jobs of one context stay side by side
        costs = [max(token_jobs[i].capacity for i in group) for group in groups.values() for _ in group]
        batches = batches_by_budget(costs, self.token_budget)
        for batch in tqdm(batches, desc="augmented references", delay=3, leave=False, disable=None):
            chosen = [together[i] for i in batch]
            rows = halving_on_out_of_memory(
                lambda part: fill_in_lockstep(filler, [token_jobs[i] for i in part]), chosen
            )
            for i, row in zip(chosen, rows, strict=True):
                kl = sum(row.divergences) / max(1, len(row.divergences))
                text = _filled_text(jobs[i].template, row.fills)
                results[i] = Augmented(text, tuple(row.fills), kl, row.job.dropped)
        return results


def _kept_texts(template: Template) -> Iterator[str]:
    return (part.text for part in template if isinstance(part, Kept))


def _filled_text(template: Template, fills: Sequence[Fill]) -> str:
    """The template with its fills, without white space that a fill puts before everything."""
    filled = iter(fills)
    text = "".join(part.text if isinstance(part, Kept) else next(filled).text for part in template)
    return text if isinstance(template[0], Kept) else text.lstrip()


def _token_jobs(filler: Filler, jobs: Sequence[Job], indices: Sequence[int]) -> list[TokenJob]:
    """The jobs in tokens. Raises ExampleFaults, with their indices, for those that are too long."""
    lm, settings = filler.lm, filler.settings
    contexts = [job.context.rstrip() if settings.use_context else "" for job in jobs]
    templates = [_after_context(job.template, context) for job, context in zip(jobs, contexts, strict=True)]
    texts = list(dict.fromkeys([*contexts, *(text for template in templates for text in _kept_texts(template))]))
    ids = dict(zip(texts, _encode(filler, texts), strict=True))
    found: list[TokenJob] = []
    faults: list[tuple[int, str]] = []
    for i, context, template in zip(indices, contexts, templates, strict=True):
        opening: tuple[int, ...] = ()
        blanks: list[TokenBlank] = []
        for part in template:
            if isinstance(part, Blank):
                blanks.append(TokenBlank(part.count + settings.max_guess, ()))
            elif blanks:
                blanks[-1] = TokenBlank(blanks[-1].length, ids[part.text])
            else:
                opening = ids[part.text]
        job = TokenJob((lm.start,), opening, tuple(blanks), dropped=0)
        if (needed := 1 + job.longest_text) > lm.longest:
            faults.append((i, f"the model reads {lm.longest} tokens at once, but the reference alone has {needed}"))
        fitting = ids[context][: max(0, min(lm.longest - needed, settings.longest_context))]
        found.append(replace(job, prompt=(lm.start, *fitting), dropped=len(ids[context]) - len(fitting)))
    if faults:
        raise ExampleFaults(faults)
    return found


def _after_context(template: Template, context: str) -> Template:
    """Puts a space between the context and a template that begins with kept text and brings none along."""
    first = template[0]
    if not context or not isinstance(first, Kept) or first.text[:1].isspace():
        return template
    return (Kept(f" {first.text}"), *template[1:])


def _encode(filler: Filler, texts: Sequence[str]) -> list[tuple[int, ...]]:
    """The tokens of every text; one that spells a special token is read as plain text."""
    tokenizer = filler.lm.tokenizer
    found = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    encoded = [tuple(ids) for ids in found]
    for text, ids in zip(texts, encoded, strict=True):
        if text.startswith(" ") and not filler.tokens.bytes[ids[0]].startswith(b" "):
            raise ValueError(
                f"MARS needs a tokenizer that keeps the white space before a text, but {type(tokenizer).__name__} of "
                f"{tokenizer.name_or_path!r} drops it"
            )
    return encoded
