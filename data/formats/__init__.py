"""Files of other evaluation tools, one module per tool: rows of such a file become lines of ours.

`recognition` finds the tool by what a file holds. A reader raises InputError for a layout that it does not know.
"""
