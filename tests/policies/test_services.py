"""Policies and revisions are made, saved, restored and deleted; nothing is lost and everything is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kschedweb.accounts.models import AuditEntry
from kschedweb.policies import selectors, services
from kschedweb.policies.models import Policy
from kschedweb.web.errors import ApplicationError, Conflict, NotFound, PreconditionFailed

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db

PACKING_DOCUMENT = """\
# Pack nodes.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
"""


@pytest.fixture
def packing_policy(editor: User) -> Policy:
    services.policy_create(name="packed", document=PACKING_DOCUMENT, author=editor, comment="first")
    return selectors.policy_get("packed")


def test_the_default_policy_is_always_there() -> None:
    policy = selectors.policy_get("default")
    assert policy.newest == 1
    assert (
        selectors.load_configuration(selectors.revision_get(policy)).profiles[0].scheduler_name == "default-scheduler"
    )


def test_a_policy_begins_with_revision_1_and_keeps_the_text(packing_policy: Policy, editor: User) -> None:
    revision = selectors.revision_get(packing_policy)
    assert (revision.number, revision.document, revision.author, revision.comment) == (
        1,
        PACKING_DOCUMENT,
        editor,
        "first",
    )
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.verb, entry.object_name, entry.actor) == ("policy.created", "packed", editor)


def test_saving_makes_the_next_revision(packing_policy: Policy, editor: User) -> None:
    revision = services.revision_save(
        policy=packing_policy,
        document=PACKING_DOCUMENT.replace("Most", "Least"),
        author=editor,
        expected=1,
        comment="spread",
    )
    assert revision.number == 2
    assert [listed_revision.number for listed_revision in selectors.revision_list(packing_policy)] == [2, 1]
    assert selectors.revision_get(packing_policy, 1).document == PACKING_DOCUMENT
    assert AuditEntry.objects.filter(verb="policy.saved", details__revision=2).exists()


def test_saving_the_same_text_makes_none(packing_policy: Policy, editor: User) -> None:
    text = "\ufeff" + PACKING_DOCUMENT.replace("\n", "\r\n").rstrip()
    assert services.revision_save(policy=packing_policy, document=text, author=editor, expected=1).number == 1
    assert packing_policy.revisions.count() == 1


def test_an_update_of_an_older_revision_is_refused(packing_policy: Policy, editor: User) -> None:
    services.revision_save(policy=packing_policy, document=PACKING_DOCUMENT + "# a\n", author=editor, expected=1)
    with pytest.raises(PreconditionFailed, match="Revision 2"):
        services.revision_save(policy=packing_policy, document=PACKING_DOCUMENT + "# b\n", author=editor, expected=1)
    assert packing_policy.revisions.count() == 2


def test_what_kube_scheduler_refuses_is_not_saved_and_told_at_its_line(packing_policy: Policy, editor: User) -> None:
    with pytest.raises(services.InvalidPolicyDocument) as caught:
        services.revision_save(
            policy=packing_policy, document=PACKING_DOCUMENT + "parallelism: 0\n", author=editor, expected=1
        )
    (problem,) = caught.value.errors
    assert problem["path"] == "parallelism"
    assert dict(problem)["line"] == PACKING_DOCUMENT.count("\n") + 1
    assert packing_policy.revisions.count() == 1


def test_a_private_key_is_not_kept(packing_policy: Policy, editor: User) -> None:
    document = PACKING_DOCUMENT + "extenders:\n- urlPrefix: https://x\n  tlsConfig:\n    keyData: aGVsbG8=\n"
    with pytest.raises(services.InvalidPolicyDocument, match="private key"):
        services.revision_save(policy=packing_policy, document=document, author=editor, expected=1)


def test_a_token_is_not_kept(packing_policy: Policy, editor: User) -> None:
    provider = "{type: Prometheus, address: 'https://x', token: hush}"
    document = (
        f"{PACKING_DOCUMENT}      - name: TargetLoadPacking\n        args:\n          metricProvider: {provider}\n"
    )
    with pytest.raises(services.InvalidPolicyDocument, match="token") as caught:
        services.revision_save(policy=packing_policy, document=document, author=editor, expected=1)
    (problem,) = caught.value.errors
    assert problem["path"] == "profiles[0].pluginConfig[1].args.metricProvider.token"
    assert "hush" not in str(caught.value.errors)


def test_restoring_makes_a_new_revision(packing_policy: Policy, editor: User) -> None:
    services.revision_save(policy=packing_policy, document=PACKING_DOCUMENT + "# more\n", author=editor, expected=1)
    revision = services.revision_restore(policy=packing_policy, number=1, author=editor, expected=2)
    assert (revision.number, revision.document, revision.comment) == (3, PACKING_DOCUMENT, "Restored revision 1")
    with pytest.raises(NotFound):
        services.revision_restore(policy=packing_policy, number=9, author=editor, expected=3)


@pytest.mark.parametrize("name", ["new", "validate", "", "-a", "A", "a_b", "a" * 64, "ä", "a b", "a\n"])
def test_a_name_that_cannot_be_an_address_is_refused(name: str, editor: User) -> None:
    with pytest.raises(ApplicationError) as caught:
        services.policy_create(name=name, document=PACKING_DOCUMENT, author=editor)
    assert caught.value.errors[0]["path"] == "name"


def test_a_taken_name_is_a_conflict(packing_policy: Policy, editor: User) -> None:
    with pytest.raises(Conflict):
        services.policy_create(name="packed", document=PACKING_DOCUMENT, author=editor)


def test_a_policy_goes_with_its_revisions_but_default_stays(packing_policy: Policy, editor: User) -> None:
    services.policy_delete(policy=packing_policy, author=editor)
    assert not Policy.objects.filter(name="packed").exists()
    assert AuditEntry.objects.filter(verb="policy.deleted", object_name="packed").exists()
    with pytest.raises(Conflict):
        services.policy_delete(policy=selectors.policy_get("default"), author=editor)
    with pytest.raises(NotFound):
        services.revision_save(policy=packing_policy, document=PACKING_DOCUMENT, author=editor, expected=1)
