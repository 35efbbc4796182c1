"""How threads of native libraries share the cores of a machine."""

from collections.abc import MutableMapping


def share_cores(environment: MutableMapping[str, str]) -> None:
    """Makes the waiting threads of GNU's OpenMP sleep instead of spin, unless the environment already sets this.

    Call it before PyTorch is imported. Spinning threads make small models up to fifty times slower when another process
    uses one of the cores.
    """
    is_said = "GOMP_SPINCOUNT" in environment or "OMP_WAIT_POLICY" in environment
    if not is_said:
        environment["GOMP_SPINCOUNT"] = "1000"
