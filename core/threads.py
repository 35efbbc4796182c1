"""How threads of native libraries share the cores of a machine."""

from collections.abc import MutableMapping


def share_cores(environment: MutableMapping[str, str]) -> None:
    """Makes GNU's OpenMP threads sleep soon while they wait, unless the environment says how they wait.

    Call it before PyTorch is imported. Spinning threads make small models up to fifty times slower when another process
    takes a core.
    """
    is_said = "GOMP_SPINCOUNT" in environment or "OMP_WAIT_POLICY" in environment
    if not is_said:
        environment["GOMP_SPINCOUNT"] = "1000"
