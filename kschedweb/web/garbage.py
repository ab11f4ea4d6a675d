"""The garbage collector, which is to look for circles of objects seldom.

A process that has read clusters holds a million objects that live long. By its own limits the collector walks all of
them for half a second after each few clusters more, and stops every thread for so long: that made reading a cluster
twice as dear. What the site leaves in circles is small.
"""

from __future__ import annotations

import gc

# New objects until the youngest are looked at; how many looks until the middle ones are, and then until all are.
LIMITS = 20_000, 5, 50


def look_seldom(**_: object) -> None:
    """For a process that has imported all that it serves with: that is never looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*LIMITS)
