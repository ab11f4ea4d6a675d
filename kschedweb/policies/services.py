"""Changes of policies. A saved revision is valid for kube-scheduler and never changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext, gettext_noop

from kschedweb.accounts import audit
from kschedweb.accounts.roles import Action
from kschedweb.engine import config
from kschedweb.engine.documents.configmaps import ConfigMapError
from kschedweb.engine.documents.marked_documents import MarkedProblem, with_final_newline
from kschedweb.engine.json_types import Json
from kschedweb.policies.dialect import Dialect
from kschedweb.policies.dialects import DIALECTS, check_either, extract_policy, other_kind
from kschedweb.policies.files import with_files
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.old_versions import as_v1
from kschedweb.policies.repositories.models import RepositoryFile
from kschedweb.policies.revisions import services as revisions
from kschedweb.policies.selectors import DEFAULT_POLICY
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import ApplicationError, Conflict, FieldProblem, NotFound

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

DEFAULT_DOCUMENT = config.default_document()
# A DNS label, as Kubernetes names objects.
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
NAME_HELP = gettext_noop(
    "Lower-case letters, digits and hyphens, at most 63, beginning and ending with a letter or digit."
)
# Names that would hide the pages beside /policies/<name>/.
RESERVED = frozenset({"new", "repositories", "validate"})


class InvalidPolicyDocument(revisions.InvalidRevision):
    default_detail = Dialect.refused


class Content(NamedTuple):
    """The checked content of a revision."""

    kind: str
    document: str
    process: Json
    # A document of a version before v1, converted to v1: the content of the next revision. "" for others.
    v1: str = ""
    # The version that was converted.
    version: str = ""
    warnings: tuple[MarkedProblem, ...] = ()

    @property
    def converted(self) -> Content | None:
        """The content of the revision after this one; ``None`` if there is none."""
        return Content(self.kind, self.v1, self.process) if self.v1 else None


def content_checked(
    document: str, process: Mapping[str, Any] | None = None, policy: Policy | None = None, *, renew: bool = True
) -> Content:
    """Check ``document`` and ``process`` and return them as they are stored. Raises :class:`InvalidPolicyDocument`.

    The policy in the document is stored (``extract_policy``). If there is a ``policy``, both must be of its kind. With
    ``renew`` the files that arguments point at are the newest stored ones, otherwise those of ``process``.
    """
    try:
        text, options = extract_policy(with_final_newline(document)), dict(process or {})
    except ConfigMapError as error:
        raise InvalidPolicyDocument([MarkedProblem(str(error), "data")], str(error)) from None
    if renew:
        options = with_files(text, options)
    checked = check_either(text, options)
    strange = policy and checked.document and other_kind(checked.document, policy.kind, policy.name)
    if strange:
        raise InvalidPolicyDocument([strange], strange.message)
    if not checked.valid:
        raise InvalidPolicyDocument(checked.errors, DIALECTS[checked.kind].refused)
    if checked.secrets:
        raise InvalidPolicyDocument(checked.secrets, "The document holds a private key or a token.")
    dialect = DIALECTS[checked.kind]
    content = Content(dialect.kind, text, dialect.process_to_store(options), warnings=tuple(checked.warnings))
    conversion = checked.conversion
    return content._replace(v1=as_v1(conversion), version=conversion.version) if conversion else content


def _ask_about_warnings(content: Content, accepted: Collection[str] | None, newest: Revision) -> None:
    """Raise ``UnacceptedWarnings`` for warnings whose messages are not ``accepted``; ``None`` accepts all.

    Warnings of the ``newest`` revision were accepted when it was saved.
    """
    if accepted is None or not content.warnings:
        return
    accepted_messages = {*accepted, *(warning.message for warning in newest.checked().warnings)}
    if unaccepted := [warning for warning in content.warnings if warning.message not in accepted_messages]:
        raise revisions.UnacceptedWarnings(unaccepted)


def _of_site(author: User | None) -> None:
    """Refuse users who may edit in some clusters only, because a policy counts in all of them."""
    if author is not None and not author.everywhere(Action.EDIT):
        raise ApplicationError("Policies belong to all clusters: to change one asks for a role in all.", status=403)


def _written_here(policy: Policy) -> None:
    """Refuse to change by hand what a repository would change back."""
    file = RepositoryFile.objects.filter(policy_id=policy.pk, removed=False).select_related("repository").first()
    if file is not None:
        location = f"{file.path} in git repository {file.repository.name}"
        raise Conflict(
            gettext("The policy %(policy)s comes from %(where)s: change it there.")
            % {"policy": policy.name, "where": location}
        )


@transaction.atomic
def policy_create(
    *,
    name: str,
    document: str,
    author: User | None,
    description: str = "",
    comment: str = "",
    process: Mapping[str, Any] | None = None,
    source: str = "",
) -> Policy:
    """Create a policy with revision 1, of the kind of its document. Raises ``Conflict`` if the name is taken.

    A document of a version before v1 gets a revision 2 with its conversion. ``source`` names where the document was
    read, if it was not passed in.
    """
    _of_site(author)
    if not NAME.fullmatch(name) or name in RESERVED:
        problem: FieldProblem = {"path": "name", "message": NAME_HELP}
        if name in RESERVED:
            problem["message"] = f"“{name}” is reserved. Choose another name."
        raise ApplicationError("The name cannot be used.", errors=[problem])
    content = content_checked(document, process)
    name_problem: FieldProblem = {"path": "name", "message": f"A policy named {name} exists already."}
    with conflict_where(
        Policy.objects.filter(name=name), Conflict(gettext("The name is taken."), errors=[name_problem])
    ):
        policy = Policy.objects.create(name=name, description=description, kind=content.kind, created_by=author)
    first = Revision.objects.create(
        policy=policy,
        number=1,
        document=content.document,
        process=content.process,
        # The comment is all that later readers see of where the document came from.
        comment=comment or (f"From {source}" if source else ""),
        author=author,
    )
    _save_converted(first, content)
    audit.record(author, "policy.created", policy, policy.name, revision=1, **({"source": source} if source else {}))
    return policy


@transaction.atomic
def revision_save(
    *,
    policy: Policy,
    document: str,
    author: User | None,
    expected: int,
    comment: str = "",
    process: Mapping[str, Any] | None = None,
    from_repository: bool = False,
    accepted_warnings: Collection[str] | None = None,
) -> Revision:
    """Save the next revision of ``policy``. Returns the newest one if the text has not changed.

    ``process`` is kept if it is ``None``. ``expected`` is the number of the edited revision. Raises
    ``PreconditionFailed`` if that is not the newest, and ``UnacceptedWarnings`` if the document has warnings that
    neither the newest revision nor ``accepted_warnings`` have; ``None`` accepts all.
    """
    _of_site(author)
    if not from_repository:
        _written_here(policy)
    # The row is locked before anything is compared, so that two savers cannot get the same number.
    newest = revisions.newest_locked(policy, Revision.objects.filter(policy_id=policy.pk), expected)
    content = content_checked(document, newest.process if process is None else process, policy)
    _ask_about_warnings(content, accepted_warnings, newest)
    revision = _save_next(newest, content, comment, author)
    if revision is newest:
        return newest
    audit.record(author, "policy.saved", policy, policy.name, revision=revision.number, comment=comment)
    return revision


@transaction.atomic
def revision_restore(*, policy: Policy, number: int, author: User | None, expected: int) -> Revision:
    """Save a new revision with the document of revision ``number``."""
    _of_site(author)
    _written_here(policy)
    newest = revisions.newest_locked(policy, Revision.objects.filter(policy_id=policy.pk), expected)
    old = policy.revisions.filter(number=number).first()
    if old is None:
        raise NotFound(f"Policy {policy.name} has no revision {number}.")
    content = content_checked(old.document, old.process, policy, renew=False)
    revision = _save_next(newest, content, f"Restored revision {number}", author)
    if revision is newest:
        return newest
    audit.record(author, "policy.restored", policy, policy.name, revision=revision.number, restored=number)
    return revision


def _save_next(newest: Revision, content: Content, comment: str, author: User | None) -> Revision:
    """Save the revision after ``newest``. Returns ``newest`` if the content is the same.

    For a document of a version before v1, two are saved: the document, and its conversion, which is returned.
    """
    if (content.document, content.process) == (newest.document, newest.process):
        return newest
    saved = Revision.objects.create(
        policy_id=newest.policy_id,
        number=newest.number + 1,
        document=content.document,
        process=content.process,
        comment=comment,
        author=author,
    )
    return _save_converted(saved, content)


def _save_converted(saved: Revision, content: Content) -> Revision:
    """Save the conversion of an old document as the revision after ``saved``. Returns ``saved`` for a document of
    v1.
    """
    if content.converted is None:
        return saved
    return _save_next(
        saved, content.converted, f"Converted from {content.version}, revision {saved.number}", saved.author
    )


@transaction.atomic
def policy_describe(*, policy: Policy, description: str, author: User | None) -> Policy:
    """Set the description, which is the only field of a policy without revisions."""
    _of_site(author)
    if policy.description != description:
        policy.description = description
        policy.save(update_fields=["description"])
        audit.record(author, "policy.described", policy, policy.name)
    return policy


@transaction.atomic
def policy_delete(*, policy: Policy, author: User | None) -> None:
    """Delete ``policy`` with all its revisions. Raises ``Conflict`` for the policy "default" and for one in use."""
    _of_site(author)
    if policy.name == DEFAULT_POLICY:
        raise Conflict(gettext("The policy “default” cannot be deleted: pages fall back on it."))
    audit.record(author, "policy.deleted", policy, policy.name, revisions=policy.revisions.count())
    try:
        with transaction.atomic():
            policy.delete()
    except ProtectedError:
        raise Conflict(
            gettext("A live scheduler uses the policy %(policy)s: give it another policy first.")
            % {"policy": policy.name}
        ) from None
