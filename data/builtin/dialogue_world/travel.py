"""Travel: cities, their countries, rivers and sights."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

TRAVEL = Topic(
    kinds=("city", "country", "river", "sight"),
    rows=rows(
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
    blocks=blocks(
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
    closings=blocks(
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
)
