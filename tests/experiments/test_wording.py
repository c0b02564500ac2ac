"""What reports and commands say in words."""

import pytest

from experiments.wording import count_text


@pytest.mark.parametrize(("count", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1234, "1,234 runs")])
def test_a_number_of_things_reads_as_people_say_it(count, text):
    assert text == count_text(count, "run")
