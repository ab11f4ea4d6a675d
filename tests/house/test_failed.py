"""Names of the tests that CI runs again are as pytest takes them."""

from __future__ import annotations

import json

from tests.support.failed import failed


def test_groups_of_processes_are_left_out_and_parameters_kept() -> None:
    names = ["a/test_b.py::test_c@test_b", "a/test_b.py::test_d[x@1]@wide", "a/test_b.py::test_e[y@2]"]
    cache_text = json.dumps(dict.fromkeys(names, True))
    assert failed(cache_text) == ["a/test_b.py::test_c", "a/test_b.py::test_d[x@1]", "a/test_b.py::test_e[y@2]"]
