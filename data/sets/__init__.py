"""One loader per public set, and loaders of a user's own files.

Loaders share their arguments. `root` is the folder of the public sets or the set's own folder in it. `download` fetches
missing files that have a known checksum. `held_out_fraction` is the share of the different training texts (for poems:
of the tunes) to hold out, and `seed` chooses them. They raise InputError if a file is missing, faulty or cannot be
fetched, and SettingError for an unknown name.
"""
