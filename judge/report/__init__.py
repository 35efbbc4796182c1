"""Report: what a run leaves behind."""
