"""Parts of speech in four classes (alpha of MARS, Eq. 1), by `mars.english`, NLTK or spaCy."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.faults import InputFaults, shown
from mars.english import PartOfSpeech, builtin_tags

CLASSES: dict[str, PartOfSpeech] = {  # by the first letters of tags: Penn Treebank, then Universal Dependencies
    "JJ": "adjective",
    "RB": "adverb",
    "NN": "noun",
    "ADJ": "adjective",
    "ADV": "adverb",
    "NOUN": "noun",
    "PROPN": "noun",
}


class Tagger(Protocol):
    """A function that takes the words of a text in order and returns the class of each."""

    @property
    def signature(self) -> str:
        """Name and version, on one line."""
        ...

    def __call__(self, words: Sequence[str], /) -> list[PartOfSpeech]:
        """One class per word. Proper nouns are nouns; verbs, numerals, pronouns, punctuation and the like are other."""
        ...


@dataclass(frozen=True)
class NamedTagger:
    """A function with a signature."""

    signature: str
    tag: Callable[[Sequence[str]], list[PartOfSpeech]] = field(repr=False)

    def __call__(self, words: Sequence[str], /) -> list[PartOfSpeech]:
        """Calls the function."""
        return self.tag(words)


def load_tagger(name: str) -> Tagger:
    """The tagger `builtin`, `nltk` (averaged perceptron, English) or `spacy:MODEL`.

    >>> load_tagger("builtin")(["A", "small", "dog", "barked", "loudly"])
    ['other', 'adjective', 'noun', 'other', 'adverb']

    Raises InputFaults for any other name, and where a library or its model is missing, with what to
    install.
    """
    if name == "builtin":
        return NamedTagger("builtin-2", builtin_tags)
    if name == "nltk":
        return _nltk_tagger()
    library, _, model = name.partition(":")
    if library == "spacy" and model:
        return _spacy_tagger(model)
    raise InputFaults([f"a tagger is builtin, nltk or spacy:MODEL (spacy:en_core_web_sm), found {shown(name)}"])


def _nltk_tagger() -> Tagger:
    nltk: Any = importlib.import_module("nltk")
    try:
        perceptron = nltk.tag.PerceptronTagger()
    except LookupError:
        rule = "the tagger nltk needs its data: run python -m nltk.downloader averaged_perceptron_tagger_eng"
        raise InputFaults([f"{rule}, or set tagger=builtin"]) from None
    return NamedTagger(
        f"nltk-{nltk.__version__}",
        lambda words: [classify(tag) for _, tag in perceptron.tag(list(words))],
    )


def _spacy_tagger(model: str) -> Tagger:
    try:
        spacy: Any = importlib.import_module("spacy")
        pipeline: Any = spacy.load(model)
    except (ImportError, OSError):
        commands = f"pip install spacy; python -m spacy download {model}"
        rule = f"the tagger spacy:{model} needs spaCy and its model: run {commands}, or set tagger=builtin"
        raise InputFaults([rule]) from None
    document: Any = spacy.tokens.Doc
    return NamedTagger(
        f"spacy-{spacy.__version__}-{model}-{pipeline.meta['version']}",
        lambda words: [classify(token.pos_) for token in pipeline(document(pipeline.vocab, words=list(words)))],
    )


def classify(tag: str) -> PartOfSpeech:
    """The class of a Penn Treebank or Universal Dependencies tag.

    >>> [classify(tag) for tag in ("JJR", "RB", "NNPS", "VBD", "RP", ".")]
    ['adjective', 'adverb', 'noun', 'other', 'other', 'other']
    >>> [classify(tag) for tag in ("ADJ", "ADV", "NOUN", "PROPN", "AUX")]
    ['adjective', 'adverb', 'noun', 'noun', 'other']
    """
    for start, part_of_speech in CLASSES.items():
        if tag.startswith(start):
            return part_of_speech
    return "other"
