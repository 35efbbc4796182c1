"""Experiments, metrics and the settings that they start from, as YAML files."""
