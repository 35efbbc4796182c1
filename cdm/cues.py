"""Surface features that give negatives away: how well each feature alone separates positives from negatives."""

from collections.abc import Callable, Mapping, Sequence

from sklearn.metrics import roc_auc_score

from cdm.negatives import Dialogue, Negatives
from data.words import LETTERS

TOLERANCE = 0.03  # of an AUC from .5, beyond which a feature gives negatives away


def measure_cues(negatives: Negatives, reference: Sequence[Sequence[str]]) -> dict[str, float]:
    """Computes the AUC of each surface feature: .5 is chance; above .5, positives have more of the feature.

    A word counts as unseen if no dialogue of `reference` has it. The reference must contain neither the positives nor
    the dialogues that lent turns to negatives: otherwise all their words would be seen.
    """
    known = {word for turns in reference for word in _words(turns)}

    def share_unseen(turns: Dialogue) -> float:
        return _share([word not in known for word in _words(turns)])

    labels = [1] * len(negatives.positives) + [0] * len(negatives.negatives)
    texts = (*negatives.positives, *negatives.negatives)
    areas: dict[str, float] = {}
    for name, cue in {**CUES, "unseen words": share_unseen}.items():
        values = [cue(turns) for turns in texts]
        areas[name] = float(roc_auc_score(labels, values))
    return areas


def _words(turns: Sequence[str]) -> list[str]:
    """Runs of letters, without case."""
    return [word for turn in turns for word in LETTERS.findall(turn.casefold())]


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / max(1, len(flags))


def _count_words(turns: Dialogue) -> float:
    return sum(len(turn.split()) for turn in turns)


def _share_punctuated(turns: Dialogue) -> float:
    """The share of turns that end with neither a letter nor a digit."""
    return _share([not turn[-1:].isalnum() for turn in turns])


def _share_capitals(turns: Dialogue) -> float:
    letters = [letter for turn in turns for letter in turn if letter.isalpha()]
    return _share([letter.isupper() for letter in letters])


CUES: Mapping[str, Callable[[Dialogue], float]] = {
    "words": _count_words,
    "turns": len,
    "final punctuation": _share_punctuated,
    "capitals": _share_capitals,
}
