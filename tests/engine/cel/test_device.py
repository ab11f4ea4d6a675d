"""Devices as expressions see them."""

from __future__ import annotations

import pytest

from kschedweb.engine.cel import (
    Device,
    EvaluationError,
    compile_expression,
    parse_attribute,
    parse_version,
    to_quantity,
)
from tests.engine.cel.cases import answer, read


def test_a_name_without_a_domain_is_in_the_drivers() -> None:
    device = Device("a.com", {"x": 1, "b.com/x": 2, "b.com/y/z": 3}, {"c.com/x": to_quantity("1")}, True)
    for expression in (
        'device.attributes["a.com"].x == 1',
        'device.attributes["b.com"].x == 2',
        'device.attributes["b.com"]["y/z"] == 3',
        'device.capacity["c.com"].x == quantity("1")',
        'device.capacity["a.com"] == {}',
        "device.attributes.size() == 2 && device.capacity.size() == 1",
        'device.driver == "a.com" && device.allowMultipleAllocations',
    ):
        assert compile_expression(expression).matches(device), expression


def test_attributes_are_read_from_a_resource_slice() -> None:
    assert [parse_attribute(raw) for raw in ({"int": 5}, {"bool": False}, {"string": "x"})] == [5, False, "x"]
    version, expected = parse_attribute({"version": "1.2.3-a+b"}), parse_version("1.2.3-a+c")
    assert type(version) is type(expected)
    assert version.compare(expected) == 0


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"strings": ["a"]}, "attribute l: unsupported attribute value"),
        ({}, "attribute l: unsupported attribute value"),
        ({"version": "1.2"}, "attribute l: parse semantic version: No Major.Minor.Patch elements found"),
    ],
)
def test_an_attribute_that_cannot_be_used_fails_every_expression(raw: dict, words: str) -> None:
    device = Device("a.com", {"l": parse_attribute(raw)}, {}, False)
    with pytest.raises(EvaluationError) as error:
        compile_expression("true").matches(device)
    assert str(error.value) == words


def test_a_device_without_anything() -> None:
    device = read({})
    assert answer("device.attributes == {} && device.capacity == {}", device) is True
    assert answer("!device.allowMultipleAllocations", device) is True
    assert answer('device.attributes["a"].b', device) == "no such key: b"
