"""YAML of every kind is read in time that grows with its length, not with its square."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

import pytest

from kschedweb.clusters.importing.documents import TextLimits, documents_read
from kschedweb.engine.documents.files import ReadError, read_documents
from kschedweb.playground.scenarios.validation import check_scenario
from kschedweb.policies.dialects import check_either
from kschedweb.web.errors import ApplicationError
from tests.bench.conftest import measure_milliseconds

SHORT, LONG = 20_000, 80_000  # characters
MOST_TIMES = 12.0  # as long for four times the text, where the square would be 16
LEAST_MILLISECONDS = 20.0  # milliseconds: shorter times say nothing about growth
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
LIMITS = TextLimits(size=1 << 20, depth=50, nodes=1_000_000)
SHAPES: dict[str, Callable[[int], str]] = {
    "a whole number of base 60": lambda size: "parallelism: 1" + ":00" * (size // 3),
    "a fraction of base 60": lambda size: "parallelism: 1" + ":00" * (size // 3) + ".5",
    "digits": lambda size: "parallelism: " + "9" * size,
    "a fraction that is none": lambda size: "parallelism: 1." + "9" * size + "x",
    "underscores": lambda size: "parallelism: 1" + "_" * size + "x",
    "tag directives": lambda size: "".join(f"%TAG !a{n}! x\n" for n in range(size // 14)) + "---\na: 1",
    "unknown keys": lambda size: "".join(f"k{n}: 1\n" for n in range(size // 10)),
    "one key again and again": lambda size: "parallelism: 1\n" * (size // 15),
    "a long key": lambda size: f"? {'k' * (size // 2)}\n: [{'1, ' * (size // 6)}]",
    "an alias as a key": lambda size: f"- &a {'k' * (size // 2)}\n- {{{'*a : 1, ' * (size // 16)}}}",
    "brackets": lambda size: "a: " + "[" * size,
    "empty items": lambda size: "a: [" + "1," * (size // 2) + "]",
    "comments": lambda size: "# c\n" * (size // 4) + "a: 1",
    "lines of text": lambda size: "a: " + "x\n  " * (size // 4),
}
COMMIT = {"a fraction that is none", "one key again and again", "brackets"}  # the others are read by the full tier


def read(text: str) -> None:
    """By every reader: policies (the engine's among them), scenarios, the command line's, and imports."""
    check_either(HEAD + text)
    check_scenario(text)
    with contextlib.suppress(ReadError):
        read_documents(text.encode())
    with contextlib.suppress(ApplicationError):
        documents_read(text, LIMITS)


@pytest.mark.parametrize(
    "shape", [shape if shape in COMMIT else pytest.param(shape, marks=pytest.mark.nightly) for shape in SHAPES]
)
def test_yaml_is_read_in_time_by_length(shape: str, report: Callable[..., None]) -> None:
    texts = (SHAPES[shape](size) for size in (SHORT, LONG))
    short, long = ([measure_milliseconds(partial(read, text)) for _ in range(5)] for text in texts)
    ratio = min(long) / min(short)  # others on the machine only make it slower
    report(f"{LONG:,} characters: {shape}", long, 0, f"{ratio:.1f} times as long as {SHORT:,}")
    assert ratio <= MOST_TIMES or min(long) <= LEAST_MILLISECONDS
