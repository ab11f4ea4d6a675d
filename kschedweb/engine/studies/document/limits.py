"""Limits of scenarios. A scenario that exceeds one of them is refused with an error."""

from __future__ import annotations

# Of one scenario.
MOST_OBJECTS = 300_000
MOST_CHANGES = 10_000
# Nodes that one change adds.
MOST_COUNT = 20_000
MOST_NODES = 20_000
MOST_REPLICAS = 100_000
MOST_SHAPES = 1_000
# Steps of a load, and cron entries of a workload.
MOST_STEPS = 1_000
# Pods that exist at any time of a scenario.
MOST_PODS = 300_000
MOST_EVENTS = 1_000_000
# Workloads that follow recorded use.
MOST_FOLLOWERS = 20_000
# Workloads times samples of recorded use.
MOST_USE = 20_000_000

# Of one file.
MOST_LINES = 5_000_000
# Characters of a line of a CSV file.
MOST_LINE = 1 << 16
# Characters of a line that holds a whole object: the API server takes bodies of 3 MiB at most (`MaxRequestBodyBytes`).
MOST_RECORD = 3 << 20
MOST_COLUMNS = 1_000
# Lines of a file whose problems are listed one by one.
MOST_NOTES = 20
