"""Reading without the garbage collector, which would walk all that was read again and again and find nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause the collector, and leave it afterwards as it was.

    Nothing of a scenario or a cluster refers to itself in a circle.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
