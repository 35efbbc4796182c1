"""Steer: coloured tokens."""

from io import StringIO

from rich.console import Console

from experiments.tools.steer import print_colored
from oumg.generation import WrittenToken


def test_tokens_are_coloured_on_a_terminal_and_printed_nowhere_else() -> None:
    tokens = [WrittenToken(" good", 0, 3.0, ()), WrittenToken(" [b]bad[/b]", 0, -3.0, ())]
    for on_terminal in (True, False):
        out = StringIO()
        console = Console(file=out, force_terminal=on_terminal, color_system="truecolor", highlight=False)
        print_colored(console, "to positive", "The food", tokens)
        shown = out.getvalue()
        assert ("\x1b[30;48;2;88;168;224m good" in shown) == on_terminal
        assert ("\x1b[30;48;2;242;138;60m [b]bad[/b]" in shown) == on_terminal
        assert bool(shown) == on_terminal
