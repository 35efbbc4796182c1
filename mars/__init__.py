"""MARS (Liu et al. 2021): references augmented by a guided language model, then similarity to the candidate."""
