"""Work: jobs, where they are done and with what."""

from data.builtin.dialogue_world.notation import Topic, blocks, rows

WORK = Topic(
    kinds=("job", "workplace", "tool"),
    rows=rows(
        """
        doctor hospital thermometer
        pilot airport radio
        baker bakery mixer
        barber salon razor
        farmer farm tractor
        painter studio brush
        judge courthouse hammer
        waiter restaurant tray
        """
    ),
    blocks=blocks(
        """
        tell me, what is your job, my friend?
        | what kind of work do you do?
        i work as a {+my.job}, it is a good job.
        | i am a {+my.job} and i like my work.

        what work do you do, my friend?
        | tell me, what is your work now?
        i like to be a {+my.job}, and what is your job?
        | i work as a {+my.job}, and what do you do?
        i am a {+my.job} and work every day.
        | i work as a {+my.job} near my house.

        i have a new job as a {+my.job}.
        | this week i started to work as a {+my.job}.
        well done, a {your.job} has a good job.
        | how nice, people always need a good {your.job}.

        where do you work as a {your.job}?
        | where can i find you at work?
        as a {my.job} i work at the {+my.workplace}.
        | i am at the {+my.workplace} all day long.

        what do you need for your work as a {your.job}?
        | which tool does a {your.job} need every day?
        i think a {my.job} always needs a good {+my.tool}.
        | for my work as a {my.job} i use a {+my.tool}.

        when do you start at the {your.workplace}?
        | when does the work of a {your.job} start?
        my work starts at {+my.hour} in the morning.
        | every day i start to work at {+my.hour}.

        is {your.hour} a good time to start your work?
        | why do you have to start at {your.hour}?
        the people at the {my.workplace} need me at {my.hour}.
        | at {my.hour} people want to see a {my.job}.

        what is the name of your boss at the {your.workplace}?
        | who is your boss at the {your.workplace}?
        my boss at the {my.workplace} is called {+my.surname}.
        | at the {my.workplace} i work for {+my.surname}.

        is {your.surname} a good boss for a {your.job}?
        | do you like to work with {your.surname}?
        yes, {my.surname} is good to every {my.job}.
        | yes, {my.surname} gives me a new {my.tool} every year.

        i cannot find my {+my.tool} for work today.
        | today i lost my {+my.tool} at work.
        oh dear, i hope your {your.tool} is still at the {your.workplace}.
        | oh no, a {your.job} always needs a {your.tool}.

        is there another {your.job} in your family?
        | does anyone in your family work as a {your.job} too?
        yes, my {+my.kin} is a {my.job} too.
        | yes, my {+my.kin} wants to be a {my.job} too.

        does your {your.kin} often come to the {your.workplace}?
        | can your {your.kin} help you at the {your.workplace}?
        yes, my {my.kin} likes to help at the {my.workplace}.
        | yes, my {my.kin} brings me my {my.tool} every day.

        will you visit me at the {my.workplace} on {+our.day}?
        | shall we meet at the {my.workplace} on {+our.day}?
        yes, i will come to the {your.workplace} on {our.day}.
        | of course, on {our.day} i have time to see your {your.workplace}.
        """
    ),
    closings=blocks(
        """
        i must go to the {my.workplace} now, bye {your.name}.
        | goodbye {your.name}, people need me at the {my.workplace}.
        goodbye {your.name}, do not forget your {your.tool}.
        | bye {your.name}, have a good day at the {your.workplace}.

        goodbye {your.name}, do not forget your {your.tool}.
        | bye {your.name}, have a good day at the {your.workplace}.
        thank you {your.name}, i will take my {my.tool} with me.
        | bye {your.name}, i have to go to the {my.workplace} now.
        """
    ),
)
