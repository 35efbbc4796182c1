"""The network: which hosts are this machine, and whether other machines may be asked (`network=true`, `--network`)."""

import os
import socket
import sys
from contextvars import ContextVar
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from core.errors import SettingError
from core.errors import setting as write_setting

HUB = "HF_HUB_OFFLINE"  # the switch of the model hub's library
STAYS_OFFLINE = os.environ.get(HUB, "").upper() in ("1", "ON", "YES", "TRUE")  # as the user wishes
_is_allowed = ContextVar("is_allowed", default=False)


def set_network(network: bool) -> None:
    """Sets whether other machines may be asked from now on, the model hub included.

    Raises SettingError unless `network` is true or false.
    """
    if not isinstance(network, bool):
        raise SettingError(f"network must be true or false, but is {network!r}")
    _is_allowed.set(network)
    is_offline = STAYS_OFFLINE or not network
    os.environ[HUB] = str(int(is_offline))  # read when the library is imported
    if library := sys.modules.get("huggingface_hub.constants"):  # it was imported before
        setattr(library, HUB, is_offline)


def check_network(setting: str, url: str) -> None:
    """Raises SettingError for a setting whose URL is on another machine, unless `set_network` allows it."""
    host = urlsplit(url).hostname or ""
    if not (_is_allowed.get() or is_this_machine(host)):
        raise SettingError(f"{setting} must not ask {host} without {write_setting('network', 'true')}")


def is_this_machine(host: str) -> bool:
    """Whether the host of a URL is this machine, which is reached without a network. No name is looked up.

    >>> is_this_machine("localhost"), is_this_machine("127.1"), is_this_machine("::1"), is_this_machine("a.org")
    (True, True, True, False)
    """
    name = host.lower().rstrip(".")
    if name in ("localhost", socket.gethostname().lower()):
        return True
    try:
        address = ip_address(name if ":" in name else socket.inet_aton(quote(name)))
    except (OSError, ValueError):  # a name
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified
