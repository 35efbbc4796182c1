"""Books: genres, their heroes, where they go and what they look for."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

BOOKS = Topic(
    kinds=("genre", "hero", "setting", "object"),
    rows=rows(
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
    blocks=blocks(
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
    closings=blocks(
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
)
