"""School: subjects, what they are about and what one needs for them."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

SCHOOL = Topic(
    kinds=("subject", "content", "aid"),
    rows=rows(
        """
        maths numbers calculator
        geography mountains globe
        biology cells microscope
        astronomy stars telescope
        art portraits pencil
        chemistry acids burner
        latin verbs dictionary
        history kings map
        """
    ),
    blocks=blocks(
        """
        tell me, what is your favourite subject at school?
        | which subject do you like best at school?
        at school i like {+my.subject} best of all.
        | my favourite subject at school is {+my.subject}.

        which lesson do you have at school today?
        | what do you learn at school today?
        i have {+my.subject}, and which lesson do you have?
        | today we have {+my.subject}, and what do you learn?
        i have a lesson in {+my.subject} at school.
        | today we learn a lot in {+my.subject}.

        this week i have a test in {+my.subject}.
        | today there is a test in {+my.subject} at school.
        oh dear, do you need help with {your.subject}?
        | oh no, can i help you with {your.subject}?
        thank you, but i know {my.subject} very well.
        | no, i always learn a lot of {my.subject} at home.

        what do you learn about in your {your.subject} lesson?
        | tell me, what is {your.subject} about?
        in {my.subject} we learn a lot about {+my.content}.
        | the {my.subject} lesson is always about {+my.content}.

        what do you need for your {your.subject} lesson?
        | which tool do you use in {your.subject}?
        for {my.subject} i always need a good {+my.aid}.
        | in the {my.subject} lesson we use a {+my.aid}.

        can you give me your {+your.aid} for today?
        | may i use your {+your.aid} at school today?
        no, i need my {my.aid} for the {my.subject} lesson.
        | yes, but i need the {my.aid} for {my.subject} again.

        who is your teacher in {your.subject} at school?
        | what is the name of your {your.subject} teacher?
        my teacher in {my.subject} is called {+my.surname}.
        | at my school we learn {my.subject} with {+my.surname}.

        is {your.surname} a good teacher for {your.subject}?
        | do you learn a lot of {your.subject} with {your.surname}?
        yes, {my.surname} knows all about {my.content}.
        | yes, i like the {my.subject} lesson with {my.surname}.

        who helps you with {your.subject} at home?
        | with whom do you learn {your.subject} at home?
        my {+my.kin} helps me with {my.subject} at home.
        | at home i learn {my.subject} with my {+my.kin}.

        is your {your.kin} as good at {your.subject} as you?
        | what does your {your.kin} know about {your.subject}?
        my {my.kin} knows a lot about {my.content}.
        | my {my.kin} knows more {my.subject} than my teacher.

        shall we learn {your.subject} together on {+our.day}?
        | can you help me with {your.subject} on {+our.day}?
        yes, let us talk about {my.content} on {our.day}.
        | of course, on {our.day} i have time for {my.subject}.

        i need some help with the {+my.content} in {my.subject}.
        | the {+my.content} in my {my.subject} lesson are not easy.
        yes, in {your.subject} the {your.content} are not easy.
        | i know, in {your.subject} there is much about {your.content}.
        """
    ),
    closings=blocks(
        """
        i must go to my {my.subject} lesson, bye {your.name}.
        | goodbye {your.name}, now i have to learn some {my.subject}.
        goodbye {your.name}, do not forget your {your.aid}.
        | bye {your.name}, enjoy your {your.subject} lesson.

        goodbye {your.name}, do not forget your {your.aid}.
        | bye {your.name}, enjoy your {your.subject} lesson.
        thank you {your.name}, i look forward to {my.subject}.
        | bye {your.name}, i will take my {my.aid} with me.
        """
    ),
)
