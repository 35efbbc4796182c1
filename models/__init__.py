"""Hugging Face models behind a few functions: log-probabilities, batching by length, small models from scratch."""
