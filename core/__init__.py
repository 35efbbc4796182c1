"""Core: examples, scores, metrics' contract, signatures, kept stages, faults and checks of settings."""
