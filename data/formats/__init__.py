"""Files of other evaluation tools: one module per tool turns their rows into lines of our own format.

`recognition` finds the tool from the content of a file. A reader raises InputError for a layout that it does not know.
"""
