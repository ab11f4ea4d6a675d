"""Reads cases.txt: expressions over one device, and what kube-scheduler makes of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kschedweb.engine.cel import Device, EvaluationError, Refused, attribute, compiled, quantity

DRIVER: Final = "gpu.example.com"
NOT_VALID: Final = "not valid"
DEVICE: Final[dict] = {
    "attributes": {
        "s": {"string": "x"},
        "i": {"int": 5},
        "b": {"bool": True},
        "v": {"version": "1.2.3"},
        "other.com/q": {"string": "y"},
    },
    "capacity": {"memory": {"value": "10Gi"}, "other.com/slots": {"value": "7"}},
}
_WORDS: dict[str, bool | str] = {"true": True, "false": False, NOT_VALID: NOT_VALID}


def read(raw: dict) -> Device:
    """A device as the engine has it, from one of a ResourceSlice."""
    attributes = {name: attribute(value) for name, value in raw.get("attributes", {}).items()}
    capacity = {name: quantity(value["value"]) for name, value in raw.get("capacity", {}).items()}
    return Device(DRIVER, attributes, capacity, raw.get("allowMultipleAllocations", False))


def expanded(expression: str) -> str:
    """``$a`` and ``$c`` stand for the attributes and the capacity of the driver's own domain."""
    attributes, capacity = (f'device.{field}["{DRIVER}"]' for field in ("attributes", "capacity"))
    return expression.replace("$a", attributes).replace("$c", capacity)


def answer(expression: str, device: Device) -> bool | str | None:
    """Whether the engine says that the device matches, its error, or ``NOT_VALID``; ``None`` if it does not tell."""
    try:
        program = compiled(expression)
    except Refused:
        return NOT_VALID
    try:
        return program.matches(device)
    except EvaluationError as error:
        return str(error)
    except Refused:
        return None


def _cases() -> dict[str, list[tuple[str, bool | str]]]:
    found: dict[str, list[tuple[str, bool | str]]] = {}
    expression = ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()[3:]:
        if line.startswith("# "):
            cases = found.setdefault(line[2:], [])
        elif line.startswith("    "):
            said = line[4:]
            cases.append((expanded(expression), said[2:] if said.startswith("! ") else _WORDS[said]))
        else:
            expression = line
    return found


CASES: Final = _cases()
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[\w$]+|\s+|.', re.DOTALL)
WORDS: Final = [_WORD.findall(expression) for cases in CASES.values() for expression, _ in cases]
