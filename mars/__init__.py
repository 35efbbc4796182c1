"""MARS: references augmented by a guided language model, then similarity (Liu et al., ACL 2021)."""
