"""The small generator, guide and labelled texts of the tests of guidance."""

from tests.oumg.conftest import guide as guide
from tests.oumg.conftest import lm as lm
from tests.oumg.conftest import own_data as own_data
