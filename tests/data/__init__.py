"""Recordings that tests, experiments and benchmarks replay; README.md says where they are from."""

from pathlib import Path

DATA = Path(__file__).parent
