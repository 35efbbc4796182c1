"""Reports: tables, plots, pages and files that a run or a verb leaves behind."""
