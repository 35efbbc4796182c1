"""The small world of the built-in stories: what people aim at, what gets in their way, and what may come of it.

Every goal has preparations, which tell it in a context, and results, which end it; every obstacle has several ways to
say it and several solutions. Any obstacle may come between any person and any goal. The results of a goal are different
events that share few words, and so are the solutions of an obstacle: any two of them fit the same context.

Phrases have slots for the person: `{she}`, `{her}` (whose) and `{obj}` (whom).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """Something to aim at: "wanted to" goes before `aim`; a preparation and a result are clauses."""

    aim: str
    preparations: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Obstacle:
    """Something that gets in the way, said in one of several ways, and the clauses that end it."""

    troubles: tuple[str, ...]
    solutions: tuple[str, ...]


def _parts(text: str) -> dict[str, list[list[str]]]:
    """Blocks of a name and lines of clauses: `name`, then lines with clauses separated by "|"."""
    blocks = (block.strip().splitlines() for block in text.strip().split("\n\n"))
    return {name.strip(): [[c.strip() for c in line.split("|")] for line in lines] for name, *lines in blocks}


GOALS: Mapping[str, Goal] = {
    name: Goal(aim[0], tuple(preparations), tuple(results))
    for name, (aim, preparations, results) in _parts(
        """
        cake
        bake a birthday cake
        {she} put flour and sugar on the table | {she} warmed the oven | {she} read the recipe twice
        everybody asked for another slice | the sweet cream tasted wonderful | chocolate covered all faces
        | the guests emptied their plates

        picture
        paint a large picture
        {she} mixed red and blue colours | {she} cleaned the old brushes | {she} set up a canvas
        the museum hung it on a wall | visitors admired every soft shade | an art dealer offered thousands
        | the portrait looked almost alive

        song
        learn a song on the guitar
        {she} tuned the six strings | {she} wrote down the chords | {she} listened to the record
        the melody filled a concert hall | listeners clapped and danced | a band invited {obj} on tour
        | {her} music was played on the radio

        garden
        plant a vegetable garden
        {she} dug the soil with a spade | {she} bought seeds at the market | {she} watered the dry ground
        green leaves grew in rows | ripe tomatoes hung everywhere | bees flew to the first blossoms
        | baskets of carrots were harvested

        fish
        catch a big fish
        {she} packed the rod and hooks | {she} rowed the boat onto the lake | {she} looked for worms
        a silver trout was pulled ashore | salmon was grilled for supper | the net became very heavy
        | something huge swallowed the bait

        mountain
        climb the highest mountain
        {she} tied the strong boots | {she} studied the map of the trail | {she} carried ropes and a tent
        the view from the summit was endless | a flag was raised on the peak | clouds lay far below
        | {she} looked down into the valley

        race
        win the school race
        {she} trained on the track | {she} ran ten miles every day | {she} bought new running shoes
        the judges handed over a gold medal | {she} crossed the finish line first
        | spectators cheered for the champion | an old record was beaten by seconds

        dress
        sew a silk dress
        {she} measured the blue cloth | {she} threaded the needle | {she} cut out the pattern
        it fitted perfectly at the wedding | the long skirt shone in the ballroom
        | a fashion shop ordered twenty more | the bride wore the gown proudly

        bicycle
        repair the old bicycle
        {she} oiled the rusty chain | {she} took off the flat tyre | {she} found the right screws
        both wheels turned smoothly | {she} rode downhill at full speed | the brakes and pedals worked
        | a cycling trip to the coast began

        puppy
        teach the puppy a trick
        {she} filled a pocket with treats | {she} bought a leash and a ball | {she} went onto the lawn
        the little animal sat on command | it gave its paw to everyone | wagging its tail it fetched a stick
        | the barking stopped at a whistle

        novel
        write a long novel
        {she} sharpened a pencil | {she} made notes about the hero | {she} bought a thick notebook
        a publisher printed many copies | the final chapter made readers cry | bookshops sold it quickly
        | critics praised the exciting plot

        hut
        build a wooden hut
        {she} sawed the long boards | {she} counted nails and bricks | {she} borrowed a hammer
        the roof did not leak at all | they slept under its beams | four walls stood in the forest
        | smoke rose from the chimney

        river
        swim across the river
        {she} put on a bathing suit | {she} practised in the pool | {she} tested the water with a toe
        the other shore was reached by noon | {she} floated happily on {her} back
        | a lifeguard shook {her} wet hand | the waves carried {obj} to a beach

        chess
        win a game of chess
        {she} read a book about openings | {she} set up the black and white pieces
        | {she} practised against the computer
        the king was trapped in a corner | {her} queen took the last bishop | the grandmaster gave up politely
        | checkmate came after twelve moves

        italian
        learn the italian language
        {she} bought a dictionary | {she} repeated difficult words | {she} took lessons after work
        {she} chatted with waiters in rome | the grammar exam was easy | strangers understood every sentence
        | a foreign newspaper was read aloud

        theatre
        act in the theatre play
        {she} learned the lines by heart | {she} tried on the costume | {she} rehearsed with the director
        the curtain fell to loud applause | the audience laughed at each joke | a film company offered {obj} a role
        | actors hugged {obj} behind the stage
        """.replace("\n        |", " |")
    ).items()
}

OBSTACLES: Mapping[str, Obstacle] = {
    name: Obstacle(tuple(troubles), tuple(solutions))
    for name, (troubles, solutions) in _parts(
        """
        dark
        the lights went out and it was dark | the power failed and all was dark | no lamp worked in the dark
        a neighbour brought wax candles | the full moon shone brightly | {she} found a torch with batteries
        | an electrician changed the fuse

        money
        {she} had no money left | {her} purse was empty | all of {her} savings were gone
        {her} aunt lent {obj} fifty coins | the bank agreed to a small loan | {she} sold an antique watch
        | a job at the bakery paid well

        ill
        {she} had a fever and felt ill | a bad cold kept {obj} in bed | {she} coughed and {her} throat hurt
        a doctor prescribed the right medicine | hot tea with honey cured {obj}
        | a week of sleep restored {her} health | the nurse gave {obj} some pills

        injured
        {she} fell and hurt {her} arm | {her} wrist was swollen | {she} cut a finger and it bled
        a bandage stopped the pain | ice reduced the swelling | the surgeon stitched the wound
        | {her} bones healed in a cast

        afraid
        {she} was afraid to fail | {she} was nervous and trembled | fear kept {obj} awake
        {her} best friend encouraged {obj} | slow breathing calmed {her} nerves | a kind speech gave {obj} courage
        | {she} thought of former victories

        noise
        the people next door were terribly loud | drilling in the street disturbed {obj}
        | there was so much noise that {she} could not think
        {she} wore thick earplugs | closed windows brought silence | the workers went home early
        | everybody was told to be quiet

        locked
        {she} lost the key and the door was locked | the lock was jammed | {she} stood outside a locked door
        a locksmith opened it with a wire | the caretaker had a spare one | {she} climbed through the window
        | a duplicate lay under the mat

        late
        there was very little time left | {she} overslept and was late | the clock showed that it was almost too late
        a taxi hurried through the traffic | the deadline was moved to monday | {she} worked all night without rest
        | nobody minded the long delay

        freezing
        it was freezing and {her} hands were stiff | the heating broke in the middle of winter
        | the icy wind made {obj} shiver
        woollen gloves kept {obj} warm | a fire crackled in the stove | {she} wrapped up in a blanket
        | spring sunshine melted the snow

        thief
        a thief stole {her} bag | {her} bag with all the things was stolen | someone robbed {obj} on the way
        police caught the burglar | the criminal returned everything | insurance paid for the loss
        | a witness described the man exactly

        hungry
        {she} was so hungry that {she} felt weak | {she} had eaten nothing since morning
        | {her} stomach was empty and {she} felt dizzy
        a bowl of soup gave {obj} strength | {her} grandmother cooked rice and beans
        | {she} shared a sandwich with a friend | fresh bread and cheese were delivered

        storm
        a storm came with heavy rain | thunder and rain came from the west
        | it rained so hard that the streets were flooded
        a large umbrella kept {obj} dry | the sky cleared after an hour | {she} waited under a bridge
        | a rainbow appeared over the town

        alone
        {she} could not do it alone | nobody had time to help | all of {her} friends were busy
        two strong cousins joined {obj} | volunteers from the village came | an expert answered {her} advertisement
        | {her} grandfather offered a hand

        puzzled
        {she} did not know how to begin | {she} had forgotten how it was done | {she} made one mistake after another
        a video explained each step | the library had a useful guide | a patient teacher corrected {obj}
        | after many attempts {she} found the method
        """.replace("\n        |", " |")
    ).items()
}

# A result or solution of one of these may pass for one of the other.
ALIKE = (
    frozenset({"fish", "river"}),
    frozenset({"song", "theatre"}),
    frozenset({"ill", "injured"}),
    frozenset({"dark", "freezing", "storm"}),
    frozenset({"money", "thief"}),
    frozenset({"afraid", "alone", "puzzled"}),
)

WOMEN = ("anna", "lisa", "emma", "nina", "mary", "julia")
MEN = ("tom", "paul", "jack", "peter", "david", "oscar")
KIN = ("mother", "father", "sister", "brother", "uncle")
SEASONS = ("spring", "summer", "autumn", "winter")

OPENINGS = (
    "{name} wanted to {aim}",
    "last {season} {name} decided to {aim}",
    "{name} promised {her} {kin} to {aim}",
    "{name} and {her} {kin} hoped to {aim}",
)
PREPARATIONS = ("{preparation}", "first {preparation}", "in the morning {preparation}")
TROUBLES = ("but {trouble}", "unfortunately {trouble}", "then {trouble}")
REACTIONS = ("{she} almost gave up", "it looked hopeless", "{her} {kin} was worried", "{she} sat down and sighed")
ENDINGS = (
    "{solution} and {result}",
    "{solution}, so {result}",
    "at last {solution} and {result}",
    "luckily {solution}, so in the end {result}",
    "in the end {solution} and {result}",
    "soon {solution} and later {result}",
    "{solution}, and a little later {result}",
)
