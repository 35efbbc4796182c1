"""The page in a browser that shows what metrics and guides do (`judge demo`)."""
