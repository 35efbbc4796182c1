"""Speed of PERM-BOTH for a pair of metrics at n = 2,200: 10,000 permutations at once, or a loop that calls scipy.

The loop runs some of the permutations and its time is scaled up. Ratings have ties, like human ratings. Times are
processor seconds, so that other programs on the machine do not count.
"""

import time

import numpy as np
from measuring import Measured, describe_machine, measure, print_comparison, print_header, read_arguments
from scipy import stats

from meta_eval.correlation import Correlation
from meta_eval.grouping import lay_out
from meta_eval.permutation import permutation_test

EXAMPLES, PERMUTATIONS = 2200, 10_000
LIMITS: dict[Correlation, float] = {"pearson": 3.0, "spearman": 3.0, "kendall": 20.0}  # processor seconds
PLAIN = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def permute_in_a_loop(a: np.ndarray, b: np.ndarray, y: np.ndarray, kind: Correlation, permutations: int) -> int:
    """The reference: swap, correlate both metrics, compare."""
    rng = np.random.default_rng(0)
    a, b = ((v - v.mean()) / v.std() for v in (a, b))
    observed, beyond = abs(PLAIN[kind](a, y)[0] - PLAIN[kind](b, y)[0]), 0
    for _ in range(permutations):
        swap = rng.random(len(y)) < 0.5
        of_a, of_b = (PLAIN[kind](np.where(swap, u, v), y)[0] for u, v in ((b, a), (a, b)))
        beyond += abs(of_a - of_b) >= observed
    return beyond


def main() -> None:
    looped = {"type": int, "default": 100, "help": "permutations of the loop"}
    chosen = read_arguments(__doc__, looped=looped)
    rng = np.random.default_rng(0)
    quality = rng.normal(size=EXAMPLES)
    a, b = (quality + rng.normal(size=EXAMPLES) for _ in range(2))
    y = np.clip(np.round(quality + rng.normal(size=EXAMPLES)), -1, 1)
    layout, slow = lay_out(EXAMPLES), []
    print(f"n = {EXAMPLES}, {PERMUTATIONS} permutations, {describe_machine()}; processor seconds")
    print_header("correlation", "loop", "at once", "ratio")
    for kind, limit in LIMITS.items():
        here = measure(
            lambda kind=kind: permutation_test(a, b, y, layout, kind=kind, permutations=PERMUTATIONS),
            clock=time.process_time,
        )
        loop = measure(lambda kind=kind: permute_in_a_loop(a, b, y, kind, chosen.looped), clock=time.process_time)
        print_comparison(kind, Measured(None, loop.seconds * PERMUTATIONS / chosen.looped), here)
        if here.seconds > limit:
            slow.append(f"{kind} took {here.seconds:.1f} s, more than {limit:g}")
    if slow:
        raise SystemExit("; ".join(slow))


if __name__ == "__main__":
    main()
