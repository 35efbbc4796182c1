"""Tools: score, compare, audit and augment a user's own files, evaluate metrics, plan studies, count a corpus."""
