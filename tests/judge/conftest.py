"""The small generator and guide of the tests of guidance."""

from tests.oumg.conftest import guide as guide
from tests.oumg.conftest import lm as lm
