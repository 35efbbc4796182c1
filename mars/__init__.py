"""MARS (Liu et al. 2021): augments references with a guided language model, and compares candidates with them."""
