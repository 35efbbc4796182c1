"""Core: examples, scores, the contract of metrics, signatures, kept stages, faults and checks of settings."""
