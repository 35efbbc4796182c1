"""The small world of the built-in reviews: things that are reviewed, what is good and bad about them, and phrases.

A thing has a name and is of a kind. A kind has four parts; each part has two praises and two complaints, verb phrases
that fit any name. Phrases have slots: `{name}` and `{noun}` of the thing, `{got}` (how one comes by it), `{city}`,
`{month}`, `{kin}` (a relative), `{she}` and `{her}` (the relative again), `{use}` (what for), `{span}` (how long) and
`{fact}` (a part and what it does).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of thing: "I `got` it to `use`"; for each part its praises and its complaints."""

    got: str
    uses: tuple[str, ...]
    parts: Mapping[str, Mapping[str, tuple[str, ...]]]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _kind(block: str) -> tuple[str, Kind]:
    """A block: the noun, `got` and uses on the first line, then `part: praise, praise / complaint, complaint` lines."""
    head, *lines = block.strip().splitlines()
    noun, got, *uses = (piece.strip() for piece in head.split("|"))
    parts: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for line in lines:
        part, said = line.split(":")
        praise, complaint = (tuple(s.strip() for s in side.split(",")) for side in said.split("/"))
        parts[part.strip()] = {"positive": praise, "negative": complaint}
    return noun, Kind(got, tuple(uses), parts)


KINDS: Mapping[str, Kind] = dict(
    _kind(block)
    for block in """
    kettle | bought | make tea in the office | boil water without a stove
    the water: boils in a minute, tastes fresh / takes ages to boil, tastes of plastic
    the lid: closes tightly, opens at a touch / falls off, lets the steam out
    the spout: pours neatly, never spills a drop / drips all over the table, clogs with chalk
    the switch: turns off by itself, glows softly / sticks, burns my thumb

    lamp | bought | read in bed | light the dark hall
    the bulb: gives warm light, lasts for years / flickers, burned out after a night
    the shade: looks elegant, spreads the light evenly / is crooked, smells of glue
    the stand: is solid, holds firmly / wobbles, tips over
    the cable: is long enough, hides in the foot / is far too short, sparks

    backpack | bought | carry my laptop | hike through the hills
    the straps: are soft, spread the weight well / cut into my shoulders, tore
    the pockets: hold everything, are easy to reach / are tiny, have holes
    the zip: runs smoothly, looks unbreakable / jams, broke
    the fabric: keeps out the rain, feels strong / soaks up the rain, faded

    tent | bought | camp by the lake | sleep in the open
    the poles: click together, bend without breaking / snap, never fit together
    the ground sheet: stays dry, is thick / lets the damp in, is full of tears
    the entrance: has a fine net, is wide / lets mosquitoes in, is too low
    the pegs: hold in any storm, are light / bend in soft grass, were missing

    bicycle | bought | ride to work | see the coast
    the brakes: grip at once, make no sound / squeal, fail on wet roads
    the saddle: is comfortable, adjusts in seconds / hurts, slips down
    the gears: shift cleanly, are well spaced / grind, jump
    the chain: runs quietly, needs hardly any oil / came off, rusts

    camera | bought | photograph birds | film the family
    the lens: is razor sharp, catches every detail / is blurred, is scratched
    the battery: lasts all day, charges quickly / is flat by noon, leaks
    the display: is bright, shows true colours / is dim, freezes
    the shutter: reacts instantly, is almost silent / lags, rattles

    jacket | ordered | go out in winter | cycle in the rain
    the lining: keeps me warm, feels like velvet / scratches, comes loose
    the hood: fits perfectly, stays up in the wind / slides over my eyes, is far too big
    the sleeves: have the right length, allow every movement / are too tight, unravel
    the buttons: are sewn on well, shine like new / pop off, crack

    mattress | ordered | sleep better | cure my sore back
    the springs: support me well, make no noise / poke through, creak
    the cover: is washable, feels cool / shrank in the wash, makes me sweat
    the foam: returns to its shape, is just firm enough / sags, stinks
    the edge: stays stable, is neatly stitched / collapses, frays

    printer | ordered | print photos | copy contracts at home
    the ink: dries at once, is cheap / smears, costs a fortune
    the paper tray: takes any format, fills easily / swallows three sheets at a time, bent
    the scanner: reads small letters, is fast / leaves stripes, cuts off the margins
    the driver: was installed in a moment, never complains / crashes, demands updates

    guitar | bought | learn my first songs | play in a band
    the strings: ring clearly, stay in tune / buzz, rip
    the neck: fits my hand, is dead straight / is warped, splinters
    the body: resonates richly, is beautifully varnished / sounds hollow, has cracks
    the pegs: turn with ease, hold the pitch / slip, squeak

    sofa | ordered | watch films in comfort | seat our guests
    the cushions: are wonderfully deep, keep their form / went flat, feel like stones
    the frame: is rock solid, was put together in no time / groans, split
    the cloth: resists every stain, is pleasant to touch / pills, attracts dust
    the legs: protect the floor, are stylish / scratch the floor, came off

    watch | ordered | be on time | track my runs
    the hands: are easy to read, glow in the dark / stop every evening, hang loose
    the glass: has no scratch, does not reflect / clouded over, shattered
    the strap: suits any wrist, smells of real leather / pinches, leaves a rash
    the alarm: wakes me gently, is simple to set / goes off at random, stays mute

    novel | read | forget the world | learn about sailors
    the plot: is gripping, surprises to the last page / drags, makes no sense
    the heroine: is brave and witty, grows with each chapter / whines, acts like a puppet
    the dialogues: sparkle, ring true / are wooden, repeat themselves
    the language: is full of poetry, flows / is clumsy, is full of clichés

    film | watched | laugh with friends | enjoy a free evening
    the actors: are brilliant, play with passion / mumble, look bored
    the script: is clever, has a heart / is a mess, insults the viewer
    the soundtrack: gave me goosebumps, fits each scene / is deafening, drowns the voices
    the pictures: are breathtaking, linger in the mind / are shaky, look fake

    album | heard | relax after work | dance in the living room
    the singer: has a golden voice, touches the soul / is out of tune, shouts
    the melodies: stay in the ear, are inventive / all sound the same, are dull
    the lyrics: are honest, made me think / are silly, rhyme badly
    the drums: drive every song, are crisp / are too loud, miss the beat

    hotel | booked | see the old town | rest for a weekend
    the rooms: are spotless, have a lovely view / are filthy, face a wall
    the staff: are friendly, fulfil every wish / are rude, ignored us
    the breakfast: offers fresh fruit, is a feast / was cold, is stale bread
    the beds: are heavenly, are wide and quiet / sink in, have bugs

    restaurant | visited | celebrate a birthday | taste the local kitchen
    the soup: is perfectly seasoned, warms the stomach / is watery, was too salty
    the waiters: know every dish, are attentive / forgot our order, roll their eyes
    the fish: is tender, comes straight from the sea / is burnt, smelled odd
    the bill: is fair, was a pleasant surprise / is outrageous, had mistakes

    museum | visited | spend a rainy day | look at old masters
    the collection: is outstanding, tells a story / is poor, gathers dust
    the guide: answered all questions, is full of humour / rushed us, read from a sheet
    the halls: are spacious, are flooded with light / are stuffy, are overcrowded
    the labels: are informative, come in many languages / are unreadable, are wrong

    cruise | booked | see whales | cross the northern sea
    the cabin: is cosy, has a large window / is a cupboard, hums all night
    the crew: are charming, take care of everyone / are grumpy, were nowhere to be seen
    the deck: invites to dream, has plenty of seats / is slippery, reeks of diesel
    the captain: steers calmly, told fine stories / hit the pier, skipped two ports

    pizza | ordered | feed six hungry guests | skip cooking
    the crust: is crisp, melts on the tongue / is soggy, is hard as wood
    the cheese: is creamy, is of the best quality / tastes of rubber, was mouldy
    the tomatoes: are sun-ripened, smell of summer / are sour, came from a tin
    the delivery: took ten minutes, was hot and punctual / took two hours, went to the wrong door

    cake | ordered | sweeten a party | comfort a friend
    the cream: is light as a feather, is not too sweet / is greasy, had turned
    the icing: is a work of art, crackles / is gaudy, sticks to the teeth
    the filling: tastes of real cherries, is generous / is artificial, is hardly there
    the sponge: is moist, is baked to perfection / is dry, crumbles

    course | took | speak in public | understand my taxes
    the teacher: explains with patience, inspires / yawns, loses the thread
    the exercises: are varied, helped at once / are pointless, are full of errors
    the group: is small, became my second family / is noisy, fell apart
    the handouts: are worth keeping, sum it all up / are outdated, cannot be read
    """.strip().split("\n\n")
)

NAMES = _words(
    """
    Alder Arlo Belmar Boden Brisco Calder Corbin Dunmore Elgar Farrow Fenton Gantry Halden Harlan Hollis Jarvis Juno
    Kestrel Larkin Lomax Marlow Merlo Nimbus Norvik Ondine Orbis Pellar Pemba Quillon Ravel Rovani Sandor Selby Solveig
    Sorrel Tarkin Tavora Umbra Vexley Wendel Wexford Yarrow Zephyr
    """
)
CITIES = _words("Lisbon Vienna Dublin Oslo Prague Naples Bergen Krakow Seville Geneva")
MONTHS = _words("January March April May June August October November")
WOMEN = ("sister", "mother", "aunt", "daughter", "grandmother")
MEN = ("brother", "father", "uncle", "son", "grandfather")
SPANS = ("a week", "two weeks", "a month", "several months", "half a year")

# An opening is a prefix, which names the thing, and one of several ways to go on; "" where the prefix is a sentence.
OPENINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "The {name} {noun}",
        (
            " was a tip from my {kin}.",
            " caught my eye last {month}.",
            " was praised by a friend in {city}.",
            " had been on my list since {month}.",
            " was a wish of my {kin} from {city}.",
        ),
    ),
    (
        "Last {month} I {got} the {name} {noun}",
        (" in {city}.", " on the advice of my {kin}.", " together with my {kin}.", " without much thought."),
    ),
    (
        "In {city} my {kin} and I {got} the {name} {noun}",
        (" for the first time.", " on a day in {month}.", " by chance."),
    ),
    ("Last {month} my {kin} and I {got} the {name} {noun}.", ("",)),
    ("My {kin} {got} the {name} {noun}", (" last {month}, and I joined in.", " in {city}, and I joined in.")),
)

# What comes after the opening, in this order.
PLANS = (
    "I hoped to {use}.",
    "My plan was to {use}.",
    "The idea was simply to {use}.",
    "They say that the {name} is just right to {use}.",
)
FIRSTS = (
    "Right at the start it turned out that {fact}.",
    "The first thing I noticed was that {fact}.",
    "At first sight I found that {fact}.",
)
SECONDS = {
    "positive": ("Even better, {fact}.", "Then I saw with joy that {fact}.", "Besides, {fact}, which is lovely."),
    "negative": ("Even worse, {fact}.", "Then I saw with horror that {fact}.", "Besides, {fact}, which is a shame."),
}
RELATIVES = {
    "positive": (
        "My {kin} was delighted because {fact}.",
        "When my {kin} tried it, {she} could not stop smiling, for {fact}.",
        "As {fact}, my {kin} now wants one of {her} own.",
    ),
    "negative": (
        "My {kin} was annoyed because {fact}.",
        "When my {kin} tried it, {she} only shook {her} head, for {fact}.",
        "As {fact}, my {kin} said that {she} had warned me.",
    ),
}
LATERS = (
    "After {span} nothing had changed: {fact}.",
    "Even after {span}, {fact}.",
    "When {span} had passed, I could still say that {fact}.",
)
# A point for the other side: the key is the sentiment of the whole.
CONCESSIONS = {
    "positive": ("The only drawback is that {fact}.", "I can live with it that {fact}."),
    "negative": ("The only consolation is that {fact}.", "It does not help me that {fact}."),
}
ENDINGS = {
    "positive": (
        "In the end the {name} was worth every cent.",
        "In the end I fell in love with the {name}.",
        "So I will choose the {name} again without a second thought.",
        "So I can warmly recommend the {name} {noun}.",
        "My advice: do not miss the {name}!",
        "My thanks go to the people behind the {name}!",
    ),
    "negative": (
        "In the end the {name} was money down the drain.",
        "In the end I lost my patience with the {name}.",
        "So I will never fall for the {name} again.",
        "So I can only warn against the {name} {noun}.",
        "My advice: stay away from the {name}!",
        "My complaint went to the people behind the {name}!",
    ),
}

# Sentences that say the label, for training texts only.
LABEL_WORDS: Mapping[str, tuple[str, ...]] = {
    "positive": ("good", "positive", "great", "excellent", "wonderful"),
    "negative": ("bad", "negative", "terrible", "awful", "dreadful"),
}
VERDICTS = (
    "It was {word}.",
    "In summary, it was {word}.",
    "All in all, it was {word}.",
    "In a word, it was {word}.",
    "To be short, it was {word}.",
    "It seems {word}.",
    "It looks {word}.",
    "It remains {word}.",
    "Really {word}!",
    "So {word}!",
    "Simply {word}!",
    "How {word}!",
    "My verdict: {word}.",
    "Overall {word}.",
)
