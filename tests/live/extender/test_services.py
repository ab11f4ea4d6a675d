"""Settings of an extender, its secret, and the configuration to paste."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest
import yaml

from kschedweb.accounts.models import AuditEntry
from kschedweb.engine.releases import load
from kschedweb.live.extender import services
from kschedweb.live.extender.configuration import extender_configuration, extender_yaml, list_warnings
from kschedweb.live.extender.models import Endpoint
from kschedweb.live.extender.secrets import compute_digest, shows_secret
from kschedweb.live.extender.selectors import configuration_of, endpoint_of, plugins_in_force
from kschedweb.live.schedulers.services import live_roll_out
from kschedweb.policies.services import policy_create
from kschedweb.web.errors import Unprocessable
from kschedweb.web.redaction import redact_text
from tests.support.certificates import certificate

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.live.schedulers.models import LiveScheduler

SITE_URL = "https://kschedweb.example"
PACKING = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "TargetLoadPacking", "weight": 3}]}}}],
}


def header(secret: str, user: str = "kschedweb") -> str:
    return "Basic " + base64.b64encode(f"{user}:{secret}".encode()).decode()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> str:
    return certificate(tmp_path_factory.mktemp("authority")).read_text().strip()


@pytest.fixture
def packing(live: LiveScheduler, admin: User) -> LiveScheduler:
    """One whose policy has a plugin that kube-scheduler lacks."""
    policy = policy_create(author=admin, name="packing", document=yaml.safe_dump(PACKING))
    assert live.revision is not None
    return live_roll_out(user=admin, live=live, revision=policy.revisions.get(), expected=live.revision)


def test_a_secret_opens_until_the_next_is_made_and_only_its_digest_is_kept(live: LiveScheduler, admin: User) -> None:
    first = services.endpoint_secret_make(user=admin, live=live)
    assert Endpoint.objects.get().digest == compute_digest(first)
    assert shows_secret(endpoint_of(live).digest, header(first))
    second = services.endpoint_secret_make(user=admin, live=live)
    digest = endpoint_of(live).digest
    assert shows_secret(digest, header(second))
    assert not shows_secret(digest, header(first))
    audit_log = json.dumps(list(AuditEntry.objects.values("verb", "details", "object_name")), default=str)
    assert "extender.secret-made" in audit_log
    assert first not in audit_log
    assert first not in redact_text(f"POST https://kschedweb:{first}@host/extender/x and {first}")


@pytest.mark.parametrize(
    "presented", ["", "Basic", "Basic !", "Bearer x", "Basic " + "A" * 600, header(""), header("x")]
)
def test_nothing_else_opens(presented: str) -> None:
    assert not shows_secret(compute_digest("kse_right"), presented)
    assert not shows_secret("", header(""))


def test_without_a_choice_the_plugins_that_kube_scheduler_lacks_decide(packing: LiveScheduler, admin: User) -> None:
    assert plugins_in_force(endpoint_of(packing), configuration_of(packing)) == ["TargetLoadPacking"]
    services.endpoint_change(user=admin, live=packing, plugins=["NodeResourcesFit"])
    assert plugins_in_force(endpoint_of(packing), configuration_of(packing)) == ["NodeResourcesFit"]


def test_the_configuration_to_paste_is_what_kube_scheduler_takes(packing: LiveScheduler, admin: User) -> None:
    secret = services.endpoint_secret_make(user=admin, live=packing)
    services.endpoint_change(user=admin, live=packing, preempts=True, binds=True, timeout=2)
    text = extender_yaml(packing, SITE_URL, secret)
    loaded = load(text)
    assert loaded.valid, loaded.errors
    (extender,) = yaml.safe_load(text)["extenders"]
    assert extender == {
        "urlPrefix": f"https://kschedweb:{secret}@kschedweb.example/extender/{packing.pk}",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "preemptVerb": "preempt",
        "bindVerb": "bind",
        "weight": 3,
        "httpTimeout": "2s",
        "nodeCacheCapable": True,
        "ignorable": True,
    }
    assert list_warnings(packing, SITE_URL) == []


def test_an_authority_is_pasted_with_it(packing: LiveScheduler, admin: User, authority: str) -> None:
    services.endpoint_change(user=admin, live=packing, authority=authority, whole_nodes=True)
    document = extender_configuration(packing, SITE_URL)
    loaded = load(document)
    assert loaded.valid, loaded.errors
    (extender,) = document["extenders"]
    assert extender["enableHTTPS"] is True
    assert base64.b64decode(extender["tlsConfig"]["caData"]).decode() == authority
    assert extender["nodeCacheCapable"] is False


def test_what_somebody_should_know_is_said(live: LiveScheduler, admin: User) -> None:
    services.endpoint_change(user=admin, live=live, whole_nodes=True, ignorable=False)
    warnings = " ".join(list_warnings(live, "http://here"))
    for words in ("No secret", "not https", "nothing is decided", "as if no pod", "places no pod"):
        assert words in warnings


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"plugins": ["Unheard"]}, "plugins"),
        ({"plugins": ["NodeResourcesFit", "NodeResourcesFit"]}, "plugins"),
        ({"plugins": "NodeResourcesFit"}, "plugins"),
        ({"filters": False, "prioritizes": False}, "prioritizes"),
        ({"weight": 0}, "weight"),
        ({"timeout": 61}, "timeout"),
        ({"authority": "no certificate"}, "authority"),
        ({"authority": "-----BEGIN PRIVATE KEY-----"}, "authority"),
    ],
)
def test_settings_that_could_not_work_are_refused_at_their_field(
    live: LiveScheduler, admin: User, changes: dict[str, object], field: str
) -> None:
    with pytest.raises(Unprocessable) as raised:
        services.endpoint_change(user=admin, live=live, **changes)
    assert [problem["path"] for problem in raised.value.errors] == [field]
