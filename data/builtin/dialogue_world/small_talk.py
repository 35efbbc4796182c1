"""Small talk: what fits any topic. Facts that follow from nothing, first blocks, and last blocks."""

from collections.abc import Mapping

from data.builtin.dialogue_world.notation import blocks

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

OPENINGS = blocks(
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

CLOSINGS = blocks(
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
