"""The small world of the built-in dialogues: what is true in it, and the phrases in which two people talk about it.

A fact has a kind and a one-word value. A topic has a table of facts that belong together (an animal, its sound, its food,
its home): the first column is its key, from which the others follow. Every speaker has one row of the table. The facts
of `LISTS` follow from nothing and have to be said.

A block is a run of turns that belong together (question and answer, statement and reaction, offer and acceptance), said
in turn by the two speakers. A turn is written as its paraphrases, separated by " | ". Slots name facts as the speaker of
the turn sees them: `{my.food}`, `{your.food}`, `{our.day}`. A plus, as in `{+my.food}`, marks a fact that must be news
at this point; without it, the fact must be known or follow from a known key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Block: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """What there is to say about one topic.

    Attributes:
        kinds: the kinds of fact in the table, the key first.
        rows: the facts that belong together, in the order of the kinds.
        blocks: what can be said between opening and closing.
        closings: last blocks that take up the topic.
    """

    kinds: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    blocks: tuple[Block, ...]
    closings: tuple[Block, ...]


def _rows(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split()) for line in text.strip().splitlines())


LISTS: Mapping[str, tuple[str, ...]] = {
    "name": tuple(["anna", "tom", "lisa", "paul", "emma", "jack", "nina", "peter", "clara", "david"]),
    "kin": tuple(["mother", "father", "sister", "brother", "uncle", "aunt", "cousin", "grandmother"]),
    "day": tuple(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]),
    "time": tuple(["morning", "afternoon", "evening"]),
    "petname": tuple(["milo", "bella", "max", "luna", "rocky", "coco"]),
    "surname": tuple(["miller", "stone", "brook", "carter", "wood", "young"]),
    "vehicle": tuple(["train", "plane", "bus", "ship"]),
    "town": tuple(["oslo", "bern", "york", "geneva", "boston", "madrid"]),
    "hour": tuple(["five", "six", "seven", "eight"]),
}

OPENINGS: tuple[Block, ...] = (
    (
        "hi {+your.name}, how are you today? | hello {+your.name}, how are you doing?",
        "hi {+your.name}, i am fine, thank you. | hello {+your.name}, i am very well, thanks.",
    ),
    (
        "hello {+your.name}, do you have time to talk? | hi {+your.name}, do you have a moment to talk?",
        "hello {+your.name}, yes, i have time to talk. | hi {+your.name}, of course, let us talk.",
    ),
    (
        "hi {+your.name}, shall we talk about {our.topic}? | hello {+your.name}, i would like to talk about {our.topic}.",
        "hi {+your.name}, i like to talk about {our.topic}. | good idea, {+your.name}, let us talk about {our.topic}.",
    ),
    (
        "good {+our.time}, {+your.name}, it is nice to see you. | good {+our.time}, {+your.name}, i am glad to see you.",
        "good {our.time}, {+your.name}, i am happy to see you too. | good {our.time}, {+your.name}, how nice to meet you.",
    ),
)

CLOSINGS: tuple[Block, ...] = (
    (
        "i have to go now, goodbye {your.name}. | it is late and i must go, {your.name}.",
        "goodbye {your.name}, it was nice to talk about {our.topic}. | bye {your.name}, let us talk about {our.topic} again.",
    ),
    (
        "then i will see you on {our.day}, {your.name}. | goodbye {your.name}, we will meet on {our.day}.",
        "yes, see you on {our.day}, {your.name}. | goodbye {your.name}, do not forget me on {our.day}.",
    ),
    (
        "have a nice {our.time}, {your.name}, i must go. | i must go, enjoy the {our.time}, {your.name}.",
        "goodbye {your.name}, and have a nice {our.time} too. | thank you {your.name}, you have a good {our.time} too.",
    ),
)

TOPICS: Mapping[str, Topic] = {
    "pets": Topic(
        kinds=("animal", "sound", "food", "home"),
        rows=_rows(
            """
            cat meows fish basket
            dog barks bones kennel
            horse neighs hay stable
            parrot talks seeds cage
            rabbit squeaks carrots hutch
            hen clucks corn coop
            pig grunts potatoes sty
            frog croaks flies pond
            duck quacks bread lake
            """
        ),
        blocks=(
            (
                "do you have a pet at home? | tell me, which pet do you have?",
                "i have a {+my.animal} at home. | my pet is a {+my.animal}, i love it.",
            ),
            (
                "which animal lives in your house? | is there an animal in your house?",
                "i have a {+my.animal}, and which animal do you have? | we have a {+my.animal}, and what is your pet?",
                "i have a {+my.animal}, it is my friend. | my pet is a {+my.animal}, it is very clever.",
            ),
            (
                "i have a new pet, it is a {+my.animal}. | my family has a pet now, a {+my.animal}.",
                "how nice, i always liked the idea of a {your.animal}. | a {your.animal} is a lovely pet to have.",
            ),
            (
                "what does your {your.animal} like to eat? | what do you give your {your.animal} to eat?",
                "my {my.animal} eats a lot of {+my.food}. | i give my {my.animal} {+my.food} every day.",
            ),
            (
                "where does your {your.animal} sleep at night? | where is your {your.animal} at night?",
                "at night my {my.animal} is in the {+my.home}. | my {my.animal} sleeps in the {+my.home}.",
            ),
            (
                "is your {your.animal} a quiet animal? | is your {your.animal} always so quiet?",
                "no, my {my.animal} {+my.sound} all day long. | no, my {my.animal} {+my.sound} every morning.",
            ),
            (
                "what is the name of your {your.animal}? | what do you call your {your.animal}?",
                "my {my.animal} is called {+my.petname}. | the name of my {my.animal} is {+my.petname}.",
            ),
            (
                "i bought some {+your.food} for your {your.animal}. | here is some {+your.food} for your {your.animal}.",
                "thank you, my {my.animal} loves {my.food}. | how kind, my {my.animal} always wants {my.food}.",
            ),
            (
                "who feeds your {your.animal} when you are away? | who looks after your {your.animal} with you?",
                "my {+my.kin} gives the {my.animal} its {my.food}. | my {+my.kin} cares for the {my.animal} then.",
            ),
            (
                "does your {your.kin} also like your {your.animal}? | is your {your.kin} good to your {your.animal}?",
                "yes, my {my.kin} plays with my {my.animal}. | yes, my {my.kin} takes {my.food} to the {my.animal}.",
            ),
            (
                "may i visit you and {your.petname} on {+our.day}? | do you and {your.petname} have time on {+our.day}?",
                "yes, {my.petname} will be happy on {our.day}. | yes, {my.petname} and i have time on {our.day}.",
            ),
            (
                "my {my.animal} ran out of the {+my.home} today. | today my {my.animal} was not in the {+my.home}.",
                "oh no, where did you find your {your.animal}? | oh dear, where was your {your.animal} then?",
                "my {my.animal} was with my {+my.kin}. | my {+my.kin} found the {my.animal} near the house.",
            ),
        ),
        closings=(
            (
                "i must feed my {my.animal} now, bye {your.name}. | my {my.animal} needs its {my.food}, bye {your.name}.",
                "goodbye {your.name}, say hello to your {your.animal}. | bye {your.name}, be good to your {your.animal}.",
            ),
            (
                "say hello to your {your.animal}, {your.name}. | goodbye {your.name}, be good to your {your.animal}.",
                "i will, my {my.animal} likes you, {your.name}. | thank you {your.name}, my {my.animal} will be happy.",
            ),
        ),
    ),
    "food": Topic(
        kinds=("dish", "country", "ingredient", "drink"),
        rows=_rows(
            """
            pizza italy cheese wine
            sushi japan salmon tea
            curry india lentils lassi
            paella spain shrimp sangria
            goulash hungary beef beer
            quiche france eggs cider
            falafel egypt beans coffee
            chili mexico peppers lemonade
            borscht russia beets vodka
            """
        ),
        blocks=(
            (
                "what is your favourite food? | which food do you like best?",
                "i like {+my.dish} best of all. | my favourite food is {+my.dish}.",
            ),
            (
                "what do you eat for dinner tonight? | what food do you have for dinner?",
                "i have {+my.dish} for dinner, what do you eat? | i will eat {+my.dish}, and what will you have?",
                "i have a big plate of {+my.dish}. | i will eat {+my.dish} with my family.",
            ),
            (
                "i want to cook {+my.dish} for dinner. | tonight i will cook a lot of {+my.dish}.",
                "good choice, {your.dish} is very tasty. | that sounds good, {your.dish} smells so nice.",
            ),
            (
                "where does {your.dish} come from? | which country has the best {your.dish}?",
                "the best {my.dish} comes from {+my.country}. | {my.dish} is a dish from {+my.country}.",
            ),
            (
                "what do you need for your {your.dish}? | what do you put into your {your.dish}?",
                "i need {+my.ingredient} for my {my.dish}. | i always put {+my.ingredient} into the {my.dish}.",
            ),
            (
                "what do you drink with your {your.dish}? | which drink goes well with {your.dish}?",
                "i drink {+my.drink} with my {my.dish}. | a glass of {+my.drink} goes well with {my.dish}.",
            ),
            (
                "may i bring some {+your.drink} for the {your.dish}? | shall we have {+your.drink} with the {your.dish}?",
                "yes please, i like {my.drink} with {my.dish}. | good idea, {my.drink} goes well with {my.dish}.",
            ),
            (
                "shall i buy {+your.ingredient} for your {your.dish}? | do you want {+your.ingredient} in your {your.dish}?",
                "yes please, i need {my.ingredient} for {my.dish}. | yes, there is no {my.dish} without {my.ingredient}.",
            ),
            (
                "who taught you to cook {your.dish}? | who cooks {your.dish} in your family?",
                "my {+my.kin} showed me how to cook {my.dish}. | my {+my.kin} cooks {my.dish} for all of us.",
            ),
            (
                "does your {your.kin} like your {your.dish}? | does your {your.kin} eat {your.dish} often?",
                "yes, my {my.kin} eats {my.dish} every week. | yes, my {my.kin} loves {my.dish} with {my.ingredient}.",
            ),
            (
                "i ate my first {my.dish} in {+my.country}. | people in {+my.country} love {my.dish}.",
                "yes, {your.country} is famous for its {your.dish}. | nobody cooks {your.dish} like people in {your.country}.",
            ),
            (
                "shall we eat {my.dish} together on {+our.day}? | will you come for {my.dish} on {+our.day}?",
                "yes, i would like some {your.dish} on {our.day}. | gladly, on {our.day} i have time for {your.dish}.",
            ),
        ),
        closings=(
            (
                "my {my.dish} is ready now, bye {your.name}. | i must cook my {my.dish} now, bye {your.name}.",
                "enjoy your {your.dish}, goodbye {your.name}. | goodbye {your.name}, i can smell the {your.dish}.",
            ),
            (
                "enjoy your {your.dish}, i must go, {your.name}. | goodbye {your.name}, enjoy your {your.dish}.",
                "thank you, {your.name}, i will eat my {my.dish} now. | bye {your.name}, my {my.dish} will be tasty.",
            ),
        ),
    ),
    "travel": Topic(
        kinds=("city", "country", "river", "sight"),
        rows=_rows(
            """
            paris france seine louvre
            london england thames abbey
            rome italy tiber colosseum
            vienna austria danube opera
            cairo egypt nile pyramids
            berlin germany spree wall
            lisbon portugal tagus trams
            prague bohemia moldau castle
            delhi india yamuna temples
            """
        ),
        blocks=(
            (
                "where do you want to travel this year? | which city do you want to visit?",
                "i want to travel to {+my.city}. | this year i want to visit {+my.city}.",
            ),
            (
                "where do you go on holiday? | which city will you see on holiday?",
                "i will go to {+my.city}, and where do you go? | i travel to {+my.city}, and what is your plan?",
                "i will travel to {+my.city} for a week. | i will go to {+my.city} on holiday.",
            ),
            (
                "i have a ticket for a trip to {+my.city}. | next month i will travel to {+my.city}.",
                "how nice, {your.city} is a beautiful city. | a trip to {your.city} is a good idea.",
            ),
            (
                "what can you see in {your.city}? | what is there to visit in {your.city}?",
                "i want to see the {+my.sight} in {my.city}. | in {my.city} i will visit the {+my.sight}.",
            ),
            (
                "which river flows through {your.city}? | is there a river in {your.city}?",
                "the {+my.river} flows through {my.city}. | {my.city} has a river called {+my.river}.",
            ),
            (
                "how will you get to {your.city}? | how do you travel to {your.city}?",
                "i take the {+my.vehicle} to {my.city}. | the {+my.vehicle} brings me to {my.city}.",
            ),
            (
                "is the {your.vehicle} to {your.city} expensive? | do you have a ticket for the {your.vehicle}?",
                "no, but the {my.vehicle} to {my.city} is cheap. | no, i buy it in the {my.vehicle} to {my.city}.",
            ),
            (
                "is it your first trip to {+your.country}? | were you ever in {+your.country} before?",
                "i know {my.country}, but i never saw {my.city}. | i was in {my.country}, but not in {my.city}.",
            ),
            (
                "do you travel to {your.city} alone? | will you be alone in {your.city}?",
                "no, my {+my.kin} comes to {my.city} with me. | no, i travel to {my.city} with my {+my.kin}.",
            ),
            (
                "does your {your.kin} want to see the {your.sight}? | will your {your.kin} visit the {your.sight}?",
                "yes, my {my.kin} wants to see the {my.sight}. | yes, my {my.kin} likes the {my.sight} in {my.city}.",
            ),
            (
                "i have a picture of the {+my.sight} here. | look, i have a picture of the {+my.sight}.",
                "beautiful, is that the {your.sight} in {your.city}? | how pretty, is the {your.sight} near the {your.river}?",
                "yes, you find the {my.sight} in {my.city}. | yes, it is in {my.city} in {my.country}.",
            ),
            (
                "will you look at pictures of {my.city} on {+our.day}? | shall we plan my trip to {my.city} on {+our.day}?",
                "yes, on {our.day} i have time for {your.city}. | gladly, let us talk about {your.city} on {our.day}.",
            ),
        ),
        closings=(
            (
                "i must pack my bags for {my.city}, {your.name}. | bye {your.name}, i have to pack for {my.city}.",
                "have a good trip to {your.city}, {your.name}. | bye {your.name}, have a good time in {your.country}.",
            ),
            (
                "have a good trip to {your.city}, {your.name}. | goodbye {your.name}, enjoy your days in {your.city}.",
                "bye {your.name}, i will write from {my.city}. | thank you, {your.name}, i look forward to {my.city}.",
            ),
        ),
    ),
    "sport": Topic(
        kinds=("sport", "place", "gear", "injury"),
        rows=_rows(
            """
            tennis court racket elbow
            football field ball knee
            hockey rink stick tooth
            swimming pool goggles shoulder
            skiing slope poles ankle
            boxing gym gloves nose
            cycling track helmet leg
            climbing cliff rope finger
            archery range bow thumb
            """
        ),
        blocks=(
            (
                "which sport do you do? | do you do any sport?",
                "i do {+my.sport} twice a week. | my favourite sport is {+my.sport}.",
            ),
            (
                "which sport do you like best? | what is the best sport for you?",
                "i like {+my.sport} best, and which sport do you like? | for me it is {+my.sport}, and for you?",
                "i like {+my.sport} more than any sport. | my favourite sport is {+my.sport}.",
            ),
            (
                "i started with {+my.sport} last year. | i learn a new sport, it is {+my.sport}.",
                "well done, {your.sport} is a healthy sport. | that is great, {your.sport} keeps you strong.",
            ),
            (
                "where do you go for {your.sport}? | where do you train for {your.sport}?",
                "i train at the {+my.place} near my house. | for {my.sport} we go to the {+my.place}.",
            ),
            (
                "what do you need for {your.sport}? | what do you bring to {your.sport}?",
                "for {my.sport} i need my {+my.gear}. | i always bring my {+my.gear} to {my.sport}.",
            ),
            (
                "why were you not at {your.sport} yesterday? | did you get hurt at {your.sport}?",
                "yesterday i hurt my {+my.injury} at {my.sport}. | my {+my.injury} hurts because of {my.sport}.",
            ),
            (
                "does your {your.injury} still hurt after {your.sport}? | is your {your.injury} better now?",
                "my {my.injury} is well again, thank you. | thanks, my {my.injury} is ready for {my.sport}.",
            ),
            (
                "can you lend me your {+your.gear} for {your.sport}? | may i use your {+your.gear} for {your.sport}?",
                "sure, take my {my.gear} to the {my.place}. | yes, my {my.gear} is at the {my.place}.",
            ),
            (
                "i lost my {+my.gear} at the {my.place}. | i cannot find my {+my.gear} for {my.sport}.",
                "too bad, you need your {your.gear} for {your.sport}. | maybe your {your.gear} is still at the {your.place}.",
            ),
            (
                "do you do {your.sport} alone? | do you go to the {your.place} alone?",
                "no, i do {my.sport} with my {+my.kin}. | no, my {+my.kin} comes with me to {my.sport}.",
            ),
            (
                "is your {your.kin} good at {your.sport}? | does your {your.kin} like {your.sport}?",
                "yes, my {my.kin} is very good at {my.sport}. | yes, my {my.kin} is always at the {my.place}.",
            ),
            (
                "shall we meet at the {my.place} on {+our.day}? | will you come to {my.sport} on {+our.day}?",
                "yes, i will be at the {your.place} on {our.day}. | gladly, i have time for {your.sport} on {our.day}.",
            ),
        ),
        closings=(
            (
                "i must go to the {my.place} now, bye {your.name}. | my {my.sport} starts soon, goodbye {your.name}.",
                "goodbye {your.name}, take your {your.gear} with you. | bye {your.name}, have fun at the {your.place}.",
            ),
            (
                "have fun with your {your.sport}, goodbye {your.name}. | bye {your.name}, have fun at the {your.place}.",
                "thank you, {your.name}, i always like my {my.sport}. | bye {your.name}, i will get my {my.gear} now.",
            ),
        ),
    ),
    "music": Topic(
        kinds=("instrument", "family", "style"),
        rows=_rows(
            """
            violin strings classical
            guitar strings rock
            banjo strings country
            trumpet brass jazz
            tuba brass polka
            saxophone woodwinds blues
            flute woodwinds folk
            piano keyboards ragtime
            accordion keyboards tango
            """
        ),
        blocks=(
            (
                "do you play an instrument? | which instrument do you play?",
                "i play the {+my.instrument} in a band. | i play the {+my.instrument} every evening.",
            ),
            (
                "which instrument can you play? | what do you play in the band?",
                "i play the {+my.instrument}, and what do you play? | the {+my.instrument}, and which instrument is yours?",
                "i play the {+my.instrument} with some friends. | my instrument is the {+my.instrument}.",
            ),
            (
                "i bought a fine {+my.instrument} last week. | look, this is my new {+my.instrument}.",
                "lovely, the {your.instrument} has a warm sound. | how nice, i like the sound of a {your.instrument}.",
            ),
            (
                "what kind of instrument is the {your.instrument}? | where does your {your.instrument} sit in the band?",
                "the {my.instrument} belongs to the {+my.family}. | my {my.instrument} is one of the {+my.family}.",
            ),
            (
                "what music do you play on the {your.instrument}? | which style suits your {your.instrument}?",
                "i play {+my.style} on my {my.instrument}. | {+my.style} sounds best on the {my.instrument}.",
            ),
            (
                "who teaches you to play the {your.instrument}? | who is your teacher for the {your.instrument}?",
                "{+my.surname} teaches me to play the {my.instrument}. | my teacher for the {my.instrument} is {+my.surname}.",
            ),
            (
                "is {your.surname} a good music teacher? | do you like to play for {your.surname}?",
                "yes, {my.surname} knows every {my.style} song. | yes, i learned much {my.style} from {my.surname}.",
            ),
            (
                "does your family like to hear {+your.style}? | who in your family likes {+your.style}?",
                "my {+my.kin} listens to {my.style} all day. | my {+my.kin} loves {my.style} like me.",
            ),
            (
                "can your {your.kin} play the {your.instrument}? | does your {your.kin} play the {your.instrument} too?",
                "no, my {my.kin} only likes to hear my {my.instrument}. | no, my {my.kin} cannot play the {my.instrument}.",
            ),
            (
                "there is a {your.style} concert on {+our.day}. | shall we hear some {your.style} on {+our.day}?",
                "wonderful, let us hear {my.style} on {our.day}. | gladly, i have time for {my.style} on {our.day}.",
            ),
            (
                "will you play some {+your.style} for me? | may i hear {+your.style} on your {your.instrument}?",
                "gladly, my {my.instrument} is made for {my.style}. | yes, i play {my.style} on my {my.instrument} for you.",
            ),
            (
                "i play my {my.instrument} for my {+my.kin} today. | my {+my.kin} wants to hear my {my.instrument}.",
                "your {your.kin} will love your {your.style}. | i hope your {your.kin} likes the {your.instrument}.",
            ),
        ),
        closings=(
            (
                "i must play my {my.instrument} now, bye {your.name}. | goodbye {your.name}, my {my.instrument} is waiting.",
                "bye {your.name}, play some {your.style} for me. | goodbye {your.name}, enjoy your {your.instrument}.",
            ),
            (
                "bye {your.name}, play your {your.instrument} for me. | goodbye {your.name}, enjoy your {your.style}.",
                "i will, my {my.instrument} is ready, {your.name}. | thanks, {your.name}, i will play {my.style} now.",
            ),
        ),
    ),
    "work": Topic(
        kinds=("job", "workplace", "tool"),
        rows=_rows(
            """
            doctor hospital thermometer
            pilot airport radio
            baker bakery mixer
            barber salon razor
            farmer farm tractor
            painter studio brush
            judge courthouse hammer
            carpenter workshop saw
            waiter restaurant tray
            """
        ),
        blocks=(
            (
                "what is your job? | what work do you do?",
                "i work as a {+my.job} in town. | i am a {+my.job} and like my job.",
            ),
            (
                "what do you work, my friend? | tell me, what is your work?",
                "i am a {+my.job}, and what is your job? | i work as a {+my.job}, what do you do?",
                "i am a {+my.job}, it is a good job. | i work as a {+my.job} every day.",
            ),
            (
                "i found a new job as a {+my.job}. | from now on i work as a {+my.job}.",
                "well done, {your.job} is a very good job. | that is great, we always need a {your.job}.",
            ),
            (
                "where do you work as a {your.job}? | where can i find a {your.job} like you?",
                "i work at the {+my.workplace} near my house. | you find me at the {+my.workplace} all day.",
            ),
            (
                "what do you use for your work? | which tool does a {your.job} need?",
                "a {my.job} always needs a {+my.tool}. | for my work i use a {+my.tool}.",
            ),
            (
                "when do you start at the {your.workplace}? | when does the work of a {your.job} begin?",
                "i start at {+my.hour} in the morning. | my work begins at {+my.hour} every day.",
            ),
            (
                "is {your.hour} not too early for you? | why do you start work at {your.hour}?",
                "a {my.job} has to be ready at {my.hour}. | the {my.workplace} is open from {my.hour} on.",
            ),
            (
                "who is your boss at the {your.workplace}? | what is the name of your boss?",
                "my boss at the {my.workplace} is {+my.surname}. | {+my.surname} is the boss of the {my.workplace}.",
            ),
            (
                "is {your.surname} a kind boss? | do you like to work for {your.surname}?",
                "yes, {my.surname} is good to every {my.job}. | yes, {my.surname} gave me a new {my.tool}.",
            ),
            (
                "i cannot find my {+my.tool} for work. | today i lost my {+my.tool} at work.",
                "maybe your {your.tool} is still at the {your.workplace}. | too bad, a {your.job} needs a {your.tool}.",
            ),
            (
                "is there another {your.job} in your family? | does anyone help you at the {your.workplace}?",
                "yes, my {+my.kin} is also a {my.job}. | yes, my {+my.kin} helps me at the {my.workplace}.",
            ),
            (
                "does your {your.kin} like the {your.workplace}? | can your {your.kin} use the {your.tool}?",
                "yes, my {my.kin} loves work at the {my.workplace}. | yes, my {my.kin} is good with the {my.tool}.",
            ),
            (
                "will you visit me at the {my.workplace} on {+our.day}? | shall we meet at the {my.workplace} on {+our.day}?",
                "yes, i will come to the {your.workplace} on {our.day}. | gladly, on {our.day} i can visit the {your.workplace}.",
            ),
        ),
        closings=(
            (
                "i must go to the {my.workplace} now, bye {your.name}. | my work starts soon, goodbye {your.name}.",
                "bye {your.name}, have a good day at the {your.workplace}. | goodbye {your.name}, do not forget your {your.tool}.",
            ),
            (
                "goodbye {your.name}, greet the people at the {your.workplace}. | bye {your.name}, you are a good {your.job}.",
                "thank you, {your.name}, i like to be a {my.job}. | bye {your.name}, i must find my {my.tool} now.",
            ),
        ),
    ),
    "weather": Topic(
        kinds=("weather", "month", "wear", "pastime"),
        rows=_rows(
            """
            snow january mittens sledging
            rain april umbrella knitting
            sunshine june sunglasses sunbathing
            wind march scarf kites
            fog november torch chess
            frost december boots skating
            heat august hat diving
            hail may hood baking
            """
        ),
        blocks=(
            (
                "how is the weather in {+your.town}? | what is the weather like in {+your.town}?",
                "today we have {+my.weather} in {my.town}. | there is a lot of {+my.weather} in {my.town}.",
            ),
            (
                "how is the weather at your place? | what is the weather like today?",
                "we have {+my.weather} here, and what do you have? | here is only {+my.weather}, how is your weather?",
                "we have {+my.weather} here all day. | here we see nothing but {+my.weather}.",
            ),
            (
                "there is a lot of {+my.weather} today. | the weather is strange, we have {+my.weather}.",
                "oh, do you often have {your.weather} in {+your.town}? | really, is there {your.weather} in {+your.town}?",
                "yes, {my.town} is known for its {my.weather}. | yes, {my.weather} is the weather of {my.town}.",
            ),
            (
                "do you always have {your.weather} in {+your.month}? | is {your.weather} normal in {+your.month}?",
                "yes, {my.month} brings a lot of {my.weather}. | yes, {my.weather} is normal for {my.month}.",
            ),
            (
                "what do you take out into the {your.weather}? | what do you need in the {your.weather}?",
                "in the {my.weather} i need my {+my.wear}. | i take my {+my.wear} out into the {my.weather}.",
            ),
            (
                "what do you like to do in the {your.weather}? | which fun suits this {your.weather}?",
                "in the {my.weather} i like {+my.pastime} best. | {+my.pastime} is the best fun in the {my.weather}.",
            ),
            (
                "do not forget your {+your.wear} in the {your.weather}. | take your {+your.wear} out into the {your.weather}.",
                "thank you, i always have my {my.wear} with me. | yes, in the {my.weather} i need my {my.wear}.",
            ),
            (
                "is anyone out in the {your.weather} with you? | who likes the {your.weather} in your family?",
                "yes, my {+my.kin} likes the {my.weather} too. | my {+my.kin} goes out in the {my.weather}.",
            ),
            (
                "does your {your.kin} like {+your.pastime} too? | is your {your.kin} good at {+your.pastime}?",
                "yes, my {my.kin} loves {my.pastime} in the {my.weather}. | yes, {my.pastime} is fun for my {my.kin}.",
            ),
            (
                "did your {your.kin} take the {your.wear}? | does your {your.kin} have your {your.wear}?",
                "yes, my {my.kin} has the {my.wear} now. | yes, my {my.kin} needs the {my.wear} today.",
            ),
            (
                "may i visit you in {your.town} on {+our.day}? | shall we meet in {your.town} on {+our.day}?",
                "yes, come to {my.town} on {our.day}. | gladly, on {our.day} i am in {my.town}.",
            ),
            (
                "i am tired of the {my.weather} in {+my.month}. | every {+my.month} we have the same {my.weather}.",
                "yes, {your.weather} is all you get in {your.month}. | i know, {your.month} is full of {your.weather}.",
            ),
        ),
        closings=(
            (
                "i must go out into the {my.weather}, bye {your.name}. | goodbye {your.name}, i go out in the {my.weather}.",
                "bye {your.name}, take your {your.wear} with you. | goodbye {your.name}, have fun in the {your.weather}.",
            ),
            (
                "bye {your.name}, i hope your {your.weather} ends soon. | goodbye {your.name}, take your {your.wear} with you.",
                "thank you, {your.name}, i do not fear the {my.weather}. | bye {your.name}, i get my {my.wear} now.",
            ),
        ),
    ),
    "books": Topic(
        kinds=("genre", "hero", "setting", "object"),
        rows=_rows(
            """
            mystery detective mansion clue
            western cowboy desert saddle
            fantasy wizard tower spell
            thriller spy casino code
            romance princess palace letter
            horror ghost cellar key
            comedy clown circus trumpet
            saga viking fjord sword
            fable fox forest grapes
            """
        ),
        blocks=(
            (
                "which book do you read now? | what kind of book do you read?",
                "i just started to read a {+my.genre}. | this week i read a {+my.genre}.",
            ),
            (
                "what kind of book do you like? | which kind of story do you like?",
                "i like a good {+my.genre}, and what do you read? | i read a {+my.genre}, and what do you like?",
                "i like to read a {+my.genre}. | i just read a {+my.genre}, it is good.",
            ),
            (
                "i got a new book, it is a {+my.genre}. | i found an old {+my.genre} on the shelf.",
                "how nice, a good {your.genre} makes me happy. | a {your.genre} is just right for the evening.",
            ),
            (
                "who is the hero of your {your.genre}? | who is your {your.genre} about?",
                "the hero of the {my.genre} is a {+my.hero}. | it is a story about a {+my.hero}.",
            ),
            (
                "is there a strange place in your {your.genre}? | which place do you find in the {your.genre}?",
                "the {my.genre} tells of a strange {+my.setting}. | there is a {+my.setting} in the story.",
            ),
            (
                "what does the {your.hero} look for? | what does the {your.hero} want in the story?",
                "the {my.hero} looks for the {+my.object}. | the {my.hero} wants to find the {+my.object}.",
            ),
            (
                "does the {your.hero} find the {+your.object}? | who gets the {+your.object} in the {your.genre}?",
                "the {my.hero} gets the {my.object} in the end. | in the end the {my.hero} has the {my.object}.",
            ),
            (
                "who wrote your {your.genre}? | what is the name of the writer?",
                "it is a {my.genre} by {+my.surname}. | {+my.surname} wrote this story about a {my.hero}.",
            ),
            (
                "do you like all books by {your.surname}? | does {your.surname} write good books?",
                "yes, {my.surname} writes a {my.genre} every year. | yes, i love every {my.genre} by {my.surname}.",
            ),
            (
                "who gave you the {your.genre}? | who told you about this {your.genre}?",
                "my {+my.kin} gave me the {my.genre}. | i got the {my.genre} from my {+my.kin}.",
            ),
            (
                "did your {your.kin} like the {your.genre}? | does your {your.kin} also like the {your.hero}?",
                "yes, my {my.kin} likes the {my.hero} very much. | yes, my {my.kin} talks about the {my.setting} often.",
            ),
            (
                "may i have your {your.genre} on {+our.day}? | can you bring me the {your.genre} on {+our.day}?",
                "yes, i will bring you the {my.genre} on {our.day}. | yes, on {our.day} you can have my {my.genre}.",
            ),
        ),
        closings=(
            (
                "i want to read my {my.genre} now, bye {your.name}. | goodbye {your.name}, my {my.genre} is waiting.",
                "bye {your.name}, enjoy the story of the {your.hero}. | goodbye {your.name}, have fun with your {your.genre}.",
            ),
            (
                "bye {your.name}, enjoy the story of the {your.hero}. | goodbye {your.name}, have fun with your {your.genre}.",
                "thank you, {your.name}, the {my.hero} is waiting. | bye {your.name}, i will read my {my.genre} now.",
            ),
        ),
    ),
    "garden": Topic(
        kinds=("plant", "colour", "season", "pest"),
        rows=_rows(
            """
            roses pink summer aphids
            tulips red spring mice
            pumpkins orange autumn slugs
            cabbages green winter caterpillars
            sunflowers yellow summer squirrels
            violets purple spring snails
            lilies white summer beetles
            plums blue autumn wasps
            """
        ),
        blocks=(
            (
                "what do you grow in your garden? | which plants are in your garden?",
                "i grow {+my.plant} in my garden. | my garden is full of {+my.plant}.",
            ),
            (
                "what did you plant this year? | what is new in your garden?",
                "i planted {+my.plant}, and what did you plant? | i have {+my.plant} now, what is in your garden?",
                "i planted {+my.plant} behind the house. | in my garden you see many {+my.plant}.",
            ),
            (
                "the {+my.plant} in my garden look pretty. | this year i have many {+my.plant}.",
                "how nice, {your.plant} are good for a garden. | i would like {your.plant} in my garden too.",
            ),
            (
                "which colour do your {your.plant} have? | are your {your.plant} white or red?",
                "my {my.plant} have a fine {+my.colour} colour. | the {my.plant} in my garden are {+my.colour}.",
            ),
            (
                "when are your {your.plant} at their best? | when can i see your {your.plant}?",
                "my {my.plant} are at their best in {+my.season}. | come in {+my.season} to see my {my.plant}.",
            ),
            (
                "what is wrong with your {your.plant}? | do you have trouble with your {your.plant}?",
                "the {+my.pest} like to eat my {my.plant}. | there are {+my.pest} on my {my.plant}.",
            ),
            (
                "what do you do against the {your.pest}? | can you stop the {your.pest} in your garden?",
                "i keep the {my.pest} away from the {my.plant}. | i chase the {my.pest} out of my garden.",
            ),
            (
                "who waters your {your.plant} in {+your.season}? | who helps you with the {your.plant} in {+your.season}?",
                "in {my.season} my {+my.kin} waters the {my.plant}. | my {+my.kin} comes to my garden in {my.season}.",
            ),
            (
                "does your {your.kin} like your {your.plant}? | what does your {your.kin} say about the {your.plant}?",
                "my {my.kin} likes {my.colour} {my.plant} very much. | my {my.kin} loves the {my.plant} in my garden.",
            ),
            (
                "may i see your {your.plant} on {+our.day}? | can i have some {your.plant} on {+our.day}?",
                "yes, come to my garden on {our.day}. | yes, on {our.day} i give you some {my.plant}.",
            ),
            (
                "i found {+my.pest} in my garden today. | the {+my.pest} came back to my {my.plant}.",
                "oh no, {your.pest} are bad for your {your.plant}. | oh dear, your {your.plant} were so {your.colour}.",
            ),
        ),
        closings=(
            (
                "i must water my {my.plant} now, bye {your.name}. | goodbye {your.name}, my {my.plant} need water.",
                "bye {your.name}, good luck with your {your.plant}. | goodbye {your.name}, enjoy your {your.colour} {your.plant}.",
            ),
            (
                "bye {your.name}, good luck with your {your.plant}. | goodbye {your.name}, enjoy your {your.colour} {your.plant}.",
                "thank you, {your.name}, i will water my {my.plant}. | bye {your.name}, my {my.plant} need me now.",
            ),
        ),
    ),
    "school": Topic(
        kinds=("subject", "content", "aid"),
        rows=_rows(
            """
            maths numbers calculator
            geography mountains globe
            biology cells microscope
            astronomy stars telescope
            art portraits pencil
            chemistry acids burner
            latin verbs dictionary
            history kings map
            physics forces magnet
            """
        ),
        blocks=(
            (
                "what is your favourite subject at school? | which subject do you like at school?",
                "at school i like {+my.subject} best. | my favourite subject is {+my.subject}.",
            ),
            (
                "which lesson do you have today? | what do you learn at school today?",
                "i have {+my.subject} today, and which lesson do you have? | today it is {+my.subject}, and what do you learn?",
                "i have a lesson in {+my.subject} today. | today we have {+my.subject} at school.",
            ),
            (
                "i have a test in {+my.subject} this week. | this week there is a test in {+my.subject}.",
                "good luck, {your.subject} is not easy. | do not worry, {your.subject} is easy for you.",
            ),
            (
                "what do you learn in {your.subject}? | what is your {your.subject} lesson about?",
                "in {my.subject} we learn about {+my.content}. | the lesson is about {+my.content} this week.",
            ),
            (
                "what do you need for {your.subject}? | what do you use in the {your.subject} lesson?",
                "for {my.subject} i need a {+my.aid}. | in the {my.subject} lesson we use a {+my.aid}.",
            ),
            (
                "can you lend me your {+your.aid}? | may i use your {+your.aid} at school?",
                "no, i need my {my.aid} for {my.subject}. | yes, but i need it for {my.subject} later.",
            ),
            (
                "who teaches you {your.subject} at school? | who is your teacher in {your.subject}?",
                "my {my.subject} teacher is called {+my.surname}. | {+my.surname} teaches {my.subject} at my school.",
            ),
            (
                "is {your.surname} a good teacher? | do you learn a lot from {your.surname}?",
                "yes, {my.surname} knows all about {my.content}. | yes, {my.surname} makes {my.subject} easy for us.",
            ),
            (
                "who helps you with {your.subject} at home? | do you learn {your.subject} alone at home?",
                "my {+my.kin} helps me with {my.subject}. | at home my {+my.kin} explains the {my.content}.",
            ),
            (
                "is your {your.kin} good at {your.subject}? | does your {your.kin} understand {your.subject}?",
                "yes, my {my.kin} knows a lot about {my.content}. | yes, my {my.kin} was a teacher of {my.subject}.",
            ),
            (
                "shall we learn {your.subject} together on {+our.day}? | can we study {your.subject} on {+our.day}?",
                "yes, let us learn about {my.content} on {our.day}. | gladly, i have time for {my.subject} on {our.day}.",
            ),
            (
                "i do not understand the {+my.content} at all. | the {+my.content} in my lesson are not easy.",
                "do not worry, {your.subject} is never easy. | learn more {your.subject}, then you understand the {your.content}.",
            ),
        ),
        closings=(
            (
                "my {my.subject} lesson starts now, bye {your.name}. | i must learn for {my.subject}, goodbye {your.name}.",
                "bye {your.name}, learn a lot about {your.content}. | goodbye {your.name}, good luck with {your.subject}.",
            ),
            (
                "bye {your.name}, good luck with {your.subject}. | goodbye {your.name}, learn a lot about {your.content}.",
                "thank you, {your.name}, i like {my.subject}. | bye {your.name}, i must find my {my.aid} now.",
            ),
        ),
    ),
}
