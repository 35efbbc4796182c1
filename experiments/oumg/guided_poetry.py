"""Poems of a guided generator against those of the same generator without guidance (OUMG, Table 2)."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from transformers import LogitsProcessor

from core.example import Example
from core.settings import Count, NonNegative, checked_dataclass
from data.splits import split_by
from discriminators.texts import LabelledText
from discriminators.training import kept_point
from experiments.contracts import Outcome, Run, Table
from experiments.oumg import tables
from experiments.oumg.poems import Decoder, check_candidates, choose_poems, find_characters, top_k, tune_of
from experiments.oumg.study import PoemStudy
from experiments.training import GuidePlan, find_or_train, folders_of, load_guide, prefix_notes
from meta_eval.bootstrap import Estimate, estimate_perplexity, number_groups
from oumg.comparison import FEWEST_INPUTS
from oumg.guidance import Guidance, GuidanceRule, adapt_guide
from oumg.songnet import SongNet, poem_nll
from oumg.unknown import count_unknown_tokens

PERPLEXITY = (
    "perplexity: of a character of all guided poems, given tune and form, under the unguided generator and its whole "
    "vocabulary; lower is likelier."
)


@checked_dataclass
class PoemGuidance:
    """How poems are guided.

    Attributes:
        kind: of the guide, for tables.
        guide: how it is trained, on how many human and generated poems together.
        k: likeliest characters to choose from, guided or not.
        rule: `normalised` (Eq. 5) or `fudge`.
        alpha: of Eq. 5, or lambda of FUDGE; 0 is unguided.
    """

    kind: str
    guide: GuidePlan
    k: Count
    rule: GuidanceRule
    alpha: NonNegative


def guided_poetry(run: Run, study: PoemStudy, guidance: PoemGuidance) -> Outcome:
    """Guided against unguided poems of the same generator (Table 2).

    The inputs are halved. For one half the generator writes the poems that the guide learns. For the other half it
    writes unguided and guided poems; discriminators learn a part of this half and judge the rest. They share no text
    and no input with the guide.

    Raises SettingFault as `oumg_poetry` does.
    """
    known = find_characters(study.data, study.generator)
    poems, notes = choose_poems(study.data, study.generator, study.human, known, 2 * FEWEST_INPUTS)
    check_candidates(guidance.k, known, f"guide_k = {guidance.k}")
    learned, human = halve_inputs(poems, run.seed)
    poet = study.train_poet(run)
    machine = poet.generate("machine", learned, top_k(guidance.k))
    songnet = SongNet.from_pretrained(poet.generator.source, study.device)
    texts = choose_guide_texts(learned, machine, guidance.guide.texts)
    guide = find_or_train(run, f"guide_{guidance.kind}", guidance.guide, texts, tokenizer=songnet.tokenizer)
    loaded = load_guide(guide.source, study.device)

    def make(songnet: SongNet) -> Callable[[], LogitsProcessor]:
        adapted = adapt_guide(loaded, songnet.tokenizer)
        return partial(Guidance, adapted, songnet.tokenizer, guidance.alpha, guidance.k, guidance.rule)

    strength = {"k": guidance.k, "rule": guidance.rule, "alpha": guidance.alpha}
    unguided = poet.generate("unguided", human, top_k(guidance.k))
    # Guided poems have draws of their own, like another system; with alpha 0 the same draws give the same poems.
    draws = int(guidance.alpha > 0)
    guided = poet.generate("guided", human, Decoder(make, {"guide": guide.identity, **strength}), draws)
    origins = {"human": human, "unguided": unguided, "guided": guided}
    found = study.find(run, poet.generator, origins, ("guided", "unguided"))
    perplexity = poem_perplexity(songnet, guided, run.seed)
    rows = [
        {"guide": guidance.kind, **strength, **row, "perplexity": perplexity}
        for row in tables.relative_rows(found.compared)
    ]
    best = kept_point(guide.curve, guidance.guide.training.keep)
    return study.present(
        run,
        found,
        Table("Guided against unguided", f"{tables.CAPTION} {PERPLEXITY}", rows),
        [*notes, *prefix_notes(guidance.guide), *tables.comparison_notes(found.compared)],
        {"guide": guide.identity, **strength},
        models=folders_of({"guide": guide}),
        figures={
            **{f"guide held-out {name} (prefixes)": best[f"val/{name}"] for name in ("accuracy", "auc")},
            "perplexity of the unguided poems": poem_perplexity(songnet, unguided, run.seed).value,
            "characters of the guided poems that the guide does not know": count_unknown_tokens(
                loaded, [poem.text for poem in guided]
            ),
        },
    )


def poem_perplexity(songnet: SongNet, poems: Sequence[Example], seed: int) -> Estimate:
    """The perplexity per character of poems under the unguided generator, with an interval over inputs."""
    nll = poem_nll(songnet, [(tune_of(poem), poem.full_text) for poem in poems])
    tokens = np.array([len(poem.full_text) + 1.0 for poem in poems])  # and the end
    inputs = number_groups(len(poems), [str(poem.group) for poem in poems])
    return estimate_perplexity(nll, tokens, inputs, seed=seed)


def halve_inputs(poems: Sequence[Example], seed: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """The poems in two halves without common inputs; with an odd number of inputs the second has one more."""
    number = len({poem.group for poem in poems})
    second, first = split_by(poems, lambda poem: poem.group, number // 2, seed)
    return first, second


def choose_guide_texts(human: Sequence[Example], machine: Sequence[Example], most: int | None) -> list[LabelledText]:
    """The poems that the guide learns: human ones (1) and the generator's for the same inputs (0), `most` in all."""
    pairs = list(zip(human, machine, strict=True))[: None if most is None else most // 2]
    return [
        LabelledText((poem.text,), label, str(poem.group))
        for pair in pairs
        for poem, label in zip(pair, (1, 0), strict=True)
    ]
