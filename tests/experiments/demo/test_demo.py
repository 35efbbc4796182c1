"""What the demo refuses: a port in use, texts that are blank or too long."""

import socket

import pytest

from core.faults import SettingFault
from experiments.demo.demo import check_port
from experiments.demo.judging import make_example


def test_a_port_that_another_program_uses_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingFault, match=rf"cannot listen on 127.0.0.1:{port} .*: set demo.port or demo.host"):
            check_port("127.0.0.1", port)
    check_port("127.0.0.1", port)


def test_an_example_has_what_was_typed() -> None:
    talk = make_example("Hi!\n\n Hello. \n", True, "", "", "", "", 99)
    assert (talk.turns, talk.references) == (("Hi!", "Hello."), ())
    text = make_example(" A text. ", False, "A", "", "one\n\ntwo\n", " ", 99)
    assert (text.text, text.turns, text.prefix, text.label) == ("A text.", (), "A", None)
    assert (text.references, text.context) == (("one", "two"), None)


@pytest.mark.parametrize(
    ("text", "message"),
    [(" ", "text must not be blank"), ("x" * 11, "text must have at most 10 characters, but has 11")],
)
def test_texts_that_are_blank_or_too_long_are_refused(text: str, message: str) -> None:
    with pytest.raises(SettingFault, match=message):
        make_example(text, False, "", "", "", "", 10)
