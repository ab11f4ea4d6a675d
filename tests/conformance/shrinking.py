"""Makes a JSON value as small as it can be while something about it stays true."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[Any, ...]
Check = Callable[[list[Any]], list[bool]]


def shrink(value: Any, check: Check, keep: frozenset[str] = frozenset(), max_forms: int = 4000) -> Any:
    """The smallest form of ``value`` found that ``check`` says yes to.

    ``check`` is asked about many forms at once. Items of lists go in halves, then quarters, down to single ones, and
    fields of objects one by one, the outermost first; fields named in ``keep`` stay. At most ``most`` forms are tried.
    """
    form_count, changed = 0, True
    while changed and form_count < max_forms:
        changed = False
        for depth in range(_depth(value) + 1):
            size = max((len(part) for part in _parts(value, depth)), default=0)
            while size:
                forms = list(_list_removals(value, depth, size, keep))
                form_count += len(forms)
                value, smaller = _best(value, forms, check)
                changed |= smaller
                if not smaller or form_count >= max_forms:
                    size //= 2
    return value


def _best(value: Any, forms: list[tuple[Path, list[Any]]], check: Check) -> tuple[Any, bool]:
    """Take everything away that can go alone; where all of it together cannot go, only the first of it."""
    verdicts = check([_drop(value, [form]) for form in forms]) if forms else []
    possible = [form for form, fine in zip(forms, verdicts, strict=True) if fine]
    while possible:
        together = _drop(value, possible)
        if len(possible) == 1 or check([together])[0]:
            return together, True
        possible = possible[: len(possible) // 2]
    return value, False


def _drop(value: Any, forms: list[tuple[Path, list[Any]]]) -> Any:
    """A copy without the named items."""
    smaller = json.loads(json.dumps(value))  # unlike deepcopy it gives each holder items of its own
    for path, keys in sorted(
        forms, key=lambda form: [str(key).zfill(9) for key in (*form[0], form[1][0])], reverse=True
    ):
        holder = smaller
        for step in path:
            holder = holder[step]
        for key in sorted(keys, reverse=True):
            del holder[key]
    return smaller


def _list_removals(value: Any, depth: int, size: int, keep: frozenset[str]) -> Iterator[tuple[Path, list[Any]]]:
    for path, part in _walk(value, (), depth):
        keys = list(range(len(part))) if isinstance(part, list) else [key for key in part if key not in keep]
        for first in range(0, len(keys), size):
            yield path, keys[first : first + size]


def _walk(value: Any, path: Path, depth: int) -> Iterator[tuple[Path, Any]]:
    """The lists and objects ``depth`` levels down, with the way to each."""
    if not isinstance(value, dict | list):
        return
    if not depth:
        yield path, value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _walk(item, (*path, key), depth - 1)


def _parts(value: Any, depth: int) -> list[Any]:
    return [part for _, part in _walk(value, (), depth)]


def _depth(value: Any) -> int:
    if not isinstance(value, dict | list):
        return -1
    return 1 + max((_depth(item) for item in (value.values() if isinstance(value, dict) else value)), default=-1)
