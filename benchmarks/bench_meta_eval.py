"""Speed of PERM-BOTH for a pair of metrics at n = 2,200: 10,000 permutations at once, or a loop that calls scipy.

The loop runs some of the permutations and its time is scaled up. Ratings have ties, like human ratings. Times are
processor seconds, so that other programs on the machine do not count.
"""

import os
import time

import numpy as np
from scipy import stats

from meta_eval.grouping import lay_out
from meta_eval.permutation import Correlation, permutation_test

EXAMPLES, PERMUTATIONS, LOOPED = 2200, 10_000, 100
LIMITS: dict[Correlation, float] = {"pearson": 3.0, "spearman": 3.0, "kendall": 20.0}  # processor seconds
PLAIN = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def loop(a: np.ndarray, b: np.ndarray, y: np.ndarray, kind: Correlation) -> int:
    """The reference loop: swap, correlate both metrics, compare."""
    rng = np.random.default_rng(0)
    a, b = ((v - v.mean()) / v.std() for v in (a, b))
    observed, beyond = abs(PLAIN[kind](a, y)[0] - PLAIN[kind](b, y)[0]), 0
    for _ in range(LOOPED):
        swap = rng.random(len(y)) < 0.5
        of_a, of_b = (PLAIN[kind](np.where(swap, u, v), y)[0] for u, v in ((b, a), (a, b)))
        beyond += abs(of_a - of_b) >= observed
    return beyond


def main() -> None:
    rng = np.random.default_rng(0)
    quality = rng.normal(size=EXAMPLES)
    a, b = (quality + rng.normal(size=EXAMPLES) for _ in range(2))
    y = np.clip(np.round(quality + rng.normal(size=EXAMPLES)), -1, 1)
    layout, slow = lay_out(EXAMPLES), []
    print(f"n = {EXAMPLES}, {PERMUTATIONS} permutations, {os.environ.get('OMP_NUM_THREADS', 'all')} threads")
    print(f"{'':10}{'at once':>10}{'loop':>10}{'ratio':>8}")
    for kind, limit in LIMITS.items():
        start = time.process_time()
        permutation_test(a, b, y, layout, kind=kind, permutations=PERMUTATIONS)
        ours = time.process_time() - start
        start = time.process_time()
        loop(a, b, y, kind)
        theirs = (time.process_time() - start) * PERMUTATIONS / LOOPED
        print(f"{kind:10}{ours:8.2f} s{theirs:8.1f} s{theirs / ours:8.1f}")
        if ours > limit:
            slow.append(f"{kind} took {ours:.1f} s, more than {limit:g}")
    if slow:
        raise SystemExit("; ".join(slow))


if __name__ == "__main__":
    main()
