"""Files of other evaluation tools: plain functions that turn their rows into lines of our own format.

`recognition` finds the tool from the content of a file, and reports a row of a layout that its reader does not know.
"""
