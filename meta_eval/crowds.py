"""Crowds: many people of whom each pair shares few texts, as on Mechanical Turk or in an arena.

The chance agreement of two people is estimated from the texts that both labelled. If this is one text, chance equals
their agreement, so that kappa is 0; a correlation needs at least three texts. In a crowd, labels are therefore sorted
by seat and not by person: the first label of each text is in the first seat (row), the second label in the second seat.
Seats share nearly all texts. The differences between people count as noise, as they do in the labels of a crowd.
"""

import numpy as np
from scipy.sparse import csr_array

from meta_eval.design import Floats, Indices

FEWEST_SHARED = 30  # texts of two people


def seat_crowd(table: Floats) -> Floats:
    """Returns labels (people, texts) unchanged, or, if the people are a crowd, labels by seat (seats, texts).

    NaN stands for a missing label.

    >>> nan = np.nan
    >>> seat_crowd(np.array([[0, 1, nan], [0, nan, 1], [nan, 0, 0]]))
    array([[0., 1., 1.],
           [0., 0., 0.]])
    """
    texts, people = np.nonzero(~np.isnan(table.T))
    labels = table[people, texts]
    return tabulate_people(people, texts, labels, table.shape)


def tabulate_people(
    people: Indices,
    texts: Indices,
    labels: Floats,
    shape: tuple[int, int],
) -> Floats:
    """Makes the table of labels, of shape (people, texts); NaN where there is none.

    Label i is by person `people[i]` for text `texts[i]`, both numbered. For a crowd (`is_crowd`) the rows are seats
    instead: the first label of each text, the second, and so on. `shape` is (people, texts), also for a crowd. No
    person labels a text twice, and no label is NaN.
    """
    person_count, text_count = shape
    if is_crowd(people, texts, shape):
        people = number_seats(people, texts)
        person_count = int(people.max(initial=-1)) + 1
    table = np.full((person_count, text_count), np.nan)
    table[people, texts] = labels
    return table


def is_crowd(people: Indices, texts: Indices, shape: tuple[int, int]) -> bool:
    """Whether two people who label the same text share less than `FEWEST_SHARED` and less than half of the texts.

    Texts with one label do not count. The number of texts that two people share is averaged over these shared texts.

    >>> three, two = np.repeat([0, 1, 2], 30), np.array([0, 1, 1, 2, 2, 3])
    >>> is_crowd(three, np.tile(np.arange(30), 3), (3, 30)), is_crowd(two, np.array([0, 0, 1, 1, 2, 2]), (4, 3))
    (False, True)
    """
    ones = np.ones(len(people))
    labelled = csr_array((ones, (people, texts)), shape=shape)
    shared = (labelled @ labelled.T).tocoo()
    is_pair = shared.row < shared.col
    of_pairs = shared.data[is_pair]
    if not of_pairs.any():
        return True
    typical = (of_pairs**2).sum() / of_pairs.sum()
    labels_by_text = np.bincount(texts)
    with_several = (labels_by_text > 1).sum()
    return bool(typical < min(FEWEST_SHARED, with_several / 2))


def number_seats(people: Indices, texts: Indices) -> Indices:
    """Numbers the labels of each text from 0, in the order of people; returns the seat of each label.

    >>> number_seats(np.array([4, 2, 7, 2]), np.array([0, 0, 1, 1]))
    array([1, 0, 1, 0])
    """
    order = np.lexsort((people, texts))
    in_order = texts[order]
    starts = np.searchsorted(in_order, in_order)
    seats = np.empty(len(texts), dtype=np.intp)
    seats[order] = np.arange(len(texts)) - starts
    return seats
