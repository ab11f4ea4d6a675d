"""What expressions say of a device: by hand; against kube-scheduler in tests/conformance/test_cel_live.py."""

from __future__ import annotations

import pytest

from kschedweb.engine.cel import Device, EvaluationError, Refused, attribute, compiled, quantity

DEVICE = Device(
    "gpu.example.com",
    {
        "example.com/model": attribute({"string": "A100"}),
        "example.com/index": attribute({"int": 3}),
        "example.com/ok": attribute({"bool": True}),
        "example.com/firmware": attribute({"version": "1.4.2"}),
        "vendor": attribute({"string": "acme"}),
    },
    {"example.com/memory": quantity("40Gi"), "cores": quantity("12")},
    False,
)


@pytest.mark.parametrize(
    ("expression", "meets"),
    [
        ('device.driver == "gpu.example.com"', True),
        ('device.attributes["example.com"].model == "A100"', True),
        ('device.attributes["gpu.example.com"].vendor == "acme"', True),  # without a domain it is the driver's
        ('device.attributes["example.com"].index > 3', False),
        ('device.capacity["example.com"].memory.compareTo(quantity("10Gi")) > 0', True),
        ('device.attributes["example.com"].firmware.isGreaterThan(semver("1.10.0"))', False),
        ('has(device.attributes["nobody.example.com"].model)', False),
        ('device.attributes["example.com"].?missing.orValue("x") == "x"', True),
        ('["A100", "H100"].exists(model, model == device.attributes["example.com"].model)', True),
        ('cel.bind(i, device.attributes["example.com"].index, i > 1 && i < 5)', True),
        ('false && device.attributes["example.com"].missing', False),  # what decides alone absorbs the error
        ('device.attributes["example.com"].missing || true', True),
        ("device.allowMultipleAllocations", False),
    ],
)
def test_a_device_meets_what_is_true_of_it(expression: str, meets: bool) -> None:
    assert compiled(expression).matches(DEVICE) is meets


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ('device.attributes["example.com"].missing == 1', "no such key: missing"),
        ("1 / 0 == 1", "division by zero"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ('device.attributes["example.com"].model', "could not be converted to bool"),
    ],
)
def test_what_cannot_be_evaluated_is_told_in_kube_schedulers_words(expression: str, said: str) -> None:
    with pytest.raises((EvaluationError, Refused), match=said):
        compiled(expression).matches(DEVICE)


@pytest.mark.parametrize(
    "expression", ["device.driver ==", "device.nothing", "nobody()", '"a" + 1 == "a1"', 'device.driver == 1 ? "a" : 2']
)
def test_what_is_not_understood_is_refused_with_the_expression(expression: str) -> None:
    with pytest.raises(Refused) as refused:
        compiled(expression)
    assert expression in str(refused.value)
