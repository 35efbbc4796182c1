"""Tools: score, compare, audit and augment your own files, evaluate metrics, rank by preferences, plan studies."""
