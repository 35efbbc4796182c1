"""Other people's metrics and plain yardsticks: word count, likelihood, published predictions."""
