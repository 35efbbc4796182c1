"""OUMG: compares two generators by a discriminator of human and machine text, and guides decoding with one."""
