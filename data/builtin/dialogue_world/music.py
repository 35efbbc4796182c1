"""Music: instruments, their families and styles."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

MUSIC = Topic(
    kinds=("instrument", "family", "style"),
    rows=rows(
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
    blocks=blocks(
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
    closings=blocks(
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
)
