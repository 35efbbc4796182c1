"""Experiments of MARS."""
