"""The difference of two JSON values as JSON. Changes of objects are stored in this form.

A patch is ``["v", value]`` (another value), ``["d", {key: patch}, [removed keys]]`` or ``["l", {index: patch}]``, for a
list that keeps its length. ``None`` means that nothing differs.
"""

from __future__ import annotations

from typing import Any

Patch = list[Any]


def make_patch(old: Any, new: Any) -> Patch | None:
    """Return the patch that makes ``new`` of ``old``."""
    if isinstance(old, dict) and isinstance(new, dict):
        changed = {}
        for key, value in new.items():
            patch = ["v", value] if key not in old else make_patch(old[key], value)
            if patch is not None:
                changed[key] = patch
        removed = [key for key in old if key not in new]
        return ["d", changed, removed] if changed or removed else None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        patches = {index: make_patch(item, other) for index, (item, other) in enumerate(zip(old, new, strict=True))}
        changes = {str(index): patch for index, patch in patches.items() if patch is not None}
        return ["l", changes] if changes else None
    # In Python 1 == True == 1.0, but in JSON they differ.
    return None if type(old) is type(new) and old == new else ["v", new]


def apply_patch(old: Any, patch: Patch) -> Any:
    """Return ``old`` with ``patch`` applied. ``old`` is changed in place where it can be."""
    if patch[0] == "v":
        return patch[1]
    if patch[0] == "l":
        for index, inner in patch[1].items():
            old[int(index)] = apply_patch(old[int(index)], inner)
        return old
    for key in patch[2]:
        del old[key]
    for key, inner in patch[1].items():
        old[key] = apply_patch(old.get(key), inner)
    return old
