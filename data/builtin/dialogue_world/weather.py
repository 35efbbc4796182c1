"""Weather: its month, what one wears and does in it."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

WEATHER = Topic(
    kinds=("weather", "month", "wear", "pastime"),
    rows=rows(
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
    blocks=blocks(
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
    closings=blocks(
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
)
