"""Data: reading and writing files, loaders for public sets, and the built-in corpora."""
