"""Discriminative CDM: the contrastive momentum of every token, pooled into one score of a dialogue (CDM, 3.4.2).

The contrastive momentum of a token is its log-probability under the expert minus that under the amateur (Eq. 1).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from cdm.infilling import UNTRAINED, Pair, PairReading, TokenisedDialogues, get_turns
from cdm.momentum import contrastive_momentum
from cdm.segments import Gap, InfillingTask
from core.errors import InputError, SettingError
from core.example import Example
from core.metric import BaseMetric
from core.scores import Scores, require
from core.settings import Number, check, checked_dataclass, read_settings
from core.signature import MODEL_LIBRARIES, Setting
from core.stages import fingerprint
from models.families import Order
from models.loading import fetch_folder

MomentumPooling = Literal["average", "sum", "max", "min", "classifier"]
POOLINGS: tuple[MomentumPooling, ...] = get_args(MomentumPooling)


@dataclass(frozen=True)
class Steps:
    """Log-probabilities (nats) of every token of a dialogue under both models, each turn given all other turns."""

    amateur: Float[NDArray[np.float64], " tokens"]  # of each token
    expert: Float[NDArray[np.float64], " tokens"]
    turn: Int[NDArray[np.int64], " tokens"]  # the turn of each token
    dropped: int  # source tokens that did not fit into the models' window, over all turns

    @property
    def momentum(self) -> NDArray[np.float64]:
        """The contrastive momentum (Eq. 1) of every token, in nats; higher is better."""
        return contrastive_momentum(self.expert, self.amateur)

    @property
    def by_turn(self) -> dict[int, NDArray[np.float64]]:
        """The momentum of the tokens of every turn that is scored."""
        return {turn: self.momentum[self.turn == turn] for turn in np.unique(self.turn).tolist()}


def find_steps(pair: Pair, tokenised: TokenisedDialogues, token_budget: int = 16_384) -> list[Steps]:
    """Removes each utterance in turn and scores its tokens and its end under both models, given the other turns."""
    infilling = tokenised.infilling
    turns_of: list[list[int]] = []  # the turns of each dialogue that are scored
    tasks: list[InfillingTask] = []
    for turns in tokenised.dialogues:
        scored = [t for t in range(tokenised.prompt_turns, len(turns)) if turns[t]]
        turns_of.append(scored)
        tasks += [tokenised.task(turns, Gap(t, 0, len(turns[t]))) for t in scored]
    pairs = [(task.source, infilling.target(task.segment)) for task in tasks]
    given = len(infilling.opening)
    amateur = pair.amateur.log_probabilities(pairs, given=given, token_budget=token_budget)
    expert = pair.expert.log_probabilities(pairs, given=given, token_budget=token_budget)
    read = zip(
        tasks,
        amateur,
        expert,
        strict=True,
    )
    nothing = np.empty(0)
    steps: list[Steps] = []
    for scored in turns_of:
        rows = list(islice(read, len(scored)))
        steps.append(
            Steps(
                amateur=np.concatenate([nothing, *(row for _, row, _ in rows)], dtype=np.float64),
                expert=np.concatenate([nothing, *(row for _, _, row in rows)], dtype=np.float64),
                turn=np.repeat(np.array(scored, np.int64), [len(row) for _, row, _ in rows]),
                dropped=sum(task.dropped for task, _, _ in rows),
            )
        )
    return steps


def save_steps(path: Path, steps: Sequence[Steps]) -> None:
    """Writes the log-probabilities (`Steps`) of some dialogues as one .npz file."""
    lengths = [len(dialogue.turn) for dialogue in steps]
    columns: dict[str, Any] = {"lengths": lengths, "dropped": [dialogue.dropped for dialogue in steps]}
    for name in ("amateur", "expert", "turn"):
        columns[name] = np.concatenate([getattr(dialogue, name) for dialogue in steps])
    with path.open("wb") as file:
        np.savez(file, **columns)


def load_steps(path: Path) -> list[Steps]:
    """Reads the log-probabilities that `save_steps` wrote."""
    with np.load(path) as stored:
        ends = np.cumsum(stored["lengths"])[:-1]
        columns = (np.split(stored[name], ends) for name in ("amateur", "expert", "turn"))
        return [Steps(*parts) for parts in zip(*columns, stored["dropped"].tolist(), strict=True)]


def explain_steps(pair: Pair, tokenised: TokenisedDialogues, steps: Sequence[Steps]) -> list[dict[str, Any]]:
    """Explains the scores of dialogues: the momentum of their turns and tokens (nats, higher is better).

    Returns `{"turns": [{"turn": 0, "momentum": mean, "tokens": [[text, momentum], ...]}, ...]}` for each dialogue. The
    text of the token that closes a turn is empty.
    """
    decode = cache(pair.amateur.tokenizer.decode)
    explanations: list[dict[str, Any]] = []
    for turns, dialogue in zip(tokenised.dialogues, steps, strict=True):
        explained: list[dict[str, Any]] = []
        for turn, momentum in dialogue.by_turn.items():
            texts = [*map(decode, turns[turn]), ""]
            shown = [round(step, 2) for step in momentum.tolist()]
            mean = round(float(momentum.mean()), 3)
            explained.append(
                {"turn": turn, "momentum": mean, "tokens": list(map(list, zip(texts, shown, strict=True)))}
            )
        explanations.append({"turns": explained})
    return explanations


QUANTILES = (0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95)
_QUANTILE_NAMES = [f"quantile_{round(100 * q)}" for q in QUANTILES]
_SUMMARY = ("mean", "deviation", *_QUANTILE_NAMES, "min", "max", "share_below_zero")
FEATURES = tuple(f"{part}_{name}" for part in ("token", "turn") for name in _SUMMARY)


def summary(values: Float[NDArray[np.float64], " steps"]) -> Float[NDArray[np.float64], " summary"]:
    """Summarises a sequence: mean, standard deviation, quantiles, extremes, share below zero, but not its length.

    >>> summary(np.array([-1.0, 1.0]))[[0, 1, 9, 10, 11]].tolist()
    [0.0, 1.0, -1.0, 1.0, 0.5]
    """
    return np.array(
        [
            values.mean(),
            values.std(),
            *np.quantile(values, QUANTILES),
            values.min(),
            values.max(),
            (values < 0).mean(),
        ]
    )


def find_features(steps: Steps) -> Float[NDArray[np.float64], " features"]:
    """Computes the features of a dialogue (`FEATURES`): summaries of the momentum of its tokens and of its turns."""
    turn_means = [momentum.mean() for momentum in steps.by_turn.values()]
    return np.concatenate([summary(steps.momentum), summary(np.array(turn_means))])


Scaling = dict[Literal["center", "scale", "weight"], Number]


@checked_dataclass
class ClassifierPooler:
    """Turns the momentum of a dialogue's tokens into a score: the logit of a linear classifier on `find_features`."""

    intercept: Number
    # by name, of all `FEATURES`
    features: dict[str, Scaling]
    # AUC of held-out human dialogues against the same dialogues with machine turns (`with_auc`); None before the check
    auc: Number | None = None

    def __post_init__(self) -> None:
        """Refuses other features, a missing number and a scale of 0."""
        if set(self.features) != set(FEATURES):
            raise ValueError(f"features must be {', '.join(FEATURES)}, but are {', '.join(self.features)}")
        for name, row in self.features.items():
            if len(row) != 3 or row["scale"] <= 0:
                raise ValueError(f"features[{name!r}] must have a center, a scale above 0 and a weight, but is {row}")

    @classmethod
    def fit(
        cls,
        good: Sequence[Steps],
        damaged: Sequence[Steps],
        strength: float = 0.1,
    ) -> "ClassifierPooler":
        """Fits a logistic regression of good against damaged dialogues; `strength` is scikit-learn's C.

        Raises ValueError if one of the two is empty.
        """
        if not good or not damaged:
            raise ValueError(f"a pooler needs good and damaged dialogues, but got {len(good)} and {len(damaged)}")
        rows = np.stack([find_features(dialogue) for dialogue in (*good, *damaged)])
        labels = np.array([1] * len(good) + [0] * len(damaged))
        scaler = StandardScaler().fit(rows)
        model = LogisticRegression(C=strength, max_iter=2000).fit(scaler.transform(rows), labels)
        columns: Any = (scaler.mean_, scaler.scale_, model.coef_[0])
        features: dict[str, Scaling] = {}
        for name, *numbers in zip(FEATURES, *(column.tolist() for column in columns), strict=True):
            features[name] = dict(zip(("center", "scale", "weight"), numbers, strict=True))
        return cls(float(model.intercept_[0]), features)

    def with_auc(self, human: Sequence[Steps], machine: Sequence[Steps]) -> "ClassifierPooler":
        """Adds the AUC of human dialogues against the same dialogues with machine turns.

        At .5 or less the pooler must not be used (`refusal`).
        """
        logits = [self.logit(steps) for steps in (*human, *machine)]
        labels = [1] * len(human) + [0] * len(machine)
        return replace(self, auc=float(roc_auc_score(labels, logits)))

    @property
    def refusal(self) -> str:
        """Why the scores of this pooler must not be used; "" if they may be used."""
        if self.auc is None or self.auc > 0.5:
            return ""
        return f"classifier pooling does not score human dialogues above machine turns (held-out AUC {self.auc:.2f})"

    def logit(self, steps: Steps) -> float:
        """Computes the score of a dialogue, a logit; higher is better."""
        contributions: list[float] = []
        for name, value in zip(FEATURES, find_features(steps).tolist(), strict=True):
            scaling = self.features[name]
            scaled = (value - scaling["center"]) / scaling["scale"]
            contributions.append(scaled * scaling["weight"])
        return sum(contributions) + self.intercept

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> "ClassifierPooler":
        """Reads the file that `save` wrote. Raises InputError for any other content."""
        return cls(**read_settings(path, cls))


def pool(steps: Steps, pooling: MomentumPooling, pooler: ClassifierPooler | None = None) -> float:
    """Computes one score from the momentum of all tokens; higher is better. The sum also depends on the length.

    Raises SettingError for an unknown pooling, and for `classifier` without a pooler.
    """
    check(MomentumPooling, pooling=pooling)
    if pooling == "classifier":
        if pooler is None:
            raise SettingError("classifier pooling needs a fitted ClassifierPooler")
        return pooler.logit(steps)
    reduce = {"average": np.mean, "sum": np.sum, "max": np.max, "min": np.min}[pooling]
    return float(reduce(steps.momentum))


@dataclass(frozen=True)
class DiscriminativeCDM(BaseMetric):
    """The contrast of a large and a small model, pooled to one number per dialogue (CDM); higher is better.

    The explanation of a score is the contrastive momentum of turns and tokens.
    """

    name = "cdm_discriminative"
    requires = require("turns")
    libraries = MODEL_LIBRARIES
    pair: Pair
    pooling: MomentumPooling = "average"
    pooler: ClassifierPooler | None = None
    token_budget: int = 16_384
    explain: bool = True

    @classmethod
    def from_pretrained(
        cls,
        models: str | Path | None = None,
        pooling: MomentumPooling = "average",
        device: str = "cpu",
        dtype: str = "float32",
        *,
        amateur: str | Path | None = None,
        expert: str | Path | None = None,
        separator: str | None = UNTRAINED.separator,
        order: Order | None = None,
        max_length: int = UNTRAINED.max_length,
        token_budget: int = 16_384,
    ) -> "DiscriminativeCDM":
        """Loads a trained pair, by folder (a run's `models/`) or hub name, or a pretrained `amateur` and `expert`.

        The folder has `amateur/`, `expert/` and, for classifier pooling, `pooler/`. A pretrained pair needs no
        training; `separator`, `order` and `max_length` say how it reads (`PairReading`), and it has no pooler. A
        trained pair keeps how it learned to read, and refuses other values of these than the defaults.

        Raises InputError if a part of the folder is missing, and for a pooler that ranks machine turns above human
        ones. Raises SettingError for a folder together with `amateur` or `expert`, for one of these alone, and as
        `Pair` does.
        """
        reading = PairReading(max_length, order=order, separator=separator)
        load = partial(Pair.from_pretrained, device=device, dtype=dtype, untrained=reading)
        if amateur is not None and expert is not None and models is None:
            if pooling == "classifier":
                raise SettingError("classifier pooling needs the pooler of a trained pair: name its folder (models)")
            return cls(load(amateur, expert), pooling, token_budget=token_budget)
        if models is None or amateur is not None or expert is not None:
            raise SettingError(
                "cdm_discriminative needs either models, the folder of a trained pair, or amateur and expert, two "
                f"pretrained models, but got models={models}, amateur={amateur}, expert={expert}"
            )
        folder = fetch_folder(models)
        needed = ["amateur", "expert"]
        if pooling == "classifier":
            needed.append("pooler")
        missing = [str(folder / name) for name in needed if not (folder / name).is_dir()]
        if missing:
            raise InputError(
                [f"{name}: must be a folder that +exp=cdm_dialogue left in models/, found none" for name in missing]
            )
        pooler = ClassifierPooler.load(folder / "pooler" / "pooler.json") if pooling == "classifier" else None
        if pooler is not None and pooler.refusal:
            raise InputError([f"{folder / 'pooler'}: {pooler.refusal}: choose another pooling, such as average"])
        pair = load(folder / "amateur", folder / "expert")
        return cls(pair, pooling, pooler, token_budget)

    @property
    def settings(self) -> dict[str, Setting]:
        """The models and the pooling; the token budget changes no score."""
        reading = self.pair.reading
        return {
            "amateur": self.pair.amateur.identity,
            "expert": self.pair.expert.identity,
            "infilling": self.pair.infilling.family.name,
            "windows": f"{reading.max_length}-{reading.prompt_turns}",
            "pooling": self.pooling,
            "pooler": None if self.pooler is None else fingerprint(asdict(self.pooler)),
        }

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """Computes the aspect `quality`; NaN for a dialogue without tokens."""
        tokenised = self.pair.tokenise(get_turns(examples))
        return self.score_steps(tokenised, find_steps(self.pair, tokenised, self.token_budget))

    def score_steps(self, tokenised: TokenisedDialogues, steps: Sequence[Steps]) -> Scores:
        """Scores dialogues from known log-probabilities (`Steps`), which all poolings of a pair share."""
        explanations = explain_steps(self.pair, tokenised, steps) if self.explain else []
        quality = np.full(len(steps), np.nan)
        reasons: list[str | None] = [None] * len(steps)
        for i, dialogue in enumerate(steps):
            if len(dialogue.turn):
                quality[i] = pool(dialogue, self.pooling, self.pooler)
            else:
                reasons[i] = "no tokens"
        return Scores(
            {"quality": quality},
            self.signature,
            reasons=reasons,
            dropped_tokens=[dialogue.dropped for dialogue in steps],
            explanations=explanations,
            notes=self.pair.expert.notes,
        )
