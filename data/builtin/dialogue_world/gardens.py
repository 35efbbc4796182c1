"""Gardens: plants, their colours, seasons and pests."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

GARDENS = Topic(
    kinds=("plant", "colour", "season", "pest"),
    rows=rows(
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
    blocks=blocks(
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
    closings=blocks(
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
)
