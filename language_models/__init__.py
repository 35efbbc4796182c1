"""Hugging Face models behind a few functions: log-probabilities, batching by length, tiny models from scratch."""
