"""Other people's metrics and plain yardsticks: word count, likelihood, overlap with references, discriminators."""
