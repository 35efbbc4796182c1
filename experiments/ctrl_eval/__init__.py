"""Experiments of CTRLEval."""
