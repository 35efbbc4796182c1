"""The small world of the built-in dialogues: what is true in it, and the phrases in which two people talk about it.

A fact has a kind and a one-word value. A topic, one module each, has a table of facts that belong together (an animal,
its sound, its food, its home): the first column is its key, from which the others follow. Every speaker has one row of
the table. The facts of `LISTS` follow from nothing and have to be said. `notation` says how phrases are written.
"""

from collections.abc import Mapping

from data.builtin.dialogue_world.books import BOOKS
from data.builtin.dialogue_world.food import FOOD
from data.builtin.dialogue_world.gardens import GARDENS
from data.builtin.dialogue_world.music import MUSIC
from data.builtin.dialogue_world.notation import Block, Topic
from data.builtin.dialogue_world.pets import PETS
from data.builtin.dialogue_world.school import SCHOOL
from data.builtin.dialogue_world.small_talk import CLOSINGS, LISTS, OPENINGS
from data.builtin.dialogue_world.sport import SPORT
from data.builtin.dialogue_world.travel import TRAVEL
from data.builtin.dialogue_world.weather import WEATHER
from data.builtin.dialogue_world.work import WORK

__all__ = ["CLOSINGS", "LISTS", "OPENINGS", "TOPICS", "Block", "Topic"]

TOPICS: Mapping[str, Topic] = {
    "pets": PETS,
    "food": FOOD,
    "travel": TRAVEL,
    "sport": SPORT,
    "music": MUSIC,
    "work": WORK,
    "weather": WEATHER,
    "books": BOOKS,
    "gardens": GARDENS,
    "school": SCHOOL,
}
