"""Experiments of guided decoding."""
