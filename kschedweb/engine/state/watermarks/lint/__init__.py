"""Checks of the watermark annotations of a cluster: kschedweb's own, and those of crane-scheduler.

Nothing here raises: each finding tells what was seen, on which objects, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from zoneinfo import ZoneInfo

from kschedweb.engine.state.watermarks.annotations import KEY, PREFIX
from kschedweb.engine.state.watermarks.lint.crane import CRANE_KEYS, lint_crane
from kschedweb.engine.state.watermarks.lint.findings import (
    CRANE,
    ERROR,
    HINT,
    KSCHEDWEB,
    WARNING,
    LintFinding,
    Texts,
    format_count,
)
from kschedweb.engine.state.watermarks.lint.kschedweb_form import lint_own

__all__ = ["CRANE", "ERROR", "HINT", "KSCHEDWEB", "WARNING", "LintFinding", "Texts", "lint_annotations"]

_LIKE_CRANE = re.compile(r"(cpu|mem|memory)[_.-]?usage|node[_.-]?hot", re.IGNORECASE)
_LIKE_OWN = re.compile(r"watermarks?\.kschedweb", re.IGNORECASE)


def lint_annotations(nodes: Texts, workloads: Texts, now: float, zone: ZoneInfo) -> list[LintFinding]:
    """Return the findings on the annotations of ``nodes`` and ``workloads``, the worst first.

    ``now`` is when they were read (seconds of the epoch), ``zone`` the assumed zone of crane's texts.
    """
    findings = [
        *lint_own(nodes, workloads, now),
        *lint_crane(nodes, now, zone),
        *_unknown_keys(chain(nodes.items(), workloads.items())),
    ]
    return sorted(findings, key=lambda finding: (ERROR, WARNING, HINT).index(finding.level))


def _unknown_keys(listed: Iterable[tuple[str, Mapping[str, str]]]) -> Iterable[LintFinding]:
    """Yield findings for keys that look like ours or crane's and are neither."""
    own_keys, other = [], []
    for name, texts in listed:
        for key in texts:
            if key != KEY and (key.startswith(PREFIX) or _LIKE_OWN.search(key)):
                own_keys.append(f"{name}: {key}")
            elif key not in CRANE_KEYS and _LIKE_CRANE.match(key.rpartition("/")[2]):
                other.append(f"{name}: {key}")
    if own_keys:
        message = f"Like kschedweb's own, but read by nobody: {format_count(own_keys, 'annotation')}."
        yield LintFinding("unknown-key", WARNING, KSCHEDWEB, message, f"The only key is {KEY}.", tuple(own_keys))
    if other:
        message = f"Like crane's, but not in its published policy: {format_count(other, 'annotation')}."
        advice = f"A policy of your own may name them. Known here: {', '.join(sorted(CRANE_KEYS))}."
        yield LintFinding("unknown-key", HINT, CRANE, message, advice, tuple(other))
