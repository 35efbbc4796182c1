"""Metrics of other authors and simple baselines."""
