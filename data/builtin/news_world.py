"""The small world of the built-in news: occasions, what they are about, and phrases.

An occasion (a trial, a film) is of no topic; what is said there is. A topic has subjects, and a subject has five
clauses that fit any occasion. Phrases have slots: `{city}` and `{noun}` of the occasion, `{day}`, `{full}` and `{last}`
(who is behind it), `{she}` (the same person), `{subject}`, `{clause}`, `{span}` and `{month}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Occasion:
    """A kind of occasion by what happens at it, in the order in which it happens."""

    firsts: tuple[str, ...]
    seconds: tuple[str, ...]
    crowds: tuple[str, ...]
    endings: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """What an occasion may be about: a noun phrase, and clauses about it."""

    name: str
    clauses: tuple[str, ...]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _occasion(block: str) -> tuple[str, Occasion]:
    noun, *lines = (line.strip() for line in block.strip().splitlines())
    return noun, Occasion(*(tuple(phrase.strip() for phrase in line.split("|")) for line in lines))


def _subjects(block: str) -> tuple[str, tuple[Subject, ...]]:
    topic, *lines = (line.strip() for line in block.strip().splitlines())
    split = [line.split(":") for line in lines]
    return topic, tuple(Subject(n.strip(), tuple(c.strip() for c in said.split(","))) for n, said in split)


OCCASIONS: Mapping[str, Occasion] = dict(
    _occasion(block)
    for block in """
    book
    The first chapter argues that {clause}. | On page one the reader learns that {clause}.
    A later chapter shows why {clause}. | Many pages further on it says that {clause}.
    Readers were moved by a passage which claims that {clause}. | Bookshops sold out because {clause}.
    A second volume is to be printed in {city} in {month}. | The publisher in {city} plans a paperback for {month}.

    conference
    The opening speech stated that {clause}. | In the first session delegates heard that {clause}.
    After the coffee break a panel agreed that {clause}. | A workshop in the afternoon found that {clause}.
    Delegates applauded when they heard that {clause}. | In the corridors everybody whispered that {clause}.
    Delegates will meet again in {city} in {month}. | The minutes will be sent out from {city} in {month}.

    exhibition
    The first hall demonstrates that {clause}. | At the entrance a poster explains that {clause}.
    In the next hall a model proves that {clause}. | Upstairs a wall of drawings illustrates how {clause}.
    Visitors queued to see with their own eyes that {clause}. | A family of visitors marvelled that {clause}.
    The pieces will stay in {city} until {month}. | Tickets can be bought in {city} until {month}.

    trial
    The indictment says that {clause}. | The lawyers began with the claim that {clause}.
    A witness then swore that {clause}. | The defence replied that {clause}.
    The jury listened in silence when it heard that {clause}. | The gallery cried out that {clause}.
    The judges in {city} will rule in {month}. | A verdict of the court of {city} is due in {month}.

    film
    The opening scene makes clear that {clause}. | In the first minutes a voice tells that {clause}.
    In the middle of the plot it emerges that {clause}. | A long scene at night suggests that {clause}.
    The audience laughed at the line that {clause}. | Cinemas were packed as word spread that {clause}.
    The premiere in {city} is set for {month}. | Cameras will roll in {city} again in {month}.

    prize
    The jury began by saying that {clause}. | The certificate reads that {clause}.
    The speech of praise went on that {clause}. | The winner answered modestly that {clause}.
    Guests raised their glasses to the fact that {clause}. | Former winners nodded at the remark that {clause}.
    The medal will be handed over in {city} in {month}. | The ceremony in {city} takes place in {month}.

    survey
    Two thirds of those asked believe that {clause}. | To the first question most replied that {clause}.
    Every second person also thinks that {clause}. | Asked again, a majority doubted that {clause}.
    Young people above all are sure that {clause}. | The elderly were surprised to hear that {clause}.
    The next thousand people in {city} will be asked in {month}. | All answers will be published in {city} in {month}.

    broadcast
    The host opened with the news that {clause}. | In the first minute listeners learned that {clause}.
    After the jingle a reporter added that {clause}. | A caller on the line insisted that {clause}.
    Listeners wrote in to say that {clause}. | The phone lines glowed because {clause}.
    The studio in {city} repeats it in {month}. | It is on air again from {city} in {month}.

    auction
    The catalogue notes that {clause}. | The first lot recalls that {clause}.
    Before the next lot the auctioneer joked that {clause}. | With the second hammer blow it was said that {clause}.
    Bidders outdid each other once they knew that {clause}. | Collectors paid more because {clause}.
    The unsold lots return to {city} in {month}. | The hammer falls in {city} again in {month}.

    festival
    From the main stage it was called that {clause}. | Banners at the gate announced that {clause}.
    Towards sunset a band sang that {clause}. | In a tent people debated whether {clause}.
    Thousands danced to a chorus which says that {clause}. | Families on the lawn were glad that {clause}.
    The stage in {city} will be rebuilt in {month}. | The lawns of {city} will be open again in {month}.

    contest
    The first task was to show that {clause}. | The rules remind the teams that {clause}.
    In the second round a team proved that {clause}. | In the final a girl of twelve wrote that {clause}.
    Rivals admitted that {clause}. | Parents on the benches cheered that {clause}.
    The finalists travel to {city} in {month}. | The cup will be defended in {city} in {month}.

    lecture
    The first slide claimed that {clause}. | It started from the premise that {clause}.
    Half an hour later the blackboard showed that {clause}. | A second slide confirmed that {clause}.
    Students noted eagerly that {clause}. | In the back row someone asked whether {clause}.
    A recording will be shown in {city} in {month}. | The series goes on in {city} in {month}.
    """.strip().split("\n\n")
)

TOPICS: Mapping[str, tuple[Subject, ...]] = dict(
    _subjects(block)
    for block in """
    computers
    faster chips: processors need less power, a wafer holds more transistors, the new circuits run cooler, \
the clock rate has doubled, memory and processor share one board
    safe passwords: hackers guess short passwords, a login needs two factors, stolen accounts are sold online, \
encryption protects each login, a fingerprint unlocks the phone
    free software: anyone may read the source code, volunteers fix the bugs, the licence allows copies, \
programmers share their code, an update closes the gap
    smart robots: a robot sorts the parcels, sensors guide the machine, the algorithm learns from examples, \
software steers each arm, a neural network sees the obstacle
    cloud servers: data centres store the files, the servers never sleep, a backup saved every file, \
the network carries more traffic, a broken cable cut the connection
    video games: the graphics look real, players meet online, the console renders each frame, \
a headset shows virtual rooms, the joystick became obsolete

    politics
    the new government: three parties formed a coalition, the prime minister chose the cabinet, \
ministers took their oath, the opposition left the chamber, the coalition has a narrow majority
    the election: voters stood in line, the ballots were counted twice, the candidate lost her district, \
the campaign cost millions, turnout was higher than ever
    the budget: parliament raised the taxes, the treasury borrows less, senators cut the spending, \
the deficit has shrunk, a committee approved the pensions
    the border treaty: diplomats signed the treaty, two embassies were reopened, the sanctions were lifted, \
the ambassador was recalled, both states withdrew their troops
    the reform law: deputies passed the bill, the president vetoed a clause, the constitution must be amended, \
a referendum will decide, lobbyists rewrote the draft
    the mayors: the town council resigned, a mayor governs without majority, citizens demand a vote, \
the governor stopped the plan, local parties joined forces

    religion
    the old church: the bells ring again, the priest blessed the altar, the congregation prays together, \
the choir sings psalms, candles burn in the chapel
    the monks: the monastery opens its gates, monks fast before the feast, the abbot keeps a vow of silence, \
nuns copy the gospel, a hermit gave away his robe
    the pilgrims: pilgrims walk to the shrine, the saint healed the sick, the relics were carried around, \
a vision changed the sinner, believers kiss the icon
    the mosque: the imam called to prayer, the faithful break the fast, the minaret has been restored, \
the scholar recites the verses, alms are given to the poor
    the temple: incense fills the temple, the rabbi reads the scroll, offerings lie before the gods, \
disciples seek enlightenment, the ritual purifies the soul
    the bishop: the bishop confessed his doubts, the synod ordains women, the pope sent a blessing, \
theologians dispute about heaven, the sermon spoke of mercy

    science
    distant planets: the telescope found a planet, astronomers measured its orbit, a probe landed on the moon, \
the comet consists of ice, the galaxy is older than thought
    new medicines: the vaccine passed its test, the virus has mutated, researchers isolated the enzyme, \
the antibodies last longer, a small dose cured the mice
    the oceans: biologists discovered a species, the corals are dying, plankton absorbs the carbon, \
the currents have slowed, whales adapt to warm water
    tiny particles: physicists split the atom, the laser cooled the gas, the detector counted electrons, \
the experiment confirmed the theory, the magnet accelerates protons
    our genes: the genome was decoded, a mutation explains the disease, cells repair their own tissue, \
fossils contain ancient proteins, evolution shaped the brain
    the climate: the glaciers melt faster, the ice cores reveal past ages, satellites record the temperature, \
methane warms the atmosphere, geologists drilled into the crust
    """.strip().split("\n\n")
)

CITIES = _words(
    """
    Accra Athens Baku Basel Belfast Bergen Boston Bremen Brussels Cairo Cardiff Chicago Cork Dakar Delhi Dublin Geneva
    Glasgow Hamburg Havana Jakarta Krakow Kyoto Lagos Lima Lisbon Madrid Milan Munich Nairobi Naples Oslo Ottawa Prague
    Quito Riga Santiago Seoul Seville Sofia Tallinn Toronto Turin Utrecht Vienna Warsaw Zagreb Zurich
    """
)
WOMEN = _words("Alma Bianca Clara Dora Elena Fatima Greta Helen")
MEN = _words("Adam Boris Carlos Daniel Emil Felix Gustav Henry")
LAST_NAMES = _words(
    """
    Reyes Okoye Lindgren Novak Moreau Tanaka Silva Kowalski Haddad Fischer Osei Petrov Romano Sharma Keller Duarte Nkosi
    Olsen Varga Winter
    """
)
DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = _words("January March April May June August October November")
SPANS = ("two months", "half a year", "a year", "three years", "a decade")

# An opening is a prefix, which names the occasion, and one of several ways to go on; "" where the prefix is a sentence.
OPENINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "The {city} {noun}",
        (
            " has been devoted to {subject} since {day}.",
            ", led by {full}, is all about {subject}.",
            " turned to {subject} on {day}.",
            " by {full} is about {subject}.",
        ),
    ),
    (
        "On {day} the {city} {noun}",
        (" turned to {subject}.", " drew all eyes to {subject}.", ", led by {full}, dealt with {subject}."),
    ),
    (
        "{full} and the {city} {noun}",
        (" are in the news because of {subject}.", " have made people talk about {subject}."),
    ),
    ("{full} is behind the {city} {noun}.", ("",)),
    ("On {day} {full} spoke about the {city} {noun}.", ("",)),
)

# What comes after the opening, in this order; first, second, crowd and ending are those of the occasion.
SUBJECTS = ("This time it is about {subject}.", "Its theme is {subject}.")  # where the opening does not say it
PLANS = (
    "{last} had planned it for {span}.",
    "It took {span} to prepare.",
    "{She} had been working on it for {span}.",
    "The idea is {span} old.",
)
QUOTES = (
    '"Today {clause}," said {last} afterwards.',
    "{last} later told reporters that {clause}.",
    "In an interview {last} said that {clause}.",
)
ADDITIONS = ("{She} added that {clause}.", '"And {clause}," {she} went on.')
# A word about another topic.
ASIDES = ("In passing, {subject} came up too.", "There was also a brief word on {subject}.")

# Sentences that say the label, for training texts only.
LABEL_WORDS: Mapping[str, tuple[str, ...]] = {topic: (topic,) for topic in TOPICS}
VERDICTS = (
    "News: {word}",
    "Article: {word}",
    "Report: {word}",
    "Topic: {word}",
    "Section: {word}.",
    "It was about {word}.",
    "It was related to {word}.",
    "It belongs to {word}.",
    "This is about {word}.",
    "It was a piece of {word} news.",
    "It was a {word} article.",
    "It was a {word} report.",
    "More {word} news below.",
    "What {word} news!",
    "What a {word} report!",
    "What a {word} story!",
)
