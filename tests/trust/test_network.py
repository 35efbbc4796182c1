"""The suite itself: a test that asks for another machine is refused and fails."""

import socket
from typing import Any

import pytest


def test_another_machine_is_refused_and_remembered(network: Any) -> None:
    with pytest.raises(ConnectionRefusedError, match="needs the mark `network`"):
        socket.create_connection(("example.com", 80), timeout=1)
    with socket.socket() as ours, pytest.raises(ConnectionRefusedError):
        ours.connect(("192.0.2.1", 80))
    assert network.refused == ["example.com", "192.0.2.1"]
    network.refused.clear()


def test_this_machine_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        theirs, _ = server.accept()
        with theirs:
            ours.sendall(b"here")
            assert theirs.recv(4) == b"here"
