"""The built-in tagger: English parts of speech in four classes, without a download.

It knows the word lists of `english.txt`, endings and neighbours; words of other languages become nouns mostly. It tags
98.4 % of 444 words correctly that were written and tagged by hand before it and not used in its development; it finds
96 % of the adjectives, 95 % of the adverbs and 99 % of the nouns and the others. Sentences and lists have one author,
which flatters it: of 371 words of public stories and summaries it tags 96.0 % correctly, and finds 70 % of the
adjectives, 100 % of the adverbs, 96 % of the nouns and 99 % of the others. Punctuation does not count in these figures.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

PartOfSpeech = Literal["adjective", "adverb", "noun", "other"]

SECTION = re.compile(r"^\[(.+)\]\n([^\[]+)", re.MULTILINE)
LISTS = {
    name: frozenset(words.split())
    for name, words in SECTION.findall(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))
}
FUNCTION_WORDS = (
    *("determiners", "subjects", "pronouns", "prepositions", "conjunctions", "forms of be", "modal verbs"),
    *("forms of have", "negations", "numerals", "other function words"),
)
NOUN_ENDING = re.compile(r"(?:tion|sion|ment|ness|ity|ship|hood|ism|ist|ance|ence|age|dom|ology|ture)s?$")
ADJECTIVE_ENDING = re.compile(
    r"(?:ous|[^d]ful|[a-z]{3}less|able|ible|[a-z]al|[a-z]ic|ical|[a-z]ive|esque|[a-z]{3}ish|[a-z]{4}some)$"
)
EITHER_ENDING = re.compile(r"(?:ant|ent|ary|ory|[^tcgha]y|ian|ese|like|ern|ar|id)$")  # adjectives before a noun
NATIONALITY = re.compile(r"(?:[a-z](?:an|ese|ish)|ench|utch|reek|iss|raqi)$")
SENTENCE_STARTS = frozenset([".", "!", "?", "...", "…", '"', "“", "``", "'", "‘", ":"])  # what stands before one


def is_in(word: str, *names: str) -> bool:
    """Whether the word is in one of the lists.

    >>> is_in("must", "modal verbs", "negations")
    True
    """
    return any(word in LISTS[name] for name in names)


def builtin_tags(words: Sequence[str]) -> list[PartOfSpeech]:
    """The classes of English words, left to right in one pass."""
    tags: list[PartOfSpeech] = []
    lower = [word.lower().replace("’", "'") for word in words]
    headline = _is_headline(words)
    for i, word in enumerate(words):
        starts = i == 0 or words[i - 1] in SENTENCE_STARTS
        tags.append(_tag(_Place(lower, i, tags), word[:1].isupper() and not starts and not headline))
    return tags


def _is_headline(words: Sequence[str]) -> bool:
    """Whether nearly all words have capitals, which then say nothing."""
    letters = [word for word in words if word[:1].isalpha()]
    return len(letters) > 3 and sum(word[0].isupper() for word in letters) > 0.8 * len(letters)


class _Place:
    """A word and what stands beside it: `left` and `right`, "" beyond the ends, and the classes of those before it."""

    def __init__(self, words: list[str], i: int, tags: list[PartOfSpeech]) -> None:
        self.words, self.i, self.tags = words, i, tags
        self.word = words[i]
        self.left = words[i - 1] if i else ""
        self.right = words[i + 1] if i + 1 < len(words) else ""

    @cached_property
    def head(self) -> str:
        """The word before, adverbs and negations skipped."""
        back = self.i - 1
        while back >= 0 and (self.tags[back] == "adverb" or is_in(self.words[back], "negations")):
            back -= 1
        return self.words[back] if back >= 0 else ""

    @cached_property
    def is_before_content(self) -> bool:
        """Whether a word follows that may be a noun, or an adjective of one."""
        right = self.right
        if not right[:1].isalpha() or is_in(right, *FUNCTION_WORDS, "degrees", "adverbs", "irregular verb forms"):
            return False
        return not right.endswith(("ly", "ed")) or is_in(right, "nouns", "adjectives")

    @cached_property
    def is_in_noun_phrase(self) -> bool:
        """Whether it follows a determiner, a numeral or an adjective."""
        return bool(self.i) and (is_in(self.left, "determiners", "numerals") or self.tags[-1] == "adjective")

    @cached_property
    def is_predicate(self) -> bool:
        """Whether it follows a form of to be, to seem and the like."""
        return is_in(self.head, "forms of be", "verbs before an adjective")

    @cached_property
    def is_verbal(self) -> bool:
        """Whether a verb is due: after to, a modal verb, a pronoun as subject."""
        head = self.head
        if head == "to" or is_in(head, "modal verbs", "verbs before a bare verb"):
            return True
        return is_in(head, "subjects") and self.left not in {"that", "her"}

    @cached_property
    def is_graded(self) -> bool:
        """Whether it follows an adverb of degree."""
        return is_in(self.left, "degrees")


def _tag(at: _Place, capital: bool) -> PartOfSpeech:
    word = at.word
    if word.startswith("[") and word.endswith("]"):  # a stand-in for a name
        return "noun"
    if not any(c.isalpha() for c in word):
        return "other"
    if word[0].isdigit():
        return "adjective" if "-" in word or word.endswith(("st", "nd", "rd", "th")) else "noun"
    found = _by_word(at)
    if found is None and capital:
        return "adjective" if NATIONALITY.search(word) and at.is_before_content else "noun"
    return found or _by_ending(at)


def _by_word(at: _Place) -> PartOfSpeech | None:
    """The class of words that the lists know, None for the rest."""
    word, left, right = at.word, at.left, at.right
    match word:
        case "so":
            return "other" if right == "that" else "adverb"
        case "about" | "around" if is_in(right, "numerals") or right[:1].isdigit():
            return "adverb"
        case "there":
            auxiliary = right == "'s" or is_in(right, "forms of be", "modal verbs", "forms of have")
            return "other" if auxiliary else "adverb"
        case "more" | "most" | "least" | "enough" | "much":
            describes = is_in(right, "adjectives") or _by_suffix(right) == "adjective"
            return "adjective" if right == "than" or (at.is_before_content and not describes) else "adverb"
        case "less":
            return "adverb"
        case "though" if right in {",", ".", "!", "?"}:
            return "adverb"
        case "kind" | "sort" if right == "of":
            return "noun"
        case "inside" | "outside" | "nearby" if not (right[:1].isalnum() or is_in(right, "determiners")):
            return "adverb"
        case "back" if is_in(left, "determiners"):
            return "noun"
        case "home" if is_in(at.head, "verbs of going"):
            return "adverb"
        case "pretty":
            return "adverb" if is_in(right, "adjectives") else "adjective"
        case "well" if at.is_in_noun_phrase:
            return "noun"
        case _:
            return _by_list(at)


def _by_list(at: _Place) -> PartOfSpeech | None:
    word = at.word
    if is_in(word, *FUNCTION_WORDS):
        return "other"
    if is_in(word, "adjectives or adverbs"):
        return _adjective_or_adverb(at)
    if is_in(word, "degrees", "adverbs"):
        return "adverb"
    described = at.is_predicate or at.is_graded or (at.is_in_noun_phrase and at.is_before_content)
    if is_in(word, "participles of feeling") and described:
        return "adjective"
    if is_in(word, "irregular verb forms"):
        return "adjective" if is_in(at.left, "determiners") and at.is_before_content else "other"
    if is_in(word, "adjectives"):
        if is_in(word, "adjectives or verbs") and at.is_verbal:
            return "other"
        is_noun = is_in(word, "adjectives or nouns") and not at.is_before_content and not at.is_predicate
        return "noun" if is_noun else "adjective"
    if is_in(word, "nouns"):
        return "noun"
    return _verb_or_noun(at)


def _adjective_or_adverb(at: _Place) -> PartOfSpeech:
    if at.is_verbal and at.word in {"last", "close"}:
        return "other"
    measured = is_in(at.word, "measures") and at.i >= 2 and is_in(at.words[at.i - 2], "numerals")
    is_adjective = at.is_before_content or at.is_predicate or measured or at.left in {"the", "a", "an"}
    return "adjective" if is_adjective else "adverb"


def _verb_or_noun(at: _Place) -> PartOfSpeech | None:
    """Other words for forms of a listed verb, nouns where it is used as one, None for what is no listed verb."""
    stems = _stems(at.word)
    is_verb = not stems.isdisjoint(LISTS["verbs"])
    if not is_verb and stems.isdisjoint(LISTS["verbs or nouns"]):
        return None
    if at.word.endswith(("ed", "ing")) and not is_in(at.word, "verbs", "verbs or nouns"):  # but need, bring
        return None
    if at.is_verbal:
        return "other"
    if at.is_in_noun_phrase or (is_in(at.left, "prepositions") and at.left != "to"):
        return "noun"
    if is_verb:
        return "other"
    opens = is_in(at.right, "determiners", "subjects", "pronouns", "prepositions", "degrees", "adverbs")
    follows_noun = at.i > 0 and at.tags[-1] == "noun"
    return "other" if opens and (follows_noun or at.left == "," or is_in(at.left, "conjunctions")) else "noun"


def _stems(word: str) -> set[str]:
    """What the word may be a form of: watches, carries, stopped, making.

    >>> sorted(_stems("carries"))
    ['carri', 'carrie', 'carries', 'carry']
    """
    stems = {word}
    for ending in ("s", "es", "d", "ed", "ing"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stem = word.removesuffix(ending)
            stems.add(stem)
            if stem.endswith("i") and ending in ("es", "ed"):
                stems.add(stem[:-1] + "y")
            if ending in ("ed", "ing"):
                stems |= {stem + "e"} | ({stem[:-1]} if stem[-1] == stem[-2:-1] else set())
    return stems


def _by_suffix(word: str) -> PartOfSpeech | None:
    """What a list or an ending alone says."""
    if is_in(word, "nouns"):
        return "noun"
    if is_in(word, "adjectives") or _is_compared(word):
        return "adjective"
    if (word.endswith("ly") and len(word) > 4) or word.endswith(("wards", "wise")):
        return "adverb"
    if NOUN_ENDING.search(word):
        return "noun"
    return "adjective" if ADJECTIVE_ENDING.search(word) else None


def _is_compared(word: str) -> bool:
    """Whether it is a comparative or superlative of a listed adjective: taller, funniest, bigger, nicer."""
    for ending in ("er", "est"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            forms = {stem, stem + "e"} | ({stem[:-1] + "y"} if stem.endswith("i") else set())
            forms |= {stem[:-1]} if stem[-1:] == stem[-2:-1] else set()
            known = any(form != "own" and is_in(form, "adjectives", "adjectives or adverbs") for form in forms)
            return known or (stem.endswith("i") and ending == "est")
    return False


def _by_ending(at: _Place) -> PartOfSpeech:
    """The class of a word that no list knows, by its ending and what stands beside it; a noun for want of a sign."""
    word = at.word
    describes = at.is_before_content and not at.is_verbal
    if "-" in word:
        return "adjective" if describes or at.is_predicate else "noun"
    if found := _by_suffix(word):
        return found
    if word.endswith("ed"):
        described = at.is_graded or (describes and (at.is_in_noun_phrase or is_in(at.left, "prepositions")))
        return "adjective" if described else "other"
    if word.endswith("ing"):
        return _participle(at, describes)
    if EITHER_ENDING.search(word) and (describes or at.is_predicate or at.is_graded):
        return "adjective"
    if at.is_verbal:
        return "other"
    bare = not at.is_in_noun_phrase and not word.endswith("s") and not at.is_before_content
    return "adjective" if at.is_graded or (at.is_predicate and bare) else "noun"


def _participle(at: _Place, describes: bool) -> PartOfSpeech:
    if is_in(at.word, "adjectives in -ing") and (describes or at.is_predicate or at.is_graded):
        return "adjective"
    if at.is_in_noun_phrase:
        return "adjective" if describes else "noun"
    return "other"
