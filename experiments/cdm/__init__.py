"""Experiments of CDM."""
