"""Files that the arguments of a policy point at: documents that the site stores under the file's name.

``policyConfigPath: /etc/kubernetes/policy.yaml`` means the stored DynamicSchedulerPolicy named ``policy``. A revision
keeps the text as it was when it was saved, in its process, so that it decides the same for ever.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from kschedweb.engine.config.files import list_pointed_files
from kschedweb.engine.documents.marked_documents import MarkedDocumentError, parse_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT
from kschedweb.engine.releases.older import make_readable
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.models import Revision

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


NAME = re.compile(r"[-a-z0-9]{1,63}")


class Pinned(NamedTuple):
    """A file of a revision."""

    path: str
    # The revision whose text it is; None if the text was passed in.
    revision: Revision | None
    # True if that revision is still the newest.
    newest: bool


def stored_name(path: str) -> str:
    """Return the name under which the file at ``path`` is stored."""
    return PurePosixPath(path).stem


def with_files(document: str, process: Mapping[str, Any]) -> Json:
    """Return ``process`` with the files that ``document`` points at: as stored now, else as they were passed in."""
    try:
        paths = {path for path, _ in list_pointed_files(parse_document(make_readable(document)).data, CURRENT)}
    except MarkedDocumentError:
        return dict(process)
    passed_files = process.get("files") or {}
    if not isinstance(passed_files, dict) or not (paths or passed_files):
        # The check reports files that are not an object.
        return dict(process)
    stored = _newest_revisions(stored_name(path) for path in paths if path.isprintable())
    files = {path: text for path, text in passed_files.items() if path in paths}
    files |= {path: stored[stored_name(path)].document for path in paths if stored_name(path) in stored}
    other_options = {name: value for name, value in process.items() if name != "files"}
    return {**other_options, "files": files} if files else other_options


def list_pinned_files(process: Mapping[str, Any]) -> list[Pinned]:
    """List the files of a revision's ``process``, by path."""
    files = process.get("files") or {}
    revisions = Revision.objects.filter(
        policy__kind=PolicyKind.CRANE, policy__name__in={stored_name(path) for path in files}
    )
    rows = list(revisions.select_related("policy").order_by("-number")) if files else []
    pinned_files = []
    for path, text in sorted(files.items()):
        listed = [row for row in rows if row.policy.name == stored_name(path)]
        same = next((row for row in listed if row.document == text), None)
        pinned_files.append(Pinned(path, same, same is not None and same == listed[0]))
    return pinned_files


def _newest_revisions(names: Iterable[str]) -> dict[str, Revision]:
    valid_names = {name for name in names if NAME.fullmatch(name)}
    if not valid_names:
        return {}
    rows = Revision.objects.filter(policy__kind=PolicyKind.CRANE, policy__name__in=valid_names).select_related("policy")
    return {row.policy.name: row for row in rows.order_by("number")}
