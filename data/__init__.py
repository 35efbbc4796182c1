"""Example, Scores, kept stages, files in and out, loaders for public sets, and the built-in corpora."""
