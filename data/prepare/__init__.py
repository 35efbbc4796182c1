"""Scripts that turn public originals into the files that the loaders read: `python -m data.prepare NAME FOLDER`."""
