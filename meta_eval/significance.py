"""Clusters of metrics or systems that no test separates."""

from collections.abc import Mapping


def clusters(
    values: Mapping[str, float], p_values: Mapping[tuple[str, str], float], level: float = 0.05
) -> dict[str, str]:
    """The cluster of each metric (or system), "1" for the best; "1-2" is in both, between what they tell apart.

    A cluster is a longest run of the order in which the tests separate no pair, so that no cluster ever holds a pair
    that they separate (the compact letter display of Piepho 2004, with numbers).

    Args:
        values: the values to rank by; higher is better.
        p_values: of the differences of all pairs, each in one order; NaN separates nothing. Other pairs do not count.
        level: of significance.

    >>> clusters({"a": 0.9, "b": 0.2, "c": 0.8}, {("a", "b"): 0.01, ("a", "c"): 0.3, ("b", "c"): 0.2})
    {'a': '1', 'c': '1-2', 'b': '2'}
    """
    order = sorted(values, key=lambda name: -values[name])
    separated = {frozenset(pair) for pair, p in p_values.items() if p < level}
    ends: list[int] = []  # of the longest run from each place on
    for start in reversed(range(len(order))):
        limit = ends[0] if ends else start + 1
        below = range(start + 1, limit)
        ends.insert(0, next((i for i in below if frozenset((order[start], order[i])) in separated), limit))
    runs = [(i, end) for i, end in enumerate(ends) if i == 0 or end > ends[i - 1]]
    found = {}
    for place, name in enumerate(order):
        among = [number for number, (start, end) in enumerate(runs, 1) if start <= place < end]
        found[name] = str(among[0]) if len(among) == 1 else f"{among[0]}-{among[-1]}"
    return found
