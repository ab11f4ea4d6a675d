"""Changes of a policy: what they make of its text, what is offered, and what is refused beside its field."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedweb.accounts.models import User
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.releases import CURRENT, RELEASES
from kschedweb.playground.trying.changes import Content, PolicyEdit, apply_change, list_offers
from kschedweb.policies.models import Revision
from kschedweb.web.errors import ApplicationError
from tests.decisions.conftest import policy, revision
from tests.engine.studies.gates import PACKED
from tests.support import seed_moves

__all__ = ["policy", "revision"]
pytestmark = pytest.mark.django_db
WEIGHT = "profiles[0].plugins.score.enabled[{}].weight"
OLD = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"


def score_weights(revision: Revision, content: Content) -> dict[str, int]:
    """The weights of the plugins that score under ``content``."""
    configuration = revision.policy.dialect.load(content.document, content.process)
    return {plugin.name: plugin.weight for plugin in configuration.profiles[0].points["score"]}


def test_every_offer_does_what_it_says_and_leaves_the_rest(revision: Revision) -> None:
    offers = list_offers(revision)
    before = score_weights(revision, Content.from_revision(revision))
    assert {offer.label: offer.now for offer in offers.weights} == before
    for offer in offers.weights:
        assert score_weights(
            revision, apply_change(revision, PolicyEdit(values={offer.path: 2 * offer.now}))
        ) == before | {offer.label: 2 * offer.now}
        zeroed_weights = score_weights(revision, apply_change(revision, PolicyEdit(values={offer.path: 0})))
        assert zeroed_weights == {name: weight for name, weight in before.items() if name != offer.label}
    (packing,) = offers.strategies
    assert (packing.label, packing.detail) == (
        "Pack pods onto fewer nodes",
        "NodeResourcesFit: LeastAllocated → MostAllocated",
    )
    content = apply_change(revision, PolicyEdit.from_key(packing.key))
    fit = revision.policy.dialect.load(content.document, {}).profiles[0].args["NodeResourcesFit"]
    assert fit["scoringStrategy"]["type"] == "MostAllocated"
    assert score_weights(revision, content) == before
    assert offers.releases == [name for name in RELEASES if name != CURRENT.name]
    assert list_offers(revision, "v1.35.2").releases == [name for name in RELEASES if name != "1.35"]
    for name in offers.releases:
        changed_content = apply_change(revision, PolicyEdit.from_key(f"release={name}"))
        assert changed_content == Content(revision.document, {"release": name})


def test_a_policy_that_packs_is_offered_to_spread(policy: Callable[..., Revision]) -> None:
    packing_revision = policy("packed", f"# why we pack\n{PACKED}")
    (spreading,) = list_offers(packing_revision).strategies
    assert spreading.label == "Spread pods over the nodes"
    content = apply_change(packing_revision, PolicyEdit.from_key(spreading.key))
    assert content.document == packing_revision.document.replace("MostAllocated", "LeastAllocated")  # with its comment


def test_changes_add_up_in_their_order(revision: Revision, policy: Callable[..., Revision]) -> None:
    packing_revision = policy("packed", PACKED)
    path = WEIGHT.format("ImageLocality")
    change = PolicyEdit(Content.from_revision(packing_revision), {path: 7}, "1.36", {"GangScheduling": False})
    content = apply_change(revision, change)
    assert parse_document(content.document).data["profiles"][0]["plugins"]["score"]["enabled"] == [
        {"name": "ImageLocality", "weight": 7}
    ]
    assert "MostAllocated" in content.document
    assert content.process == {"release": "1.36", "featureGates": {"GangScheduling": False}}


def test_a_document_of_an_old_version_is_changed_as_what_it_becomes(policy: Callable[..., Revision]) -> None:
    revision = policy("old", OLD)
    content = apply_change(revision, PolicyEdit.from_key(f"{WEIGHT.format('ImageLocality')}=5"))
    assert parse_document(content.document).data["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert score_weights(revision, content)["ImageLocality"] == 5


def test_a_classic_policy_has_offers_of_its_own(editor: User) -> None:
    classic = seed_moves.classic(editor)
    offers = list_offers(classic)
    assert {weight.label: weight.now for weight in offers.weights} == {
        "MostRequestedPriority": 2,
        "SelectorSpreadPriority": 1,
    }
    assert (offers.strategies, offers.releases) == ([], ["1.9"])
    content = apply_change(classic, PolicyEdit(values={offers.weights[0].path: 4}))
    assert classic.policy.dialect.load(content.document, {}).weights["MostRequestedPriority"] == 4
    zeroed_content = apply_change(classic, PolicyEdit(values={offers.weights[0].path: 0}))
    assert [priority["name"] for priority in parse_document(zeroed_content.document).data["priorities"]] == [
        "SelectorSpreadPriority"
    ]
    assert apply_change(classic, PolicyEdit(release="1.9")).process == {"version": "1.9"}


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (PolicyEdit(values={"profiles[0].nothing": 1}), "values", "profiles[0].nothing: the policy has no such field."),
        (PolicyEdit(values={"profiles[": 1}), "values", "must be keys"),
        (PolicyEdit(values={"parallelism.more": 1}), "values", "the policy has no such field"),
        (PolicyEdit(release="9.99"), "release", "must be one of 1.34"),
        (PolicyEdit(gates={"Nonsense": True}), "release", "Nonsense"),
    ],
)
def test_what_the_policy_does_not_have_is_refused_beside_its_field(
    revision: Revision, change: PolicyEdit, path: str, message: str
) -> None:
    with pytest.raises(ApplicationError) as caught:
        apply_change(revision, change)
    (problem,) = caught.value.errors
    assert problem["path"] == path
    assert message in problem["message"]
