"""Self-planning cloze augmentation: a causal language model fills the blanks of a template (MARS, 2.2, Appendix B).

Algorithm 2, as intended. For each blank from left to right: write |B| + sigma tokens greedily, each planned toward the
kept text after the blank; judge every length by the perplexity of what it makes with that text; keep the best length
and go on behind the kept text. |B| counts words and sigma tokens: a blank of two words gets 2 + sigma tokens, of which
one to all stay. A blank at the end is open: no planning, and the perplexity of the fill alone.

All jobs of a batch run in lockstep on one key-value cache. What a batch computes differs in the last digits with its
shape, so a decision that such a difference could turn (`DOUBT`) is made again by the job alone: the texts are the same
byte for byte in any batch and any order, for models in float32 or float64.
"""

from collections.abc import Iterator, Sequence

from tqdm import tqdm

from core.faults import ExampleFaults, SettingFault
from language_models.batching import batches_by_budget, halving_on_out_of_memory
from language_models.causal import CausalLM
from mars.cloze import Augmentation, Augmented, Fill, Job
from mars.lockstep import Gap, Task, Writer, length_of, lockstep
from mars.masking import Blank, Kept, Template
from mars.slots import check_model, output_embeddings
from mars.vocabulary import Vocabulary

PAPER = Augmentation()


def augment(
    lm: CausalLM,
    jobs: Sequence[Job],
    settings: Augmentation = PAPER,
    token_budget: int = 16_384,
) -> list[Augmented]:
    """The augmented reference of every job, in their order.

    A batch holds at most `token_budget` slots of the cache; batches that do not fit into memory are halved. A context
    is encoded once for all jobs of a batch that share it. Templates without a blank come back as they are, without
    a call to the model.

    Raises ExampleFaults, before the model is called, for all templates that are longer than the model reads even
    without context, and SettingFault for a model or tokenizer that this cannot work with (`check_model`, `Vocabulary`).
    """
    blank = [i for i, job in enumerate(jobs) if any(isinstance(part, Blank) for part in job.template)]
    results = [Augmented("".join(_kept(job.template)), (), 0.0, 0) for job in jobs]
    if not blank:
        return results
    lm.model.eval()
    embeddings = output_embeddings(lm)
    writer = Writer(lm, settings, Vocabulary(lm.tokenizer, len(embeddings), lm.device), embeddings)
    tasks = dict(zip(blank, _tasks(writer, jobs, blank), strict=True))
    check_model(lm)
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, task in tasks.items():
        groups.setdefault(task.prompt, []).append(i)
    together = [i for group in groups.values() for i in group]  # jobs of one context stay side by side
    costs = [max(tasks[i].capacity for i in group) for group in groups.values() for _ in group]
    batches = batches_by_budget(costs, token_budget)
    for batch in tqdm(batches, desc="augmented references", delay=3, leave=False, disable=None):
        chosen = [together[i] for i in batch]
        rows = halving_on_out_of_memory(lambda part: lockstep(writer, [tasks[i] for i in part]), chosen)
        for i, row in zip(chosen, rows, strict=True):
            kl = sum(row.divergences) / max(1, len(row.divergences))
            results[i] = Augmented(_text(jobs[i].template, row.fills), tuple(row.fills), kl, row.task.dropped)
    return results


def _kept(template: Template) -> Iterator[str]:
    return (part.text for part in template if isinstance(part, Kept))


def _text(template: Template, fills: Sequence[Fill]) -> str:
    """The template with its fills; white space that a fill puts before everything is not part of it."""
    filled = iter(fills)
    text = "".join(part.text if isinstance(part, Kept) else next(filled).text for part in template)
    return text if isinstance(template[0], Kept) else text.lstrip()


def _tasks(writer: Writer, jobs: Sequence[Job], chosen: Sequence[int]) -> list[Task]:
    lm, settings = writer.lm, writer.settings
    contexts = [jobs[i].context.rstrip() if settings.use_context else "" for i in chosen]
    templates = [_after_context(jobs[i].template, context) for i, context in zip(chosen, contexts, strict=True)]
    texts = list(dict.fromkeys([*contexts, *(text for template in templates for text in _kept(template))]))
    ids = dict(zip(texts, _encode(writer, texts), strict=True))
    tasks: list[Task] = []
    faults: list[tuple[int, str]] = []
    for i, context, template in zip(chosen, contexts, templates, strict=True):
        opening: tuple[int, ...] = ()
        gaps: list[Gap] = []
        for part in template:
            if isinstance(part, Blank):
                gaps.append(Gap(part.count + settings.max_guess, ()))
            elif gaps:
                gaps[-1] = Gap(gaps[-1].written, gaps[-1].after + ids[part.text])
            else:
                opening += ids[part.text]
        needed = 1 + length_of(opening, gaps)
        if needed > lm.longest:
            faults.append((i, f"the model reads {lm.longest} tokens at once, but the reference alone has {needed}"))
        fitting = ids[context][: max(0, lm.longest - needed)]
        tasks.append(Task((lm.start, *fitting), opening, tuple(gaps), len(ids[context]) - len(fitting)))
    if faults:
        raise ExampleFaults(faults)
    return tasks


def _after_context(template: Template, context: str) -> Template:
    """A space between the context and a template that begins with kept text and brings none along."""
    first = template[0]
    if not context or not isinstance(first, Kept) or first.text[:1].isspace():
        return template
    return (Kept(f" {first.text}"), *template[1:])


def _encode(writer: Writer, texts: Sequence[str]) -> list[tuple[int, ...]]:
    """The tokens of every text; one that spells a special token is read as plain text."""
    tokenizer = writer.lm.tokenizer
    found = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    encoded = [tuple(ids) for ids in found]
    for text, ids in zip(texts, encoded, strict=True):
        if text.startswith(" ") and not writer.vocabulary.bytes[ids[0]].startswith(b" "):
            raise SettingFault(
                f"MARS needs a tokenizer that keeps the white space before a text, but {type(tokenizer).__name__} of "
                f"{tokenizer.name_or_path!r} drops it"
            )
    return encoded
