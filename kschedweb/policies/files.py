"""Files that the arguments of a policy point at: documents that the site stores under the file's name.

``policyConfigPath: /etc/kubernetes/policy.yaml`` means the stored DynamicSchedulerPolicy named ``policy``. A revision
keeps the text as it was when it was saved, in its process, so that it decides the same for ever.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from kschedweb.engine.config.files import pointed
from kschedweb.engine.documents.marked import DocumentError, parse
from kschedweb.engine.releases import CURRENT
from kschedweb.engine.releases.older import readable
from kschedweb.policies.dialect import Kind
from kschedweb.policies.models import Revision

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


NAME = re.compile(r"[-a-z0-9]{1,63}")


class Pinned(NamedTuple):
    """A file of a revision: its path, and the revision whose text it is; ``None`` where the text was passed in."""

    path: str
    revision: Revision | None
    newest: bool


def stored_name(path: str) -> str:
    """The name under which the file at ``path`` is stored."""
    return PurePosixPath(path).stem


def with_files(document: str, process: Mapping[str, Any]) -> dict[str, Any]:
    """``process`` with the files that ``document`` points at: as stored now, else as they were passed in."""
    try:
        paths = {path for path, _ in pointed(parse(readable(document)).data, CURRENT)}
    except DocumentError:
        return dict(process)
    given = process.get("files") or {}
    if not isinstance(given, dict) or not (paths or given):
        return dict(process)  # which is told when it is checked
    stored = _newest(stored_name(path) for path in paths if path.isprintable())
    found = {path: text for path, text in given.items() if path in paths}
    found |= {path: stored[stored_name(path)].document for path in paths if stored_name(path) in stored}
    rest = {name: value for name, value in process.items() if name != "files"}
    return {**rest, "files": found} if found else rest


def pinned(process: Mapping[str, Any]) -> list[Pinned]:
    """The files of a revision's ``process``, by path."""
    files = process.get("files") or {}
    named = Revision.objects.filter(policy__kind=Kind.CRANE, policy__name__in={stored_name(path) for path in files})
    rows = list(named.select_related("policy").order_by("-number")) if files else []
    found = []
    for path, text in sorted(files.items()):
        listed = [row for row in rows if row.policy.name == stored_name(path)]
        same = next((row for row in listed if row.document == text), None)
        found.append(Pinned(path, same, same is not None and same == listed[0]))
    return found


def _newest(names: Iterable[str]) -> dict[str, Revision]:
    known = {name for name in names if NAME.fullmatch(name)}
    if not known:
        return {}
    rows = Revision.objects.filter(policy__kind=Kind.CRANE, policy__name__in=known).select_related("policy")
    return {row.policy.name: row for row in rows.order_by("number")}
