"""Tools: scoring and augmenting a user's own files, counting a corpus."""
