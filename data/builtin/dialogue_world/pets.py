"""Pets: animals, their sounds, their food and where they sleep."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

PETS = Topic(
    kinds=("animal", "sound", "food", "home"),
    rows=rows(
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
    blocks=blocks(
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
    closings=blocks(
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
)
