"""OUMG: two generators compared through a discriminator of human and machine text, and decoding guided by one."""
