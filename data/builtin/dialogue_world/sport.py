"""Sport: games, where they are played, what one needs and what hurts."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

SPORT = Topic(
    kinds=("sport", "place", "gear", "injury"),
    rows=rows(
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
    blocks=blocks(
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
    closings=blocks(
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
)
