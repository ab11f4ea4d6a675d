"""Changes of a policy: what they make of its text, what is offered, and what is refused beside its field."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedweb.accounts.models import User
from kschedweb.engine.documents.marked import parse
from kschedweb.engine.releases import CURRENT, RELEASES
from kschedweb.playground.trying.changes import Change, Content, changed, offers
from kschedweb.policies.models import Revision
from kschedweb.web.errors import ApplicationError
from tests.decisions.conftest import policy, revision
from tests.engine.studies.gates import PACKED
from tests.support import seed_moves

__all__ = ["policy", "revision"]
pytestmark = pytest.mark.django_db
WEIGHT = "profiles[0].plugins.score.enabled[{}].weight"
OLD = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"


def loaded(revision: Revision, content: Content) -> dict[str, int]:
    """The weights of the plugins that score under ``content``."""
    found = revision.policy.dialect.load(content.document, content.process)
    return {one.name: one.weight for one in found.profiles[0].points["score"]}


def test_every_offer_does_what_it_says_and_leaves_the_rest(revision: Revision) -> None:
    offered = offers(revision)
    before = loaded(revision, Content.of(revision))
    assert {one.label: one.now for one in offered.weights} == before
    for one in offered.weights:
        assert loaded(revision, changed(revision, Change.named(one.doubled))) == before | {one.label: 2 * one.now}
        without = loaded(revision, changed(revision, Change.named(one.without)))
        assert without == {name: weight for name, weight in before.items() if name != one.label}
    (packing,) = offered.strategies
    assert (packing.label, packing.detail) == (
        "Pack pods onto fewer nodes",
        "NodeResourcesFit: LeastAllocated → MostAllocated",
    )
    content = changed(revision, Change.named(packing.key))
    fit = revision.policy.dialect.load(content.document, {}).profiles[0].args["NodeResourcesFit"]
    assert fit["scoringStrategy"]["type"] == "MostAllocated"
    assert loaded(revision, content) == before
    assert offered.releases == [name for name in RELEASES if name != CURRENT.name]
    assert offers(revision, "v1.35.2").releases == [name for name in RELEASES if name != "1.35"]
    for name in offered.releases:
        made = changed(revision, Change.named(f"release={name}"))
        assert made == Content(revision.document, {"release": name})


def test_a_policy_that_packs_is_offered_to_spread(policy: Callable[..., Revision]) -> None:
    packed = policy("packed", f"# why we pack\n{PACKED}")
    (spreading,) = offers(packed).strategies
    assert spreading.label == "Spread pods over the nodes"
    content = changed(packed, Change.named(spreading.key))
    assert content.document == packed.document.replace("MostAllocated", "LeastAllocated")  # with its comment


def test_changes_add_up_in_their_order(revision: Revision, policy: Callable[..., Revision]) -> None:
    packed = policy("packed", PACKED)
    path = WEIGHT.format("ImageLocality")
    change = Change(Content.of(packed), {path: 7}, "1.36", {"GangScheduling": False})
    content = changed(revision, change)
    assert parse(content.document).data["profiles"][0]["plugins"]["score"]["enabled"] == [
        {"name": "ImageLocality", "weight": 7}
    ]
    assert "MostAllocated" in content.document
    assert content.process == {"release": "1.36", "featureGates": {"GangScheduling": False}}


def test_a_document_of_an_old_version_is_changed_as_what_it_becomes(policy: Callable[..., Revision]) -> None:
    revision = policy("old", OLD)
    content = changed(revision, Change.named(f"{WEIGHT.format('ImageLocality')}=5"))
    assert parse(content.document).data["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert loaded(revision, content)["ImageLocality"] == 5


def test_a_classic_policy_has_offers_of_its_own(editor: User) -> None:
    classic = seed_moves.classic(editor)
    offered = offers(classic)
    assert {one.label: one.now for one in offered.weights} == {"MostRequestedPriority": 2, "SelectorSpreadPriority": 1}
    assert (offered.strategies, offered.releases) == ([], ["1.9"])
    content = changed(classic, Change.named(offered.weights[0].doubled))
    assert classic.policy.dialect.load(content.document, {}).weights["MostRequestedPriority"] == 4
    without = changed(classic, Change.named(offered.weights[0].without))
    assert [one["name"] for one in parse(without.document).data["priorities"]] == ["SelectorSpreadPriority"]
    assert changed(classic, Change(release="1.9")).process == {"version": "1.9"}


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        (Change(values={"profiles[0].nothing": 1}), "values", "profiles[0].nothing: the policy has no such field."),
        (Change(values={"profiles[": 1}), "values", "must be keys"),
        (Change(values={"parallelism.more": 1}), "values", "the policy has no such field"),
        (Change(release="9.99"), "release", "must be one of 1.34"),
        (Change(gates={"Nonsense": True}), "release", "Nonsense"),
    ],
)
def test_what_the_policy_does_not_have_is_refused_beside_its_field(
    revision: Revision, change: Change, path: str, said: str
) -> None:
    with pytest.raises(ApplicationError) as refused:
        changed(revision, change)
    (problem,) = refused.value.errors
    assert problem["path"] == path
    assert said in problem["message"]
