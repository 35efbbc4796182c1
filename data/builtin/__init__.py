"""Seeded generators of synthetic text: the default input, the test input and a check-list for any metric.

`generate_X(n, seed, exclude)` makes `n` different texts, the same for the same seed everywhere; with a larger `n` the
first texts stay the same. Whatever the seeds, none of them has the content (the turns, the beginning, the context, the
concepts) of a text of `rated_X`, and none is in `exclude`.
"""
