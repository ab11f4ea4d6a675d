"""Files of millions of lines: refused or read within bounds of memory, in a process of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

MIB = 600  # what a process may hold beside its modules: 300,000 pods fit in half of it
CHILD = """
import sys, zlib
from kschedweb.engine.studies import ScenarioError, prepare_scenario, read_scenario

NAMES = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)

def rows(time):
    yield (NAMES + "\\n").encode()
    for start in range(0, 10_000_000, 10_000):
        yield "".join(f"p{n},1,1,0,0,,,,{time(n)},,\\n" for n in range(start, start + 10_000)).encode()

def packed(pieces):
    packing = zlib.compressobj(9, wbits=31)
    yield from map(packing.compress, pieces)
    yield packing.flush()

def bomb():
    yield NAMES.encode() + b"\\n"
    for _ in range(4096):
        yield b"\\n" * (1 << 20)

def used():
    # The peak that the kernel tells by getrusage is the parent's too, where that was higher.
    return next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))

source, limit = {
    "good": (rows(int), None),
    "packed": (packed(rows(int)), None),
    "limited": (rows(int), 1000),
    "negative": (rows(lambda n: -1), None),
    "bomb": (packed(bomb()), None),
}[sys.argv[1]]
begun = used()
trace = {"file": "f", "format": "openb", **({"limit": limit} if limit else {})}
try:
    scenario = read_scenario({"name": "x", "arrivals": [{"trace": trace}]})
    made = prepare_scenario(scenario, [], {"f": source}, seed=1, now=0.0)
    print(used() - begun, len(made.events), "pods")
except ScenarioError as error:
    print(used() - begun, error)
"""


@pytest.mark.parametrize(
    ("kind", "expected_text"),
    [
        ("good", "there are more than 300,000 pods: set a limit"),
        pytest.param("packed", "there are more than 300,000 pods: set a limit", marks=pytest.mark.nightly),
        ("limited", "1000 pods"),
        ("negative", "line 1002: 1,001 lines cannot be used"),
        pytest.param("bomb", "line 5000001: the file has more than 5,000,000 lines", marks=pytest.mark.nightly),
    ],
)
def test_ten_million_lines_are_read_within_bounds(kind: str, expected_text: str) -> None:
    command = [sys.executable, "-c", CHILD, kind]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    mib, _, text = completed.stdout.partition(" ")
    assert expected_text in text
    assert int(mib) <= MIB
