"""Self-planning cloze augmentation: a causal language model fills the blanks of a template (MARS, 2.2, Appendix B).

This is Algorithm 2 as it is meant, for each blank from left to right. Generate |B| + sigma tokens greedily, with the
probabilities of each token shifted toward the kept text after the blank. For every length of this fill, compute the
perplexity of the fill and that text. Keep the best length, and continue after the kept text. |B| is a number of words,
sigma a number of tokens: a blank of two words gets 2 + sigma tokens, of which at least one is kept. A blank at the end
has no text to plan for: the perplexity is that of the fill alone.

All jobs of a batch run in lockstep on one key-value cache. The last digits of what a batch computes depend on its
shape. If such a difference could change a decision (`DOUBT`), the decision is made again for that job alone. With
models in float32 or float64 the texts are therefore the same, byte for byte, in any batch and any order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

from tqdm import tqdm

from core.errors import ExampleError
from mars.lockstep import Filler, Filling, TokenBlank, TokenJob, fill_in_lockstep
from mars.masking import Blank, Kept, Template
from mars.references import Augmentation, Augmented, Fill, Job
from mars.slots import check_model, count_readable, get_output_embeddings
from mars.writable_tokens import WritableTokens
from models.batching import batches_by_budget, halve_when_out_of_memory
from models.causal import CausalLM
from models.model import plain_token_ids
from models.windows import cut_end

PAPER = Augmentation()


@dataclass(frozen=True)
class SelfPlanningAugmenter:
    """Fills blanks with a guided language model: it writes each fill, judges its lengths, and keeps the best one."""

    lm: CausalLM  # the model
    settings: Augmentation = PAPER  # how blanks are filled
    token_budget: int = 16_384  # slots of the cache in a batch; a batch that does not fit into memory is halved

    @property
    def depends(self) -> dict[str, Any]:
        return {
            "augmenter": "self_planning",
            "model": self.lm.weights,
            **asdict(self.settings),
        }

    def augment(self, jobs: Sequence[Job]) -> list[Augmented]:
        """Fills the blanks of every job, in order. A template without a blank needs no model.

        Raises ExampleError, before the model is called, for all templates that are too long for the model even without
        context. Raises SettingError for a model or tokenizer that cannot be used here (`check_model`,
        `WritableTokens`).
        """
        results: list[Augmented] = []
        for job in jobs:
            text = "".join(_list_kept_texts(job.template))
            results.append(Augmented(text, fills=(), kl=0.0, dropped_context=0))
        with_blanks = [i for i, job in enumerate(jobs) if _has_blank(job.template)]
        if not with_blanks:
            return results
        self.lm.model.eval()
        embeddings = get_output_embeddings(self.lm)
        tokens = WritableTokens(self.lm.tokenizer, len(embeddings), self.lm.device)
        filler = Filler(self.lm, self.settings, tokens, embeddings)
        tokenized = _tokenize_jobs(filler, [jobs[i] for i in with_blanks], with_blanks)
        token_jobs = dict(zip(with_blanks, tokenized, strict=True))
        check_model(self.lm)

        def fill(indices: list[int]) -> list[Filling]:
            return fill_in_lockstep(filler, [token_jobs[i] for i in indices])

        batches = _batch_jobs(token_jobs, self.token_budget)
        for batch in tqdm(
            batches,
            desc="augmented references",
            delay=3,
            leave=False,
            disable=None,
        ):
            rows = halve_when_out_of_memory(fill, batch)
            for i, row in zip(batch, rows, strict=True):
                results[i] = _finish(jobs[i].template, row)
        return results


def _has_blank(template: Template) -> bool:
    return any(isinstance(part, Blank) for part in template)


def _batch_jobs(jobs: Mapping[int, TokenJob], token_budget: int) -> list[list[int]]:
    """The indices of the jobs in batches; jobs of one context stay side by side and cost what the largest costs."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, job in jobs.items():
        groups.setdefault(job.prompt, []).append(i)
    in_order: list[int] = []
    costs: list[int] = []
    for group in groups.values():
        largest = max(jobs[i].capacity for i in group)
        in_order += group
        costs += [largest] * len(group)
    batches: list[list[int]] = []
    for places in batches_by_budget(costs, token_budget):
        batches.append([in_order[place] for place in places])
    return batches


def _finish(template: Template, row: Filling) -> Augmented:
    """The augmented reference of a job whose blanks are filled."""
    planned = len(row.divergences)
    return Augmented(
        text=_join_text(template, row.fills),
        fills=tuple(row.fills),
        kl=sum(row.divergences) / max(1, planned),
        dropped_context=row.job.dropped,
        planned=planned,
    )


def _list_kept_texts(template: Template) -> Iterator[str]:
    return (part.text for part in template if isinstance(part, Kept))


def _join_text(template: Template, fills: Sequence[Fill]) -> str:
    """The template with its fills; a text that begins with a fill has no white space in front."""
    filled = iter(fills)
    texts = [part.text if isinstance(part, Kept) else next(filled).text for part in template]
    text = "".join(texts)
    return text if isinstance(template[0], Kept) else text.lstrip()


def _tokenize_jobs(
    filler: Filler,
    jobs: Sequence[Job],
    indices: Sequence[int],
) -> list[TokenJob]:
    """The jobs in tokens. Raises ExampleError, with their indices, for jobs that are too long."""
    lm = filler.lm
    settings = filler.settings
    contexts: list[str] = []
    templates: list[Template] = []
    for job in jobs:
        context = job.context.rstrip() if settings.use_context else ""
        contexts.append(context)
        templates.append(_separate_from_context(job.template, context))
    kept_texts = chain.from_iterable(map(_list_kept_texts, templates))
    texts = list(dict.fromkeys([*contexts, *kept_texts]))
    ids = dict(zip(texts, _encode(filler, texts), strict=True))
    readable = count_readable(lm)
    tokenized: list[TokenJob] = []
    faults: list[tuple[int, str]] = []
    for i, context, template in zip(indices, contexts, templates, strict=True):
        job = _tokenize_template(filler, template, ids)
        needed = 1 + job.max_length
        if needed > readable:
            faults.append((i, f"the model reads {readable} tokens at once, but the reference alone has {needed}"))
        room = min(readable - needed, settings.max_context)
        fitting, dropped = cut_end(ids[context], room)
        prompt = (lm.start, *fitting)
        tokenized.append(replace(job, prompt=prompt, dropped=dropped))
    if faults:
        raise ExampleError(faults)
    return tokenized


def _tokenize_template(
    filler: Filler,
    template: Template,
    ids: Mapping[str, tuple[int, ...]],
) -> TokenJob:
    """The template in tokens, without its context; `ids` has the tokens of each kept text."""
    opening: tuple[int, ...] = ()
    blanks: list[TokenBlank] = []
    for part in template:
        if isinstance(part, Blank):
            blanks.append(TokenBlank(part.count + filler.settings.max_guess, (), ()))
        elif blanks:
            after = ids[part.text]
            sought = tuple(token for token in after if not filler.tokens.is_mark(token))
            blanks[-1] = TokenBlank(blanks[-1].length, after, sought)
        else:
            opening = ids[part.text]
    return TokenJob((filler.lm.start,), opening, tuple(blanks), dropped=0)


def _separate_from_context(template: Template, context: str) -> Template:
    """The template with a space in front if it follows a context and begins with kept text without white space."""
    first = template[0]
    if not context or not isinstance(first, Kept) or first.text[:1].isspace():
        return template
    return (Kept(f" {first.text}"), *template[1:])


def _encode(filler: Filler, texts: Sequence[str]) -> list[tuple[int, ...]]:
    """The tokens of every text; text that spells a special token is read as plain text."""
    tokenizer = filler.lm.tokenizer
    encoded = [tuple(ids) for ids in plain_token_ids(tokenizer, texts)]
    for text, ids in zip(texts, encoded, strict=True):
        if text.startswith(" ") and not filler.tokens.bytes[ids[0]].startswith(b" "):
            raise ValueError(
                f"MARS needs a tokenizer that keeps the white space before a text, but {type(tokenizer).__name__} of "
                f"{tokenizer.name_or_path!r} drops it"
            )
    return encoded
