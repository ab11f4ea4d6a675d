"""Command line options of both difference hunters."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from tests.support import tiers

SEED = tiers.seed()


def hunt_options(kinds: Iterable[str]) -> argparse.Namespace:
    """``kinds`` (all of those that there are, where none is named), ``seed``, ``count`` and ``most``."""
    all_kinds = list(kinds)
    parser = argparse.ArgumentParser(description="Look for differences to the real scheduler.")
    parser.add_argument("kinds", nargs="*", choices=[*all_kinds, []], default=[])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=200, help="scenarios of each kind")
    parser.add_argument("--most", type=int, default=3, help="differences of each kind to make small")
    options = parser.parse_args()
    options.kinds = options.kinds or all_kinds
    return options
