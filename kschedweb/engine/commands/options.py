"""Values of options."""

from __future__ import annotations

import argparse


def whole_number(text: str) -> int:
    """A whole number of at least 1; raises ArgumentTypeError."""
    if not text.isdecimal() or (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be a whole number of at least 1")
    return number
