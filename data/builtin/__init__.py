"""Seeded generators of synthetic text: the default input, the test input and a check-list for any metric."""
