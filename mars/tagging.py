"""Parts of speech in four classes (alpha of MARS, Eq. 1), by a tagger one can swap.

The built-in one needs no download: short lists, endings and neighbours, English only (words of another language come
out as nouns mostly). Of 444 words written and tagged by hand before it, on which it was not developed, it gives 98.4 %
the right one of the four classes; the part found is 96 % of adjectives, 95 % of adverbs, 99 % of nouns and of others.
Sentences and lists have one author, which flatters it: of 371 words of public stories and summaries it was right on
96.0 %, and found 70 % of the adjectives, 100 % of the adverbs, 96 % of the nouns and 99 % of the others. Punctuation is
left out of all these figures.
"""

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from data.faults import InputFaults, shown

PartOfSpeech = Literal["adjective", "adverb", "noun", "other"]


class Tagger(Protocol):
    """Anything that gives each word of a text its class, called with all of them in order."""

    @property
    def signature(self) -> str:
        """Name and version, on one line."""
        ...

    def __call__(self, words: Sequence[str], /) -> list[PartOfSpeech]:
        """One class per word. Proper nouns are nouns; verbs, numerals, pronouns, punctuation and the like are other."""
        ...


@dataclass(frozen=True)
class NamedTagger:
    """A function as a Tagger, under a signature."""

    signature: str
    tag: Callable[[Sequence[str]], list[PartOfSpeech]] = field(repr=False)

    def __call__(self, words: Sequence[str], /) -> list[PartOfSpeech]:
        """What the function gives."""
        return self.tag(words)


def load_tagger(name: str) -> Tagger:
    """The tagger `builtin`, `nltk` (averaged perceptron, English) or `spacy:MODEL`.

    >>> load_tagger("builtin")(["A", "small", "dog", "barked", "loudly"])
    ['other', 'adjective', 'noun', 'other', 'adverb']

    Raises InputFaults where a library or its model is not on this machine, which say what to install, and for any other
    name.
    """
    if name == "builtin":
        return NamedTagger("builtin-1", builtin_tags)
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
        lambda words: [penn_class(tag) for _, tag in perceptron.tag(list(words))],
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
        lambda words: [universal_class(token.pos_) for token in pipeline(document(pipeline.vocab, words=list(words)))],
    )


def penn_class(tag: str) -> PartOfSpeech:
    """The class of a Penn Treebank tag.

    >>> [penn_class(tag) for tag in ("JJR", "RB", "NNPS", "VBD", "RP", ".")]
    ['adjective', 'adverb', 'noun', 'other', 'other', 'other']
    """
    classes: dict[str, PartOfSpeech] = {"JJ": "adjective", "RB": "adverb", "NN": "noun"}
    return classes.get(tag[:2], "other")


def universal_class(tag: str) -> PartOfSpeech:
    """The class of a Universal Dependencies tag.

    >>> [universal_class(tag) for tag in ("ADJ", "ADV", "NOUN", "PROPN", "AUX")]
    ['adjective', 'adverb', 'noun', 'noun', 'other']
    """
    classes: dict[str, PartOfSpeech] = {"ADJ": "adjective", "ADV": "adverb", "NOUN": "noun", "PROPN": "noun"}
    return classes.get(tag, "other")


def _list(words: str) -> frozenset[str]:
    return frozenset(words.split())


POSSESSIVES = _list("my your his her its our their 's ’s whose")
DETERMINERS = POSSESSIVES | _list(
    "a an the this that these those every each some any no another both all either neither"
)
SUBJECTS = _list(
    """i you he she it we they who which that what nobody everybody somebody anybody everyone someone anyone
    something everything nothing anything"""
)
PRONOUNS = SUBJECTS | _list(
    """me him us them mine yours hers ours theirs myself yourself himself herself itself ourselves yourselves
    themselves none whom whoever whatever whichever oneself"""
)
PREPOSITIONS = _list(
    """about above across after against along amid among around as at before behind below beneath beside besides
    between beyond by despite during except for from in inside into like near of off on onto opposite out outside
    over past per since than through throughout to toward towards under underneath unlike until till up upon via
    with within without down amongst alongside"""
)
CONJUNCTIONS = _list("and or but nor if because although though while whereas unless whether when where why how &")
BE = _list("be am is are was were been being 'm 're ’m ’re ai")
MODALS = _list(
    """can could may might must shall should will would ca wo 'd 'll ’d ’ll cannot do does did gonna wanna"""
)
CAUSATIVES = _list("let let's help helps helped make makes made")
HAVE = _list("have has had having 've ’ve")
NEGATIONS = _list("not n't n’t")
NUMERALS = _list(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion
    trillion half"""
)
CALLS = _list("oh ah hey hi hello yes yeah ok okay please wow ouch thanks bye goodbye hmm uh um")
FUNCTION_WORDS = (
    DETERMINERS
    | PRONOUNS
    | PREPOSITIONS
    | CONJUNCTIONS
    | BE
    | MODALS
    | HAVE
    | NEGATIONS
    | NUMERALS
    | CALLS
    | {"done", "doing"}
)
DEGREES = _list(
    """very too so quite rather really extremely fairly pretty completely totally absolutely incredibly highly deeply
    entirely slightly more most less least"""
)
ADVERBS = DEGREES | _list(
    """again ago ahead almost alone already also altogether always anyhow anymore anyway anywhere apart aside away
    back backwards downstairs elsewhere else even ever everywhere forever forth forward forwards furthermore hence
    here hereby however indeed indoors instead just later maybe meanwhile moreover much nearby never nevertheless
    nonetheless nowadays now nowhere often once only otherwise outdoors overall overnight overseas perhaps
    regardless seldom sometime sometimes somewhat somewhere soon sooner still straight then thereafter therefore
    thus together tomorrow's twice upstairs upwards well yet abroad afterwards afterward aloud besides o'clock
    worldwide somehow likewise"""
)
ADJECTIVES = _list(
    """able absent alive amazing angry ashamed asleep attractive awake aware awful bad bald bare bent best better big
    bitter black blank blind blond blonde blue bold bored boring brave brief bright broad broken brown busy calm
    careful certain cheap clean clear clever close cold common cool correct crazy cruel curious damp dark dead
    deaf dear deep different dirty drunk dry due dull eager easy elderly empty entire equal evil exact excited
    exciting extra fair fake false familiar fat favorite favourite few final fine firm first fit flat fond foreign
    former free fresh frozen full fun funny further future gentle glad gold golden good grand gray great green
    grey grown guilty handsome happy harsh heavy hidden high hollow holy honest hot huge human humble hungry ill
    interesting junior keen key kind lame large last late latter lazy light lonely long loose loud lovely low
    loyal lucky mad main major many married mature mean mere messy mild minor missing modern naked narrow nasty
    near neat new next nice noble normal numb odd ok old open other outer inner own pale perfect plain pleased
    polite poor popular pregnant pretty prime proper proud pure quick quiet rare raw ready real recent red remote
    rich right ripe rough round royal rude sad safe same scared secret secure senior separate severe shallow sharp
    short shy sick silent silly similar simple single slim slow small smart smooth sober soft solid sore sorry
    sour spare square stable steady steep stiff strange strict strong stupid such sudden sunny super sure
    surprised surprising sweet swift tall tame tense terrible thick thin thirsty tidy tight tiny tired tough true
    ugly unable unique upper upset usual vague various vast warm weak wealthy weird wet white whole wide wild wise
    wooden woolen worried worse worst worth worthy wrong yellow young several enough little less purple pink
    orange nearby excellent important violent ancient current brilliant elegant pleasant urgent independent
    frequent innocent efficient sufficient confident permanent apparent convenient intelligent distant constant
    instant relevant reluctant significant vacant friendly likely unlikely deadly costly daily weekly monthly
    yearly early cowardly orderly scary ordinary necessary temporary military solitary primary elementary third
    fourth fifth sixth tenth second unfair unsure random stubborn sacred crude bland vivid timid rigid fragile
    hostile mobile male female double triple western eastern northern southern alert absurd abrupt awkward bleak
    blunt brisk chubby clumsy cozy crisp crooked cute exotic fancy feeble fierce fluffy foolish fuzzy genuine
    gloomy greedy grim grumpy hoarse icy immense intense jealous juicy lean legal lengthy mutual naughty neutral
    obvious posh precise profound robust rural rusty salty scarce shaggy shiny skinny sleepy slippery sloppy spicy
    spooky stale stark sticky stern sturdy subtle superb supreme thorough tricky urban vital wicked"""
)
NOUNS = _list(
    """family city party story country company body baby lady day way boy toy key guy monkey money honey journey
    valley belly jelly bully ally rally july italy fly butterfly assembly monopoly emily sally molly kelly billy
    lily polly holly library january february diary salary secretary boundary dictionary animal hospital meal deal
    goal capital festival trial arrival proposal signal criminal metal journal material medal rival approval
    removal survival canal terminal official individual music traffic critic clinic topic fabric mechanic picnic
    attic magic republic logic panic detective executive relative representative motive archive olive perspective
    initiative table cable vegetable bible handful spoonful fish dish rubbish morning evening building wedding
    meeting ceiling king ring string spring wing clothing painting beginning housing funding sibling pudding seed
    bed weed shed breed president student accident moment parent restaurant agent client event percent tent cent
    rent elephant giant plant tenant merchant servant infant assistant accountant today tonight tomorrow yesterday
    weekend person people child children man men woman women life wife wives stranger thing things time times year
    years friend mother father sister brother house home homes school dog cat car door room night week month hand
    hands eye eyes face head course news police forest interest guest west east north south contest priest chest
    nest arrest harvest protest test quest request suggestion bank kitchen garden list bus grass glass boss class
    dress business process princess address success forgiveness number"""
)
IRREGULAR_VERBS = _list(
    """arose arisen ate eaten beaten became become began begun bit bitten blew blown bled bought bound bred broke
    brought built burnt came caught chose chosen clung crept cut dealt drank drawn drew driven drove dug dreamt
    fed fell fallen felt fled flew flown flung forbade forgave forgiven forgot forgotten fought found froze gave
    given gone got gotten grew ground heard held hid hit hung hurt kept knelt knew known laid lain led leant
    learnt leapt left lent lit lost made meant met mistook misunderstood outgrew overcame overheard overslept
    overtook paid proved put quit ran rang rung read rid ridden rode risen rose said sang sank sat saw seen sent
    sewn shaken shone shook shot shown shrank shut slept slid smelt sold sought spat spent spilt split spoilt
    spoke spoken sprang spread spun stank stole stolen stood struck stuck stung sung sunk swam swept swore sworn
    swum swung taken taught thought threw thrown told took tore torn understood undertook went wept withdrew
    withdrawn woke woken won wore worn wound wove woven wrote written"""
)
PLAIN_VERBS = _list(
    """accept accuse achieve add admit adopt afford agree allow announce apologise apologize appear apply argue
    arrange arrive ask assume attend avoid bake be become beg begin behave believe belong borrow break breathe
    bring build bury buy carry celebrate choose clap collect come compare complain confirm connect consider
    contain continue create decide declare deliver deny depend describe deserve destroy develop die disagree
    disappear discover discuss earn eat employ encourage enjoy enter examine exist expect explain explore express
    fail feed fill find fix follow forget forgive gather get give go grow happen hate hear hide hire identify
    ignore imagine improve include inform insist invent invite involve join keep kill know lead learn leave lend
    let listen live lose make manage marry maintain melt multiply mention meet obtain occur occupy owe perform
    persuade pour practise prefer prepare pretend prevent produce protect prove provide publish pull put raise
    reach realise realize receive recognise recognize recommend reduce refuse relax rely remain remember remind
    remove repeat replace reply require reveal save say scream see seek seem select sell send serve sit sleep
    solve speak spend stand stay steal succeed suffer suggest suppose surround survive take teach tell thank think
    throw understand urge visit wait wake want warn wear win wonder worry write yell set cut mean like rid"""
)
NOUN_OR_VERB = _list(
    """act aim answer attack attempt bark bet bite blame call care catch cause chance change charge chase check cheer
    claim climb comfort command comment control cook cost cough cover crash cry dance demand design desire doubt
    dream drink drive drop end escape estimate exchange experience fall fear feel fight film flow force gain guess
    guide help hold hope hug hunt hurry hurt increase joke judge jump kick kiss knock laugh launch lift link lock
    look love march mark match matter measure miss move name note notice offer order pack paint pass pause pay
    phone pick plan play point praise press promise push rain regret release rent report rescue rest result return
    review ride rise risk roll rule run rush sail search shake share shout show sigh sign smell smile smoke snow
    sound spin spot stare start state step stop struggle study supply support surprise swim swing talk taste tear
    touch tour trade train travel treat trip trust try turn use view visit vote walk wash watch waste wave whisper
    whistle wish work wound need speed"""
)
LINKING = BE | _list(
    """seem seems seemed feel feels felt look looks looked become becomes became get gets got getting sound sounds
    sounded taste tastes tasted smell smells smelled smelt remain remains remained stay stays stayed keep keeps
    kept turn turned grew grow grows becoming feeling looking"""
)
FEELINGS = _list(
    """tired bored excited scared worried interested surprised shocked disappointed pleased embarrassed confused
    annoyed frightened terrified amazed relieved exhausted ashamed relaxed married crowded determined convinced
    satisfied thrilled delighted stressed depressed frustrated devastated lost broken hurt drunk concerned nervous
    talented"""
)
ALSO_ADVERBS = _list(
    "early late hard fast long far right straight first last next close deep high low loud wide short past near"
)
SIZES = _list("long wide tall high deep old thick away")
GOING = _list(
    "go goes went gone going come comes came coming get gets got getting drive drove driving walk walked run ran"
)
ACTIVE_ADJECTIVES = _list(
    """amazing boring charming confusing convincing disappointing disgusting embarrassing exciting existing following
    frightening growing heartbreaking interesting living missing outstanding promising relaxing rising shocking
    surprising terrifying tiring touching upcoming willing worrying leading remaining"""
)

NOUN_ENDING = re.compile(r"(?:tion|sion|ment|ness|ity|ship|hood|ism|ist|ance|ence|age|dom|ology|ture)s?$")
ADJECTIVE_ENDING = re.compile(
    r"(?:ous|[^d]ful|[a-z]{3}less|able|ible|[a-z]al|[a-z]ic|ical|[a-z]ive|esque|[a-z]{3}ish|[a-z]{4}some)$"
)
EITHER_ENDING = re.compile(r"(?:ant|ent|ary|ory|[^tcgha]y|ian|ese|like|ern|ar|id)$")  # adjectives before a noun
NATIONALITY = re.compile(r"(?:[a-z](?:an|ese|ish)|ench|utch|reek|iss|raqi)$")


def builtin_tags(words: Sequence[str]) -> list[PartOfSpeech]:
    """The built-in tagger of English, left to right in one pass."""
    tags: list[PartOfSpeech] = []
    lower = [word.lower().replace("’", "'") for word in words]
    title = _title(words)
    for i, word in enumerate(words):
        starts = i == 0 or words[i - 1] in {".", "!", "?", "...", "…", '"', "“", "``", "'", "‘", ":"}
        tags.append(_tag(lower, i, word[:1].isupper() and not starts and not title, tags))
    return tags


def _title(words: Sequence[str]) -> bool:
    """Whether nearly all words have capitals, as in a headline, where they say nothing."""
    letters = [word for word in words if word[:1].isalpha()]
    return len(letters) > 3 and sum(word[0].isupper() for word in letters) > 0.8 * len(letters)


def _tag(words: list[str], i: int, capital: bool, tags: list[PartOfSpeech]) -> PartOfSpeech:
    word = words[i]
    if word.startswith("[") and word.endswith("]"):  # a stand-in for a name
        return "noun"
    if not any(c.isalpha() for c in word):
        return "other"
    if word[0].isdigit():
        return "adjective" if "-" in word or word.endswith(("st", "nd", "rd", "th")) else "noun"
    around = _Neighbours(words, i, tags)
    found = _by_word(word, around)
    if found is None and capital:
        found = "adjective" if NATIONALITY.search(word) and around.before_content() else "noun"
    return found or _by_ending(word, around)


class _Neighbours:
    """What stands beside word i: `left` and `right`, "" beyond the ends, and what was found for those before it."""

    def __init__(self, words: list[str], i: int, tags: list[PartOfSpeech]) -> None:
        self.words, self.i, self.tags = words, i, tags
        self.left = words[i - 1] if i else ""
        self.right = words[i + 1] if i + 1 < len(words) else ""
        back = i - 1
        while back >= 0 and (tags[back] == "adverb" or words[back] in NEGATIONS):
            back -= 1
        self.head = words[back] if back >= 0 else ""
        """The word before, adverbs and negations passed over."""

    def before_content(self) -> bool:
        """A word that may be a noun, or an adjective of one, follows."""
        right = self.right
        if not right[:1].isalpha() or right in FUNCTION_WORDS or right in ADVERBS or right in IRREGULAR_VERBS:
            return False
        return not right.endswith(("ly", "ed")) or right in NOUNS or right in ADJECTIVES

    def in_noun_phrase(self) -> bool:
        """After a determiner or an adjective."""
        return bool(self.i) and (self.left in DETERMINERS or self.tags[-1] == "adjective" or self.left in NUMERALS)

    def predicate(self) -> bool:
        """After a form of to be, to seem and the like."""
        return self.head in LINKING

    def verbal(self) -> bool:
        """Where a verb is due: after to, a modal verb, a pronoun as subject."""
        head = self.head
        return head in MODALS | CAUSATIVES or head == "to" or (head in SUBJECTS and self.left not in {"that", "her"})


def _by_word(word: str, around: _Neighbours) -> PartOfSpeech | None:
    """The class of words that the lists know, None for the rest."""
    left, right = around.left, around.right
    if word == "so":
        return "other" if right == "that" else "adverb"
    if word in {"about", "around"} and (right in NUMERALS or right[:1].isdigit()):
        return "adverb"
    if word == "there":
        return "other" if right in BE | MODALS | HAVE | {"'s"} else "adverb"
    if word in {"more", "most", "less", "least", "enough", "much"}:
        noun_follows = right == "than" or (
            around.before_content() and right not in ADJECTIVES and _suffix(right) != "adjective"
        )
        return "adjective" if noun_follows and word != "less" else "adverb"
    if word == "though" and right in {",", ".", "!", "?"}:
        return "adverb"
    if word in {"kind", "sort"} and right == "of":
        return "noun"
    if word in {"inside", "outside", "nearby"} and not (right[:1].isalnum() or right in DETERMINERS):
        return "adverb"
    if word == "back" and left in DETERMINERS:
        return "noun"
    if word == "home" and around.head in GOING:
        return "adverb"
    if word == "pretty":
        return "adverb" if right in ADJECTIVES else "adjective"
    if word in FUNCTION_WORDS:
        return "other"
    if word in ALSO_ADVERBS:
        return _adjective_or_adverb(word, around)
    if word == "well" and around.in_noun_phrase():
        return "noun"
    if word in ADVERBS:
        return "adverb"
    if word in FEELINGS and (
        around.predicate() or left in DEGREES or (around.in_noun_phrase() and around.before_content())
    ):
        return "adjective"
    if word in IRREGULAR_VERBS:
        return "adjective" if left in DETERMINERS and around.before_content() else "other"
    if word in ADJECTIVES:
        return _adjective(word, around)
    if word in NOUNS:
        return "noun"
    return _verb_or_noun(word, around)


def _adjective_or_adverb(word: str, around: _Neighbours) -> PartOfSpeech:
    if around.verbal() and word in {"last", "close"}:
        return "other"
    measured = word in SIZES and around.i >= 2 and around.words[around.i - 2] in NUMERALS
    if around.before_content() or around.predicate() or measured:
        return "adjective"
    return "adjective" if around.left in {"the", "a", "an"} else "adverb"


def _adjective(word: str, around: _Neighbours) -> PartOfSpeech:
    """Listed adjectives are nouns or verbs where one must stand and no adjective can."""
    if (
        word in {"open", "clean", "dry", "empty", "free", "warm", "calm", "cool", "mean", "light", "fit", "own"}
        and around.verbal()
    ):
        return "other"
    if word in {"human", "future", "right", "light", "fun", "secret", "second", "cold", "square", "military", "gold"}:
        return "adjective" if around.before_content() or around.predicate() else "noun"
    return "adjective"


def _verb_or_noun(word: str, around: _Neighbours) -> PartOfSpeech | None:
    """Other words for forms of a listed verb, nouns where it is used as one, None for what is no listed verb."""
    stems = _stems(word)
    plain = bool(stems & PLAIN_VERBS)
    if not plain and not stems & NOUN_OR_VERB:
        return None
    if word.endswith(("ed", "ing")) and word not in PLAIN_VERBS and word not in NOUN_OR_VERB:  # but need, bring
        return None
    if around.verbal():
        return "other"
    if around.in_noun_phrase() or around.left in PREPOSITIONS - {"to"}:
        return "noun"
    if plain:
        return "other"
    opens = around.right in DETERMINERS | PRONOUNS | PREPOSITIONS or around.right in ADVERBS
    follows_noun = around.i > 0 and around.tags[-1] == "noun"
    return "other" if opens and (follows_noun or around.left in CONJUNCTIONS | {","}) else "noun"


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


def _suffix(word: str) -> PartOfSpeech | None:
    """What an ending alone says."""
    if word in NOUNS:
        return "noun"
    if word in ADJECTIVES or _compared(word):
        return "adjective"
    if word.endswith("ly") and len(word) > 4:
        return "adverb"
    if word.endswith(("wards", "wise")):
        return "adverb"
    if NOUN_ENDING.search(word):
        return "noun"
    return "adjective" if ADJECTIVE_ENDING.search(word) else None


def _compared(word: str) -> bool:
    """A comparative or superlative of a listed adjective: taller, funniest, bigger, nicer."""
    for ending in ("er", "est"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            forms = {stem, stem + "e"} | ({stem[:-1] + "y"} if stem.endswith("i") else set())
            forms |= {stem[:-1]} if stem[-1:] == stem[-2:-1] else set()
            return bool(forms & (ADJECTIVES - {"own"} | ALSO_ADVERBS)) or (stem.endswith("i") and ending == "est")
    return False


def _by_ending(word: str, around: _Neighbours) -> PartOfSpeech:
    """The class of a word that no list knows, by its ending and what stands beside it; a noun for want of a sign."""
    found = _suffix(word)
    describes = around.before_content() and not around.verbal()
    if "-" in word:
        return "adjective" if describes or around.predicate() else "noun"
    if found:
        return found
    if word.endswith("ed"):
        described = around.left in DEGREES or (describes and (around.in_noun_phrase() or around.left in PREPOSITIONS))
        return "adjective" if described else "other"
    if word.endswith("ing"):
        return _ing(word, around, describes)
    if EITHER_ENDING.search(word) and (describes or around.predicate() or around.left in DEGREES):
        return "adjective"
    if around.verbal():
        return "other"
    bare = not around.in_noun_phrase() and not word.endswith("s") and not around.before_content()
    return "adjective" if around.left in DEGREES or (around.predicate() and bare) else "noun"


def _ing(word: str, around: _Neighbours, describes: bool) -> PartOfSpeech:
    if word in ACTIVE_ADJECTIVES and (describes or around.predicate() or around.left in DEGREES):
        return "adjective"
    if around.in_noun_phrase():
        return "adjective" if describes else "noun"
    return "other"
