"""The small world of the built-in dialogues: what is true in it, and the phrases in which two people talk about it.

A fact has a kind and a one-word value. A topic has a table of facts that belong together (an animal, its sound, its
food, its home): the first column is its key, from which the others follow. Every speaker has one row of the table. The
facts of `LISTS` follow from nothing and have to be said.

A block is a run of turns that belong together (question and answer, statement and reaction, offer and acceptance), said
by the two speakers in turn. It is written with one turn per line, a paraphrase of a turn on the next line after "|",
and an empty line between blocks. Any paraphrase of a turn goes with any of the next. Slots name facts as the speaker of
the turn sees them: `{my.food}`, `{your.food}`, `{our.day}`. A plus, as in `{+my.food}`, marks a fact that must be news
at this point; without it, the fact must be known or follow from a known key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Block: TypeAlias = tuple[tuple[str, ...], ...]  # per turn its paraphrases


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


def _blocks(text: str) -> tuple[Block, ...]:
    return tuple(_block(block) for block in text.strip().split("\n\n"))


def _block(text: str) -> Block:
    turns: list[list[str]] = []
    for line in text.splitlines():
        phrase = line.strip()
        if phrase.startswith("|"):
            turns[-1].append(phrase.removeprefix("|").strip())
        else:
            turns.append([phrase])
    return tuple(tuple(turn) for turn in turns)


LISTS: Mapping[str, tuple[str, ...]] = {
    "name": ("anna", "tom", "lisa", "paul", "emma", "jack", "nina", "peter"),
    "kin": ("mother", "father", "sister", "brother", "uncle", "cousin"),
    "day": ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    "time": ("morning", "afternoon", "evening"),
    "petname": ("milo", "bella", "max", "luna", "rocky"),
    "surname": ("miller", "carter", "jones", "smith", "wilson"),
    "vehicle": ("train", "plane", "bus", "ship"),
    "town": ("oslo", "bern", "york", "geneva", "boston"),
    "hour": ("five", "six", "seven", "eight"),
}

OPENINGS = _blocks(
    """
    hi {+your.name}, how are you today, my friend?
    | hello {+your.name}, tell me, how are you today?
    hi {+your.name}, i am very well today, thank you.
    | hello {+your.name}, i am fine, thank you very much.

    hello {+your.name}, do you have time to talk?
    | hi {+your.name}, do you have some time for me?
    hello {+your.name}, yes, i have time to talk.
    | hi {+your.name}, of course i have time for you.

    hi {+your.name}, shall we talk about {our.topic}?
    | hello {+your.name}, i would like to talk about {our.topic}.
    hi {+your.name}, i always like to talk about {our.topic}.
    | good idea, {+your.name}, let us talk about {our.topic}.

    good {+our.time}, {+your.name}, it is nice to see you.
    | good {+our.time}, {+your.name}, i am happy to see you.
    good {our.time}, {+your.name}, i am happy to see you too.
    | good {our.time}, {+your.name}, how nice to see you today.
    """
)

CLOSINGS = _blocks(
    """
    i have to go home now, goodbye {your.name}.
    | it is late and i must go, {your.name}.
    goodbye {your.name}, it was nice to talk about {our.topic}.
    | bye {your.name}, let us talk about {our.topic} again.

    then i will see you on {our.day}, {your.name}.
    | goodbye {your.name}, then we will meet on {our.day}.
    yes, i will see you on {our.day}, {your.name}.
    | goodbye {your.name}, i look forward to {our.day}.

    i must go now, have a good {our.time}, {your.name}.
    | have a nice {our.time}, {your.name}, i must go now.
    goodbye {your.name}, and have a good {our.time} too.
    | thank you {your.name}, have a nice {our.time} too.
    """
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
            frog croaks flies pond
            duck quacks bread lake
            """
        ),
        blocks=_blocks(
            """
            tell me, do you have a pet at home?
            | which pet do you have in your house?
            i have a {+my.animal}, it lives in my house.
            | my pet is a {+my.animal}, it is very clever.

            which animal lives with you in your house?
            | do you have an animal in your house?
            i have a {+my.animal}, and which animal do you have?
            | we have a {+my.animal}, and what is your pet?
            i have a {+my.animal}, it is my best friend.
            | my pet is a {+my.animal}, it is very old.

            i have a new pet, it is a {+my.animal}.
            | my family has a new pet, a {+my.animal}.
            how nice, a {your.animal} is a good friend.
            | well done, i like the idea of a {your.animal}.

            what does your {your.animal} like to eat?
            | what do you give your {your.animal} to eat?
            my {my.animal} likes to eat a lot of {+my.food}.
            | i give my {my.animal} some {+my.food} every day.

            where does your {your.animal} sleep at night?
            | where can i find your {your.animal} at night?
            at night my {my.animal} is in the {+my.home}.
            | my {my.animal} likes to sleep in the {+my.home}.

            is your {your.animal} always as quiet as now?
            | is your {your.animal} a very quiet animal?
            no, my {my.animal} {+my.sound} all day long.
            | no, every morning my {my.animal} {+my.sound} again and again.

            what is the name of your {your.animal}?
            | tell me, what do you call your {your.animal}?
            my {my.animal} has a nice name, it is {+my.petname}.
            | the name of my {my.animal} is {+my.petname}.

            i have some {+your.food} here for your {your.animal}.
            | may i give some {+your.food} to your {your.animal}?
            thank you, my {my.animal} likes {my.food} very much.
            | thank you, my {my.animal} always wants some {my.food}.

            who gives your {your.animal} its {+your.food}?
            | who helps you to find {+your.food} for your {your.animal}?
            my {+my.kin} gives the {my.animal} its {my.food}.
            | my {+my.kin} brings {my.food} for the {my.animal}.

            does your {your.kin} also like your {your.animal}?
            | is your {your.kin} good to your {your.animal}?
            yes, my {my.kin} is often with my {my.animal}.
            | yes, my {my.kin} brings {my.food} for the {my.animal}.

            may i visit you and {your.petname} on {+our.day}?
            | do you and {your.petname} have time on {+our.day}?
            yes, {my.petname} will be happy to see you on {our.day}.
            | yes, {my.petname} and i have time on {our.day}.

            today my {my.animal} was not in the {+my.home}.
            | this morning my {my.animal} was not in its {+my.home}.
            oh no, where did you find your {your.animal}?
            | oh dear, where was your {your.animal} this morning?
            my {my.animal} was in the house with my {+my.kin}.
            | my {+my.kin} found the {my.animal} near the house.
            """
        ),
        closings=_blocks(
            """
            i must go to my {my.animal} now, bye {your.name}.
            | my {my.animal} wants its {my.food} now, bye {your.name}.
            goodbye {your.name}, say hello to your {your.animal}.
            | bye {your.name}, be good to your {your.animal}.

            goodbye {your.name}, say hello to your {your.animal}.
            | bye {your.name}, be good to your {your.animal}.
            thank you {your.name}, my {my.animal} likes you too.
            | goodbye {your.name}, i will find {my.food} for my {my.animal}.
            """
        ),
    ),
    "food": Topic(
        kinds=("dish", "origin", "ingredient", "drink"),
        rows=_rows(
            """
            pizza italy cheese wine
            sushi japan salmon tea
            curry india lentils milk
            paella spain shrimp sangria
            goulash hungary beef beer
            quiche france eggs cider
            falafel egypt beans coffee
            chili mexico peppers lemonade
            """
        ),
        blocks=_blocks(
            """
            tell me, what is your favourite food?
            | which food do you like best of all?
            i like to eat {+my.dish} best of all.
            | my favourite food is a plate of {+my.dish}.

            what food do you have for dinner today?
            | what will you eat for dinner this evening?
            i will have {+my.dish}, and what will you eat?
            | for dinner i have {+my.dish}, what do you have?
            i have a big plate of {+my.dish} for dinner.
            | i will eat {+my.dish} with my family.

            i want to cook {+my.dish} for dinner this evening.
            | today i will cook a lot of {+my.dish}.
            that is a good idea, {your.dish} is very good.
            | that sounds good, i always like the smell of {your.dish}.

            tell me, where does {your.dish} come from?
            | which country has the best {your.dish} of all?
            i know that {my.dish} comes from {+my.origin}.
            | the best {my.dish} of all comes from {+my.origin}.

            what do you need to cook your {your.dish}?
            | what do you put into your {your.dish}?
            i need a lot of {+my.ingredient} for my {my.dish}.
            | i always put some {+my.ingredient} into my {my.dish}.

            what do you like to drink with your {your.dish}?
            | tell me, which drink goes well with {your.dish}?
            i like to drink {+my.drink} with my {my.dish}.
            | i think that {+my.drink} goes well with {my.dish}.

            may i bring some {+your.drink} for your {your.dish}?
            | shall we drink some {+your.drink} with the {your.dish}?
            yes, i always like {my.drink} with my {my.dish}.
            | good idea, {my.drink} goes very well with {my.dish}.

            shall i bring some {+your.ingredient} for your {your.dish}?
            | do you want some {+your.ingredient} in your {your.dish}?
            yes, i need a lot of {my.ingredient} for {my.dish}.
            | yes, there is no good {my.dish} without {my.ingredient}.

            who helps you to cook your {your.dish}?
            | with whom do you like to cook {your.dish}?
            my {+my.kin} helps me to cook the {my.dish}.
            | i always cook {my.dish} with my {+my.kin}.

            does your {your.kin} like to eat your {your.dish}?
            | does your {your.kin} eat {your.dish} every week?
            yes, my {my.kin} likes {my.dish} very much.
            | yes, my {my.kin} always wants {my.dish} with {my.ingredient}.

            people in {+my.origin} like to eat {my.dish}.
            | last year i had a good {my.dish} in {+my.origin}.
            yes, {your.dish} is the best dish in {your.origin}.
            | yes, the people in {your.origin} cook good {your.dish}.

            shall we eat my {my.dish} together on {+our.day}?
            | will you come for some {my.dish} on {+our.day}?
            yes, i would like to eat {your.dish} on {our.day}.
            | of course, on {our.day} i have time for {your.dish}.
            """
        ),
        closings=_blocks(
            """
            i must eat my {my.dish} now, bye {your.name}.
            | i have to cook my {my.dish} now, bye {your.name}.
            goodbye {your.name}, enjoy a big plate of {your.dish}.
            | bye {your.name}, enjoy the {your.dish} and the {your.drink}.

            goodbye {your.name}, enjoy a big plate of {your.dish}.
            | bye {your.name}, enjoy the {your.dish} and the {your.drink}.
            thank you {your.name}, i will cook my {my.dish} now.
            | goodbye {your.name}, i will enjoy my {my.dish} with {my.drink}.
            """
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
            cairo egypt nile sphinx
            berlin germany spree wall
            lisbon portugal tagus tower
            delhi india yamuna fort
            """
        ),
        blocks=_blocks(
            """
            tell me, where do you want to travel this year?
            | which city do you want to visit this year?
            this year i want to travel to {+my.city}.
            | i want to visit the city of {+my.city}.

            where will you travel this summer, my friend?
            | which city will you see this summer?
            i will travel to {+my.city}, and where will you go?
            | this summer i visit {+my.city}, and what is your plan?
            i will travel to {+my.city} for a week.
            | my plan is to visit {+my.city} this summer.

            i have a ticket for a trip to {+my.city}.
            | this month i will travel to {+my.city}.
            how nice, {your.city} is a very beautiful city.
            | a trip to {your.city} is a good idea.

            what do you want to see in {your.city}?
            | tell me, what is there to visit in {your.city}?
            i want to see the {+my.sight} in {my.city}.
            | in {my.city} i would like to visit the {+my.sight}.

            which river flows through the city of {your.city}?
            | is there a river in {your.city} too?
            the river in {my.city} is called {+my.river}.
            | the {+my.river} flows through the city of {my.city}.

            how do you want to travel to {your.city}?
            | tell me, how will you come to {your.city}?
            i will take the {+my.vehicle} to {my.city}.
            | i like to travel to {my.city} by {+my.vehicle}.

            do you have a ticket for the {your.vehicle} to {your.city}?
            | do you like to take the {your.vehicle} to {your.city}?
            yes, and i look forward to the {my.vehicle} to {my.city}.
            | yes, there is a good {my.vehicle} to {my.city}.

            do you think that {+your.country} is a beautiful country?
            | do people say that {+your.country} is beautiful?
            yes, {my.city} is the best city in {my.country}.
            | yes, and {my.country} is more than {my.city}, of course.

            do you want to travel to {your.city} alone?
            | will you be alone on your trip to {your.city}?
            no, i will visit {my.city} with my {+my.kin}.
            | no, my {+my.kin} will come to {my.city} too.

            does your {your.kin} want to see the {your.sight}?
            | will your {your.kin} visit the {your.sight} with you?
            yes, my {my.kin} wants to see the {my.sight} in {my.city}.
            | yes, my {my.kin} wants to see all of {my.city}.

            look, i have a picture of the {+my.sight} here.
            | this is a picture of the {+my.sight}, my friend.
            how beautiful, is that the {your.sight} in {your.city}?
            | how beautiful, is the {your.sight} near the {your.river}?
            yes, you find the {my.sight} in {my.city}.
            | yes, it is in {my.city} near the {my.river}.

            shall we plan my trip to {my.city} on {+our.day}?
            | can you help me with my trip to {my.city} on {+our.day}?
            yes, on {our.day} i have time for {your.city}.
            | of course, let us talk about {your.city} on {our.day}.
            """
        ),
        closings=_blocks(
            """
            i must find my ticket to {my.city} now, bye {your.name}.
            | goodbye {your.name}, now i will plan my trip to {my.city}.
            goodbye {your.name}, have a good trip to {your.city}.
            | bye {your.name}, have a nice time in {your.country}.

            goodbye {your.name}, have a good trip to {your.city}.
            | bye {your.name}, have a nice time in {your.country}.
            thank you {your.name}, i look forward to {my.city}.
            | bye {your.name}, i will bring you something from {my.city}.
            """
        ),
    ),
    "sport": Topic(
        kinds=("sport", "place", "gear", "injury"),
        rows=_rows(
            """
            tennis court racket elbow
            football field ball knee
            hockey rink stick tooth
            swimming pool towel shoulder
            boxing gym belt nose
            cycling track helmet leg
            climbing cliff rope finger
            archery range bow thumb
            """
        ),
        blocks=_blocks(
            """
            tell me, what is your favourite sport?
            | which sport do you like best of all?
            i like {+my.sport} best of all.
            | my favourite sport is {+my.sport}, it keeps me well.

            which sport do you like, my friend?
            | do you have a favourite sport, my friend?
            i like {+my.sport}, and which sport do you like?
            | my sport is {+my.sport}, and what do you like?
            i like {+my.sport} more than any other sport.
            | for me the best sport of all is {+my.sport}.

            this year i started with {+my.sport}.
            | i learn a new sport now, it is {+my.sport}.
            well done, {your.sport} is a very good sport.
            | that is a good idea, {your.sport} keeps you well.

            where do you go for your {your.sport}?
            | tell me, where can one learn {your.sport}?
            i go to the {+my.place} near my house for {my.sport}.
            | there is a {+my.place} for {my.sport} near my house.

            what do you need for your {your.sport}?
            | what do you take with you for {your.sport}?
            i always need a good {+my.gear} for {my.sport}.
            | for {my.sport} i take my {+my.gear} with me.

            why were you not at {your.sport} this week?
            | tell me, what happened to you at {your.sport}?
            this week i hurt my {+my.injury} at {my.sport}.
            | i hurt my {+my.injury} when i was at {my.sport}.
            oh dear, i hope your {your.injury} is well again.
            | oh no, be good to your {your.injury} at {your.sport}.

            may i use your {+your.gear} for {your.sport}?
            | can you give me your {+your.gear} for {your.sport}?
            yes, you find my {my.gear} at the {my.place}.
            | of course, my {my.gear} is still at the {my.place}.

            today i lost my {+my.gear} at the {my.place}.
            | i cannot find my {+my.gear} for {my.sport} today.
            oh dear, you need a {your.gear} for {your.sport}.
            | oh no, i hope your {your.gear} is still at the {your.place}.

            do you always go to {your.sport} alone?
            | are you alone when you go to {your.sport}?
            no, i go to {my.sport} with my {+my.kin}.
            | no, my {+my.kin} is at the {my.place} with me.

            is your {your.kin} as good at {your.sport} as you?
            | does your {your.kin} like {your.sport} very much?
            yes, my {my.kin} is very good at {my.sport}.
            | yes, my {my.kin} is always at the {my.place}.

            shall we meet at the {my.place} on {+our.day}?
            | will you come to {my.sport} with me on {+our.day}?
            yes, i will come to the {your.place} on {our.day}.
            | of course, on {our.day} i have time for {your.sport}.
            """
        ),
        closings=_blocks(
            """
            i must go to the {my.place} now, bye {your.name}.
            | goodbye {your.name}, now i have to go to {my.sport}.
            goodbye {your.name}, do not forget your {your.gear}.
            | bye {your.name}, have a good time at the {your.place}.

            goodbye {your.name}, do not forget your {your.gear}.
            | bye {your.name}, have a good time at the {your.place}.
            thank you {your.name}, i look forward to {my.sport}.
            | bye {your.name}, i will take my {my.gear} with me.
            """
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
            synthesizer keyboards techno
            """
        ),
        blocks=_blocks(
            """
            tell me, do you play any instrument?
            | which instrument do you play in the band?
            i play the {+my.instrument} in a big band.
            | i can play the {+my.instrument} very well.

            which instrument do you play, my friend?
            | what is your favourite instrument, my friend?
            i play the {+my.instrument}, and which instrument do you play?
            | it is the {+my.instrument}, and what do you play?
            i play the {+my.instrument} in a big band.
            | i play the {+my.instrument} with my best friend.

            look, this is my new {+my.instrument} for the band.
            | this week i found an old {+my.instrument}.
            how beautiful, i like to hear the {your.instrument}.
            | how nice, the {your.instrument} is a good instrument.

            what kind of instrument is the {your.instrument}?
            | which family does the {your.instrument} belong to?
            the {my.instrument} belongs to the family of {+my.family}.
            | like all {+my.family}, the {my.instrument} sounds very beautiful.

            what kind of music do you play on the {your.instrument}?
            | tell me, which music is best for the {your.instrument}?
            on my {my.instrument} i like to play {+my.style}.
            | i think that {+my.style} sounds best on the {my.instrument}.

            who is your teacher for the {your.instrument}?
            | with whom do you learn to play the {your.instrument}?
            my teacher for the {my.instrument} is called {+my.surname}.
            | i learn to play the {my.instrument} with {+my.surname}.

            is {your.surname} a good teacher for the {your.instrument}?
            | do you like to play the {your.instrument} for {your.surname}?
            yes, {my.surname} knows all about {my.style} music.
            | yes, {my.surname} can play {my.style} music very well.

            is there anyone in your family who likes {+your.style}?
            | does your family like to hear your {+your.style} music?
            yes, my {+my.kin} likes {my.style} music very much.
            | yes, my {+my.kin} wants to hear {my.style} all day.

            can your {your.kin} play the {your.instrument} too?
            | does your {your.kin} also play the {your.instrument}?
            no, my {my.kin} only likes to hear my {my.instrument}.
            | no, my {my.kin} wants to hear me play {my.style}.

            shall we hear some {your.style} together on {+our.day}?
            | may i come to hear you play {your.style} on {+our.day}?
            yes, on {our.day} i have time for some {my.style}.
            | of course, you can hear {my.style} on {our.day}.

            will you play some {+your.style} for me today?
            | may i hear some {+your.style} on your {your.instrument}?
            yes, my {my.instrument} is ready for some {my.style}.
            | of course, i like to play {my.style} for you.

            today i play the {my.instrument} for my {+my.kin}.
            | my {+my.kin} wants to hear my {my.instrument} today.
            your {your.kin} will like your {your.style} music.
            | i think your {your.kin} will enjoy the {your.instrument}.
            """
        ),
        closings=_blocks(
            """
            i must play my {my.instrument} now, goodbye {your.name}.
            | goodbye {your.name}, now i have to find my {my.instrument}.
            goodbye {your.name}, enjoy your {your.style} music.
            | bye {your.name}, have a good time with your {your.instrument}.

            goodbye {your.name}, enjoy your {your.style} music.
            | bye {your.name}, have a good time with your {your.instrument}.
            thank you {your.name}, i will play some {my.style} now.
            | bye {your.name}, i look forward to my {my.instrument}.
            """
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
            waiter restaurant tray
            """
        ),
        blocks=_blocks(
            """
            tell me, what is your job, my friend?
            | what kind of work do you do?
            i work as a {+my.job}, it is a good job.
            | i am a {+my.job} and i like my work.

            what work do you do, my friend?
            | tell me, what is your work now?
            i like to be a {+my.job}, and what is your job?
            | i work as a {+my.job}, and what do you do?
            i am a {+my.job} and work every day.
            | i work as a {+my.job} near my house.

            i have a new job as a {+my.job}.
            | this week i started to work as a {+my.job}.
            well done, a {your.job} has a good job.
            | how nice, people always need a good {your.job}.

            where do you work as a {your.job}?
            | where can i find you at work?
            as a {my.job} i work at the {+my.workplace}.
            | i am at the {+my.workplace} all day long.

            what do you need for your work as a {your.job}?
            | which tool does a {your.job} need every day?
            i think a {my.job} always needs a good {+my.tool}.
            | for my work as a {my.job} i use a {+my.tool}.

            when do you start at the {your.workplace}?
            | when does the work of a {your.job} start?
            my work starts at {+my.hour} in the morning.
            | every day i start to work at {+my.hour}.

            is {your.hour} a good time to start your work?
            | why do you have to start at {your.hour}?
            the people at the {my.workplace} need me at {my.hour}.
            | at {my.hour} people want to see a {my.job}.

            what is the name of your boss at the {your.workplace}?
            | who is your boss at the {your.workplace}?
            my boss at the {my.workplace} is called {+my.surname}.
            | at the {my.workplace} i work for {+my.surname}.

            is {your.surname} a good boss for a {your.job}?
            | do you like to work with {your.surname}?
            yes, {my.surname} is good to every {my.job}.
            | yes, {my.surname} gives me a new {my.tool} every year.

            i cannot find my {+my.tool} for work today.
            | today i lost my {+my.tool} at work.
            oh dear, i hope your {your.tool} is still at the {your.workplace}.
            | oh no, a {your.job} always needs a {your.tool}.

            is there another {your.job} in your family?
            | does anyone in your family work as a {your.job} too?
            yes, my {+my.kin} is a {my.job} too.
            | yes, my {+my.kin} wants to be a {my.job} too.

            does your {your.kin} often come to the {your.workplace}?
            | can your {your.kin} help you at the {your.workplace}?
            yes, my {my.kin} likes to help at the {my.workplace}.
            | yes, my {my.kin} brings me my {my.tool} every day.

            will you visit me at the {my.workplace} on {+our.day}?
            | shall we meet at the {my.workplace} on {+our.day}?
            yes, i will come to the {your.workplace} on {our.day}.
            | of course, on {our.day} i have time to see your {your.workplace}.
            """
        ),
        closings=_blocks(
            """
            i must go to the {my.workplace} now, bye {your.name}.
            | goodbye {your.name}, people need me at the {my.workplace}.
            goodbye {your.name}, do not forget your {your.tool}.
            | bye {your.name}, have a good day at the {your.workplace}.

            goodbye {your.name}, do not forget your {your.tool}.
            | bye {your.name}, have a good day at the {your.workplace}.
            thank you {your.name}, i will take my {my.tool} with me.
            | bye {your.name}, i have to go to the {my.workplace} now.
            """
        ),
    ),
    "weather": Topic(
        kinds=("weather", "month", "wear", "pastime"),
        rows=_rows(
            """
            snow january gloves sledging
            rain april umbrella knitting
            sunshine june sunglasses sunbathing
            wind march scarf sailing
            fog november torch chess
            frost december boots skating
            heat august hat diving
            hail may hood baking
            """
        ),
        blocks=_blocks(
            """
            tell me, how is the weather in {+your.town}?
            | what is the weather like in {+your.town} today?
            today we have a lot of {+my.weather} in {my.town}.
            | there is a lot of {+my.weather} in {my.town}.

            how is the weather at your house today?
            | what is the weather like today, my friend?
            we have {+my.weather} here, and how is your weather?
            | here is only {+my.weather}, and what do you have?
            here we have a lot of {+my.weather} today.
            | we have had {+my.weather} all day long.

            there is a lot of {+my.weather} here today.
            | the weather is bad, we have {+my.weather} again.
            oh dear, do you often have {your.weather} in {+your.town}?
            | oh no, is there {your.weather} in {+your.town} again?
            yes, there is always a lot of {my.weather} in {my.town}.
            | yes, {my.weather} is all we have in {my.town}.

            do you always have {your.weather} in {+your.month}?
            | is there a lot of {your.weather} in {+your.month}?
            yes, every {my.month} brings a lot of {my.weather}.
            | yes, {my.month} is always the time for {my.weather}.

            what do you take with you in the {your.weather}?
            | what do you need to go out in the {your.weather}?
            i always need my {+my.wear} in the {my.weather}.
            | in the {my.weather} i take my {+my.wear} with me.

            what do you like to do in the {your.weather}?
            | tell me, what is good to do in the {your.weather}?
            in the {my.weather} i like {+my.pastime} best of all.
            | i think that {+my.pastime} is best in the {my.weather}.

            do not forget your {+your.wear} in the {your.weather}.
            | you must take your {+your.wear} with you in the {your.weather}.
            thank you, i always have my {my.wear} with me.
            | yes, in the {my.weather} i need my {my.wear}.

            is there anyone in your family who likes the {your.weather}?
            | does anyone in your family go out in the {your.weather}?
            yes, my {+my.kin} likes the {my.weather} too.
            | yes, my {+my.kin} is often out in the {my.weather}.

            does your {your.kin} also like {+your.pastime} very much?
            | is your {your.kin} good at {+your.pastime} too?
            yes, my {my.kin} likes {my.pastime} in the {my.weather}.
            | yes, my {my.kin} likes {my.pastime} best of all.

            did your {your.kin} take your {your.wear} today?
            | does your {your.kin} need the {your.wear} today?
            yes, today my {my.kin} has my {my.wear}.
            | yes, my {my.kin} needs the {my.wear} in the {my.weather}.

            may i visit you in {your.town} on {+our.day}?
            | shall we meet at your house in {your.town} on {+our.day}?
            yes, you can come to {my.town} on {our.day}.
            | of course, i am at home in {my.town} on {our.day}.

            i do not like the {my.weather} in {+my.month}.
            | every year in {+my.month} we have only {my.weather}.
            yes, there is too much {your.weather} in {your.month}.
            | i know, {your.month} is full of {your.weather}.
            """
        ),
        closings=_blocks(
            """
            i must go out in the {my.weather} now, bye {your.name}.
            | goodbye {your.name}, now i have to go into the {my.weather}.
            goodbye {your.name}, do not forget your {your.wear}.
            | bye {your.name}, have a good time in the {your.weather}.

            goodbye {your.name}, do not forget your {your.wear}.
            | bye {your.name}, have a good time in the {your.weather}.
            thank you {your.name}, i look forward to the {my.weather}.
            | bye {your.name}, i will take my {my.wear} with me.
            """
        ),
    ),
    "books": Topic(
        kinds=("genre", "hero", "setting", "object"),
        rows=_rows(
            """
            mystery detective mansion clue
            western cowboy desert saddle
            fantasy wizard cave spell
            thriller spy casino code
            romance princess palace letter
            legend ghost cellar key
            comedy clown circus balloon
            saga viking fjord sword
            """
        ),
        blocks=_blocks(
            """
            tell me, which book do you read now?
            | what kind of book do you read now?
            this week i started to read a {+my.genre}.
            | i want to read a good {+my.genre} now.

            what kind of book do you like best?
            | which kind of book do you like to read?
            i like a good {+my.genre}, and what do you read?
            | i like to read a {+my.genre}, and what do you like?
            i like to read a good {+my.genre} every week.
            | for me the best book of all is a {+my.genre}.

            i have a new book, it is a {+my.genre}.
            | this week i found an old {+my.genre} at home.
            how nice, a good {your.genre} is always a good idea.
            | i think a {your.genre} is good for a long evening.

            who is the hero of the {your.genre}, my friend?
            | tell me, who is the hero in your {your.genre}?
            the hero of the {my.genre} is an old {+my.hero}.
            | the {my.genre} is about the life of a {+my.hero}.

            is there a strange place in your {your.genre}?
            | which place does the {your.hero} visit in your {your.genre}?
            the {my.hero} comes to a very strange {+my.setting}.
            | there is a strange old {+my.setting} in the {my.genre}.

            what does the {your.hero} want in your {your.genre}?
            | what does the {your.hero} need in your {your.genre}?
            the {my.hero} wants to find the {+my.object}.
            | in the book the {my.hero} needs the {+my.object}.

            does the {your.hero} find the {+your.object} in the end?
            | who has the {+your.object} in the end?
            in the end the {my.hero} has the {my.object}.
            | the {my.hero} has the {my.object} and is happy.

            what is the name of the writer of your {your.genre}?
            | tell me, who is the writer of your {your.genre}?
            the writer of the {my.genre} is called {+my.surname}.
            | it is a new {my.genre} from {+my.surname}.

            do you like all the books from {your.surname}?
            | is {your.surname} your favourite writer of all?
            yes, every {my.genre} from {my.surname} is very good.
            | yes, i want to read every {my.genre} from {my.surname}.

            does anyone in your family also read a {your.genre}?
            | is there anyone in your family who likes the {your.genre}?
            yes, my {+my.kin} likes the {my.genre} very much.
            | yes, my {+my.kin} wants to read the {my.genre} too.

            does your {your.kin} also like the {your.hero}?
            | what does your {your.kin} think about the {your.hero}?
            my {my.kin} thinks that the {my.hero} is very clever.
            | my {my.kin} likes the {my.hero} and the {my.setting}.

            may i have your {your.genre} on {+our.day}?
            | can you give me your {your.genre} on {+our.day}?
            yes, i will bring you the {my.genre} on {our.day}.
            | of course, you can have the {my.genre} on {our.day}.
            """
        ),
        closings=_blocks(
            """
            i want to read my {my.genre} now, bye {your.name}.
            | goodbye {your.name}, now i have to find my {my.genre}.
            goodbye {your.name}, have a good time with your {your.genre}.
            | bye {your.name}, enjoy the life of the {your.hero}.

            goodbye {your.name}, have a good time with your {your.genre}.
            | bye {your.name}, enjoy the life of the {your.hero}.
            thank you {your.name}, i look forward to my {my.genre}.
            | bye {your.name}, now i will read about the {my.hero}.
            """
        ),
    ),
    "gardens": Topic(
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
        blocks=_blocks(
            """
            tell me, what do you have in your garden?
            | which plants can i see in your garden?
            there are a lot of {+my.plant} in my garden.
            | my garden is full of {+my.plant} this year.

            what do you have in your garden, my friend?
            | is there something new in your garden?
            i have some {+my.plant}, and what do you have?
            | there are {+my.plant} now, and how is your garden?
            i have a lot of {+my.plant} near the house.
            | my garden is full of new {+my.plant}.

            the {+my.plant} in my garden are beautiful this year.
            | this year i have a lot of {+my.plant}.
            how nice, {your.plant} are good for every garden.
            | i would like to have {your.plant} in my garden too.

            which colour do the {your.plant} in your garden have?
            | what is the colour of your {your.plant}?
            my {my.plant} have a beautiful {+my.colour} colour.
            | all {my.plant} in my garden are {+my.colour}.

            when is the best time for your {your.plant}?
            | when can i see your {your.plant} at their best?
            for {my.plant} the best time is in {+my.season}.
            | you must come in {+my.season} to see my {my.plant}.

            are there bad animals near your {your.plant}?
            | is there something bad for your {your.plant}?
            yes, there are {+my.pest} in my {my.plant}.
            | yes, the {+my.pest} like to eat my {my.plant}.

            what do you do when the {your.pest} come?
            | what helps you against the {your.pest} in your garden?
            i keep the {my.pest} away from the {my.plant}.
            | something with a bad smell keeps the {my.pest} away.

            who helps you with the {your.plant} in {+your.season}?
            | do you have help with your {your.plant} in {+your.season}?
            in {my.season} my {+my.kin} helps me with the {my.plant}.
            | my {+my.kin} is in the garden with me in {my.season}.

            does your {your.kin} also like your {your.plant}?
            | what does your {your.kin} think about your {your.plant}?
            my {my.kin} likes {my.colour} {my.plant} very much.
            | my {my.kin} thinks that my {my.plant} are beautiful.

            may i come to see your {your.plant} on {+our.day}?
            | can you give me some {your.plant} on {+our.day}?
            yes, you can come to my garden on {our.day}.
            | of course, i have {my.plant} for you on {our.day}.

            today i found some {+my.pest} in my {my.plant}.
            | there are {+my.pest} in my {my.plant} again.
            oh no, your {your.plant} were so beautiful and {your.colour}.
            | oh dear, the {your.pest} are bad for your {your.plant}.
            """
        ),
        closings=_blocks(
            """
            i must go to my {my.plant} now, bye {your.name}.
            | goodbye {your.name}, now i have to help my {my.plant}.
            goodbye {your.name}, enjoy the {your.plant} in your garden.
            | bye {your.name}, have a good time with your {your.plant}.

            goodbye {your.name}, enjoy the {your.plant} in your garden.
            | bye {your.name}, have a good time with your {your.plant}.
            thank you {your.name}, i look forward to {my.colour} {my.plant}.
            | bye {your.name}, i will go to my {my.plant} now.
            """
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
            """
        ),
        blocks=_blocks(
            """
            tell me, what is your favourite subject at school?
            | which subject do you like best at school?
            at school i like {+my.subject} best of all.
            | my favourite subject at school is {+my.subject}.

            which lesson do you have at school today?
            | what do you learn at school today?
            i have {+my.subject}, and which lesson do you have?
            | today we have {+my.subject}, and what do you learn?
            i have a lesson in {+my.subject} at school.
            | today we learn a lot in {+my.subject}.

            this week i have a test in {+my.subject}.
            | today there is a test in {+my.subject} at school.
            oh dear, do you need help with {your.subject}?
            | oh no, can i help you with {your.subject}?
            thank you, but i know {my.subject} very well.
            | no, i always learn a lot of {my.subject} at home.

            what do you learn about in your {your.subject} lesson?
            | tell me, what is {your.subject} about?
            in {my.subject} we learn a lot about {+my.content}.
            | the {my.subject} lesson is always about {+my.content}.

            what do you need for your {your.subject} lesson?
            | which tool do you use in {your.subject}?
            for {my.subject} i always need a good {+my.aid}.
            | in the {my.subject} lesson we use a {+my.aid}.

            can you give me your {+your.aid} for today?
            | may i use your {+your.aid} at school today?
            no, i need my {my.aid} for the {my.subject} lesson.
            | yes, but i need the {my.aid} for {my.subject} again.

            who is your teacher in {your.subject} at school?
            | what is the name of your {your.subject} teacher?
            my teacher in {my.subject} is called {+my.surname}.
            | at my school we learn {my.subject} with {+my.surname}.

            is {your.surname} a good teacher for {your.subject}?
            | do you learn a lot of {your.subject} with {your.surname}?
            yes, {my.surname} knows all about {my.content}.
            | yes, i like the {my.subject} lesson with {my.surname}.

            who helps you with {your.subject} at home?
            | with whom do you learn {your.subject} at home?
            my {+my.kin} helps me with {my.subject} at home.
            | at home i learn {my.subject} with my {+my.kin}.

            is your {your.kin} as good at {your.subject} as you?
            | what does your {your.kin} know about {your.subject}?
            my {my.kin} knows a lot about {my.content}.
            | my {my.kin} knows more {my.subject} than my teacher.

            shall we learn {your.subject} together on {+our.day}?
            | can you help me with {your.subject} on {+our.day}?
            yes, let us talk about {my.content} on {our.day}.
            | of course, on {our.day} i have time for {my.subject}.

            i need some help with the {+my.content} in {my.subject}.
            | the {+my.content} in my {my.subject} lesson are not easy.
            yes, in {your.subject} the {your.content} are not easy.
            | i know, in {your.subject} there is much about {your.content}.
            """
        ),
        closings=_blocks(
            """
            i must go to my {my.subject} lesson, bye {your.name}.
            | goodbye {your.name}, now i have to learn some {my.subject}.
            goodbye {your.name}, do not forget your {your.aid}.
            | bye {your.name}, enjoy your {your.subject} lesson.

            goodbye {your.name}, do not forget your {your.aid}.
            | bye {your.name}, enjoy your {your.subject} lesson.
            thank you {your.name}, i look forward to {my.subject}.
            | bye {your.name}, i will take my {my.aid} with me.
            """
        ),
    ),
}
