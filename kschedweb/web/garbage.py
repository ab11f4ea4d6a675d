"""Makes the garbage collector look for cycles of objects seldom.

A process that has read clusters holds a million long-lived objects. With its default limits, the collector walks all of
them for half a second after each few clusters, and stops every thread meanwhile. That made reading a cluster twice as
slow. The site leaves few objects in cycles.
"""

from __future__ import annotations

import gc

# New objects until the youngest generation is collected, its collections until the middle one is, and then until all
# are.
LIMITS = 20_000, 5, 50


def look_seldom(**_: object) -> None:
    """Freeze what a process has imported, which is never looked at again, and collect the rest seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*LIMITS)
