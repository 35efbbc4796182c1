"""Meta-evaluation: how well metrics and judges agree with people, with intervals, tests, audits and planning.

Needs numpy and scipy only. Many functions take a `Layout` (`meta_eval.grouping`): which system wrote each example, and
which input it answers. Intervals and tests draw inputs, because outputs for one input are not independent.
"""
