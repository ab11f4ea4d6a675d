"""Reads cases.txt: expressions over one device, and what kube-scheduler makes of each, up to 1.36 and since 1.37."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kschedweb.engine.cel import (
    LANGUAGE_1_36,
    LANGUAGE_SINCE_1_37,
    Device,
    EvaluationError,
    ExpressionError,
    Language,
    compile_expression,
    parse_attribute,
    to_quantity,
)

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
    attributes = {name: parse_attribute(value) for name, value in raw.get("attributes", {}).items()}
    capacity = {name: to_quantity(value["value"]) for name, value in raw.get("capacity", {}).items()}
    return Device(DRIVER, attributes, capacity, raw.get("allowMultipleAllocations", False))


def expanded(expression: str) -> str:
    """``$a`` and ``$c`` stand for the attributes and the capacity of the driver's own domain."""
    attributes, capacity = (f'device.{field}["{DRIVER}"]' for field in ("attributes", "capacity"))
    return expression.replace("$a", attributes).replace("$c", capacity)


def answer(expression: str, device: Device, language: Language = LANGUAGE_SINCE_1_37) -> bool | str | None:
    """Return the engine's verdict on the device, its error, or ``NOT_VALID``; ``None`` if it does not tell."""
    try:
        program = compile_expression(expression, language)
    except ExpressionError:
        return NOT_VALID
    try:
        return program.matches(device)
    except EvaluationError as error:
        return str(error)
    except ExpressionError:
        return None


Cases = dict[str, list[tuple[str, bool | str]]]
LANGUAGES: Final = {"1.36": LANGUAGE_1_36, "1.37": LANGUAGE_SINCE_1_37}
_LATER: Final = "1.37: "


def _cases(release: str) -> Cases:
    cases_by_section: Cases = {}
    expression = ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()[4:]:
        if line.startswith("# "):
            cases = cases_by_section.setdefault(line[2:], [])
        elif line.startswith("    "):
            outcome = line[4:].removeprefix(_LATER)
            if outcome != line[4:]:
                if release != "1.37":
                    continue
                cases.pop()
            cases.append((expanded(expression), outcome[2:] if outcome.startswith("! ") else _WORDS[outcome]))
        else:
            expression = line
    return cases_by_section


CASES: Final = {release: _cases(release) for release in LANGUAGES}
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[\w$]+|\s+|.', re.DOTALL)
WORDS: Final = [_WORD.findall(expression) for cases in CASES["1.36"].values() for expression, _ in cases]
