"""An outcome's columns: bytes and back, and where things are at any time."""

from __future__ import annotations

import numpy as np
import pytest

from kschedweb.engine.whatif.outcome import Outcome, OutcomeError
from tests.engine.whatif.worlds import configuration, crowd
from kschedweb.engine.whatif.run import run


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return run(crowd(7), configuration())


def test_bytes_and_back_are_the_same(outcome: Outcome) -> None:
    again = Outcome.decode(outcome.encode())
    assert again.encode() == outcome.encode()
    assert again.pods == outcome.pods
    np.testing.assert_array_equal(again.moves.pod, outcome.moves.pod)
