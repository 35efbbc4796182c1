"""How well a poem keeps its form: lengths and marks, as shares in [0, 1]; higher is better."""

from oumg.form import MARKS, Form, find_marks, split_phrases


def keeps_form(text: str, form: Form) -> bool:
    """Whether the poem has exactly this form: every length and every mark."""
    lengths = [len(phrase) for phrase in split_phrases(text)]
    phrases = tuple(zip(lengths, find_marks(text), strict=False))
    return text[-1:] in MARKS and phrases == form.phrases


def phrase_lengths(text: str, form: Form) -> float:
    """Returns the share of phrases with the length of the form; missing and extra phrases count as wrong.

    >>> phrase_lengths("春花，秋月何。", Form(((2, "，"), (2, "。"))))
    0.5
    """
    lengths = [len(phrase) for phrase in split_phrases(text)]
    wanted = [length for length, _ in form.phrases]
    equal = sum(length == due for length, due in zip(lengths, wanted, strict=False))
    return equal / max(len(lengths), len(wanted))
