"""Experiments of OUMG."""
