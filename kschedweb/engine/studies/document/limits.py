"""Limits of scenarios; a scenario above one of them is refused with an error."""

from __future__ import annotations

MOST_OBJECTS = 300_000
MOST_CHANGES = 10_000
MOST_COUNT = 20_000  # nodes that one change adds
MOST_NODES = 20_000
MOST_REPLICAS = 100_000
MOST_SHAPES = 1_000
MOST_STEPS = 1_000  # of a load, and cron entries of a workload
MOST_PODS = 300_000  # that come in one scenario
MOST_EVENTS = 1_000_000
MOST_FOLLOWERS = 20_000  # workloads that follow recorded use
MOST_USE = 20_000_000  # workloads times samples of recorded use

# Of one file.
MOST_LINES = 5_000_000
MOST_LINE = 1 << 16  # characters, of a CSV file
MOST_RECORD = 3 << 20  # characters, of a line that holds a whole object
MOST_COLUMNS = 1_000
MOST_NOTES = 20  # lines of a file whose problems are listed one by one
