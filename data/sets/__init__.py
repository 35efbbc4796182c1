"""One loader per public set, and loaders of a user's own files."""
