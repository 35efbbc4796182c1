"""What CDM keeps as stages beside trained models: sampled negatives, the fitted pooler, momentum of rated sets."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from cdm import discriminative, negatives
from cdm.amr import Graphs
from cdm.discriminative import ClassifierPooler, PoolerFeatures, Steps, dialogue_steps, load_steps, save_steps
from cdm.negatives import Negatives, join_negatives, sample_negatives
from cdm.pair import Pair, decode_dialogues
from cdm.rules import Rule, rule_negatives
from cdm.sampling import Sampling
from cdm.segments import Strategy
from core.faults import InputFaults
from core.settings import Count, Number, Positive, checked_dataclass
from core.stages import fingerprint
from experiments.contracts import Run
from experiments.training import Trained


@checked_dataclass
class NegativesPlan:
    """What the discriminators learn from.

    Attributes:
        strategy: where and how often a dialogue is manipulated.
        sampling: how segments are drawn from the degraded distribution.
        mixture: sources of negatives that share the dialogues equally, in place of `sampling.gamma` alone: a number is
            a gamma (negatives of graded badness), a name a rule of `cdm.rules`.
        graphs: for `amr-multi`, a file of AMR graphs in PENMAN notation with alignments (`cdm.amr`).
        dialogues: how many training dialogues get a negative.
        turns: longer dialogues are cut into windows of at most this many turns; None keeps them whole.
    """

    strategy: Strategy
    sampling: Sampling
    dialogues: Count
    turns: Annotated[int, Field(ge=2)] | None = None
    mixture: Sequence[Number | Rule] = ()
    graphs: str | None = None

    def __post_init__(self) -> None:
        if (self.strategy == "amr-multi") != (self.graphs is not None):
            raise ValueError(
                "graphs must be a file of AMR graphs for amr-multi, as a parser such as amrlib writes it (see "
                "cdm/amr.py), and null for any other strategy, but the strategy is "
                f"{self.strategy} and graphs is {self.graphs}"
            )

    def read_graphs(self) -> Graphs | None:
        """What the file `graphs` holds. Raises InputFaults for a missing file."""
        if self.graphs is None:
            return None
        if not Path(self.graphs).is_file():
            raise InputFaults([f"{self.graphs}: model.negatives.graphs must name a file, but there is none"])
        return Graphs.read(Path(self.graphs))

    @property
    def sources(self) -> list[Sampling | Rule]:
        """Where the negatives come from; dialogue i gets source i modulo their number."""
        return [
            source if isinstance(source, str) else replace(self.sampling, gamma=source)
            for source in self.mixture or (self.sampling.gamma,)
        ]


@checked_dataclass
class PoolerPlan:
    """What the classifier pooler learns from: whole held-out dialogues and their negatives.

    Attributes:
        dialogues: how many held-out dialogues, at most.
        strength: scikit-learn's C.
        negatives: a rule of `cdm.rules`; or `sampled`, by the strategy and sampling of the discriminators' negatives.
            Those of the amateur alone (gamma 0) teach the pooler to detect the amateur: for its samples the mean
            momentum is -KL(p_a || p_e).
        features: of the momentum alone, or of the expert's log-probabilities too.
    """

    dialogues: Count
    strength: Positive = 0.1
    negatives: Literal["sampled"] | Rule = "deam_like"
    features: PoolerFeatures = "momentum"


@dataclass(frozen=True)
class TrainedPair:
    """The two infilling models, as trained and as loaded."""

    amateur: Trained
    expert: Trained
    pair: Pair

    @property
    def identity(self) -> dict[str, Any]:
        """What results of the pair depend on."""
        return {
            "amateur": self.amateur.identity,
            "expert": self.expert.identity,
            "max_length": self.pair.max_length,
            "given": self.pair.given,
            "words": self.pair.words,
            "spelling": self.pair.spelling,
            "dtype": self.pair.expert.dtype,
        }


def chosen_dialogues(dialogues: Sequence[Sequence[str]], plan: NegativesPlan, seed: int) -> list[tuple[str, ...]]:
    """The dialogues that get a negative: the first ones in random order, cut into windows."""
    return windows(dialogues, plan.turns, seed)[: plan.dialogues]


def kept_negatives(
    run: Run, trained: TrainedPair, dialogues: Sequence[Sequence[str]], plan: NegativesPlan
) -> Negatives:
    """The negatives of the chosen dialogues."""
    chosen, graphs = chosen_dialogues(dialogues, plan, run.seed), plan.read_graphs()

    def build(folder: Path) -> None:
        with run.progress("sampling negatives", len(chosen)) as advance:
            found = mixed_negatives(trained.pair, chosen, plan, graphs, run.seed, advance)
        (folder / "negatives.json").write_text(json.dumps(asdict(found), ensure_ascii=False) + "\n", "utf-8")

    depends = {
        **trained.identity,
        "strategy": plan.strategy,
        "sources": plan.sources,
        "graphs": fingerprint(graphs),
        "dialogues": fingerprint(chosen),
        "seed": run.seed,
    }
    with run.timed("sampling negatives"):
        folder = run.stages.get("negatives", depends, build, version=negatives.VERSION)
    stored = json.loads((folder / "negatives.json").read_text("utf-8"))
    positives, damaged = (tuple(map(tuple, stored[key])) for key in ("positives", "negatives"))
    counts = {name: stored[name] for name in ("failures", "unclosed", "dropped")}
    return Negatives(positives, damaged, tuple(stored["indices"]), **counts)


def mixed_negatives(
    pair: Pair,
    dialogues: Sequence[Sequence[str]],
    plan: NegativesPlan,
    graphs: Graphs | None,
    seed: int,
    advance: Callable[[int], None],
) -> Negatives:
    """A negative for every dialogue from its source; all texts are spelled as the pair's tokenizer writes them."""
    sources = plan.sources
    parts: list[tuple[Sequence[int], Negatives]] = []
    for k, source in enumerate(sources):
        places = range(k, len(dialogues), len(sources))
        own = [dialogues[i] for i in places]
        if isinstance(source, Sampling):
            found = sample_negatives(pair, own, plan.strategy, source, seed, advance=advance, graphs=graphs)
        else:
            texts = decode_dialogues(pair.amateur, pair.tokenise(own).dialogues)
            found = rule_negatives(texts, source, seed, pair.given)
            advance(len(own))
        parts.append((places, found))
    return join_negatives(parts)


def kept_pooler(
    run: Run, trained: TrainedPair, held_out: Sequence[Sequence[str]], plan: PoolerPlan, sampled: NegativesPlan
) -> Path:
    """The folder of the classifier pooler, which learns held-out dialogues against their negatives, never rated ones.

    The dialogues are whole, as rated ones are.
    """
    chosen, is_sampled = windows(held_out, None, run.seed)[: plan.dialogues], plan.negatives == "sampled"
    graphs = sampled.read_graphs() if is_sampled else None
    mixture = () if plan.negatives == "sampled" else (plan.negatives,)

    def build(folder: Path) -> None:
        with run.progress("negatives of the pooler", len(chosen)) as advance:
            found = mixed_negatives(trained.pair, chosen, replace(sampled, mixture=mixture), graphs, run.seed, advance)
        good, damaged = (dialogue_steps(trained.pair, texts) for texts in (found.positives, found.negatives))
        ClassifierPooler.fit(good, damaged, plan.strength, plan.features).save(folder / "pooler.json")

    depends = {
        **trained.identity,
        "strength": plan.strength,
        "negatives": plan.negatives,
        "features": plan.features,
        "sampled": (sampled.strategy, sampled.sampling, fingerprint(graphs)) if is_sampled else None,
        "negatives version": negatives.VERSION,
        "held_out": fingerprint(chosen),
        "seed": run.seed,
    }
    with run.timed("fitting the pooler"):
        return run.stages.get("pooler", depends, build, version=discriminative.VERSION)


def kept_steps(run: Run, trained: TrainedPair, name: str, dialogues: Sequence[Sequence[str]]) -> list[Steps]:
    """The log-probabilities of all tokens of a rated set under the pair."""

    def build(folder: Path) -> None:
        save_steps(folder / "steps.npz", dialogue_steps(trained.pair, dialogues))

    depends = {**trained.identity, "dialogues": fingerprint(dialogues)}
    with run.timed(f"momentum {name}"):
        folder = run.stages.get("momentum", depends, build, version=discriminative.VERSION)
        return load_steps(folder / "steps.npz")


def windows(dialogues: Sequence[Sequence[str]], turns: int | None, seed: int) -> list[tuple[str, ...]]:
    """The dialogues in random order; a dialogue of more than `turns` turns as one random window of at most `turns`.

    >>> windows([("a", "b", "c")], None, 0)
    [('a', 'b', 'c')]
    """
    rng = random.Random(seed)
    cut: list[tuple[str, ...]] = []
    for dialogue in rng.sample(dialogues, len(dialogues)):
        length = len(dialogue) if turns is None else min(len(dialogue), rng.randint(max(2, turns // 2), turns))
        start = rng.randint(0, len(dialogue) - length)
        cut.append(tuple(dialogue[start : start + length]))
    return cut
