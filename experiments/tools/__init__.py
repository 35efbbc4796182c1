"""Tools: score, compare and audit your own files, evaluate metrics, rank by preferences, plan studies."""
