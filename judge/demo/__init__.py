"""The tiny models of every kind, and the page in a browser that shows what they do."""
