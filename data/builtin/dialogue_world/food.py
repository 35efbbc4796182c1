"""Food: dishes, their countries, what goes into them and what one drinks with them."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

FOOD = Topic(
    kinds=("dish", "origin", "ingredient", "drink"),
    rows=rows(
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
    blocks=blocks(
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
    closings=blocks(
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
)
