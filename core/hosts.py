"""Hosts: which names and addresses are this machine."""

from ipaddress import ip_address


def is_this_machine(host: str) -> bool:
    """Whether the host of a URL is this machine, which is reached without a network.

    >>> is_this_machine("localhost"), is_this_machine("127.0.0.2"), is_this_machine("::1"), is_this_machine("a.org")
    (True, True, True, False)
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:  # another name
        return False
