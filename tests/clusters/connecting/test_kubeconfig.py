"""Kubeconfigs from strangers: what carries its value is taken, what runs, reads or redirects is refused by name."""

from __future__ import annotations

import base64
import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedweb.clusters.connecting.client import tls_context
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.connecting.kubeconfig import KubeconfigError, kubeconfig_contexts, kubeconfig_read
from kschedweb.clusters.connecting.sources import token_secret
from tests.support.certificates import certificate

CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def kubeconfig(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": "https://kube:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": "abc"} if user is None else user}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "default"}}],
        **more,
    }


def read(document: dict[str, Any], context: str = "") -> Secret:
    return kubeconfig_read(yaml.safe_dump(document), context)


def test_a_token_and_an_inline_authority_are_taken() -> None:
    encoded = base64.b64encode(CA.encode()).decode()
    secret = read(kubeconfig({"certificate-authority-data": encoded, "tls-server-name": "kube.internal"}))
    assert (secret.server, secret.token, secret.ca) == ("https://kube:6443", "abc", CA)
    assert secret.tls_server_name == "kube.internal"


def test_a_client_certificate_is_taken_with_its_key() -> None:
    encoded = base64.b64encode(b"PEM").decode()
    secret = read(kubeconfig(user={"client-certificate-data": encoded, "client-key-data": encoded}))
    assert (secret.client_certificate, secret.client_key) == ("PEM", "PEM")
    with pytest.raises(KubeconfigError, match="go together"):
        read(kubeconfig(user={"client-certificate-data": encoded}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("exec", {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", "id"]}),
        ("auth-provider", {"name": "gcp", "config": {"cmd-path": "/bin/sh"}}),
        ("tokenFile", "/var/run/secrets/token"),
        ("client-certificate", "/etc/passwd"),
        ("client-key", "/home/admin/.ssh/id_rsa"),
        ("as", "system:admin"),
        ("as-uid", "1"),
        ("as-groups", ["system:masters"]),
        ("as-user-extra", {"a": ["b"]}),
        ("future-key", "x"),
    ],
)
def test_a_user_that_runs_reads_or_impersonates_is_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(KubeconfigError, match=f"^{key} is refused: ") as caught:
        read(kubeconfig(user={"token": "abc", key: value}))
    assert caught.value.errors[0]["path"] == f"users[u].user.{key}"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("certificate-authority", "/etc/ssl/ca.pem"),
        ("proxy-url", "http://evil:3128"),
        ("insecure-skip-tls-verify", True),
        ("future-key", "x"),
    ],
)
def test_a_cluster_with_files_or_proxies_is_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(KubeconfigError, match=f"^{key} is refused: ") as caught:
        read(kubeconfig({key: value}))
    assert caught.value.errors[0]["path"] == f"clusters[c].cluster.{key}"


def test_a_user_without_credentials_tells_the_context_and_the_server_for_a_token() -> None:
    with pytest.raises(KubeconfigError) as caught:
        read(kubeconfig(user={"exec": {"command": "aws"}}))
    assert (caught.value.context, caught.value.server) == ("one", "https://kube:6443")
    caught.value.context = "x; rm -r ~"
    assert caught.value.context_word == "'x; rm -r ~'"


def test_keys_that_are_switched_off_do_no_harm() -> None:
    assert read(kubeconfig({"insecure-skip-tls-verify": False, "proxy-url": ""})).token == "abc"


def test_other_entries_are_not_judged() -> None:
    document = kubeconfig()
    document["users"].append({"name": "other", "user": {"exec": {"command": "aws"}}})
    assert read(document).token == "abc"


@pytest.mark.parametrize(
    ("plural", "entry"),
    [("users", {"name": "x", "user": None}), ("contexts", {"name": "x"}), ("clusters", {"name": "x", "cluster": None})],
)
def test_an_empty_entry_elsewhere_is_none_of_ours(plural: str, entry: dict[str, Any]) -> None:
    document = kubeconfig()
    document[plural].append(entry)
    assert read(document).token == "abc"


def test_a_context_whose_user_is_empty_says_what_the_user_lacks() -> None:
    document = kubeconfig()
    document["users"] = [{"name": "u", "user": None}]
    with pytest.raises(KubeconfigError, match="has no token and no client certificate"):
        read(document)


@pytest.mark.parametrize("plural", ["users", "contexts", "clusters"])
def test_two_entries_of_one_name_are_refused_as_kubectl_does(plural: str) -> None:
    document = kubeconfig()
    document[plural].append(copy.deepcopy(document[plural][0]))
    with pytest.raises(KubeconfigError, match=f"{plural} has the name .* twice"):
        read(document)


def test_comments_around_the_certificates_of_an_authority_are_passed_over(tmp_path: Path) -> None:
    authority = certificate(tmp_path).read_text()
    commented = f"# Größe: unsere Stelle\nSubject: CN=ca\n{authority}# Ende\n{authority}"
    encoded = base64.b64encode(commented.encode()).decode()
    secret = read(kubeconfig({"certificate-authority-data": encoded}))
    assert len(tls_context(secret).get_ca_certs()) == 1
    typed = token_secret("https://kube:6443", "abc", commented)
    assert len(tls_context(typed).get_ca_certs()) == 1


def test_a_user_of_an_openid_provider_is_told_so() -> None:
    with pytest.raises(KubeconfigError, match="OpenID provider") as caught:
        read(kubeconfig(user={"auth-provider": {"name": "oidc", "config": {"id-token": "x"}}}))
    assert "program" not in caught.value.detail


def test_the_context_is_chosen_by_name_or_by_being_alone() -> None:
    document = kubeconfig()
    document["contexts"].append({"name": "two", "context": {"cluster": "c", "user": "second"}})
    document["users"].append({"name": "second", "user": {"token": "xyz"}})
    assert kubeconfig_contexts(yaml.safe_dump(document)) == ["one", "two"]
    assert read(document, "two").token == "xyz"
    document["current-context"] = ""
    with pytest.raises(KubeconfigError, match="choose one of one, two"):
        read(document)
    with pytest.raises(KubeconfigError, match="no context three: choose"):
        read(document, "three")
    document["contexts"].pop()
    assert read(document).token == "abc"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just words",
        "[]",
        "{}",
        "a: 1",
        "clusters: 3\ncontexts: []\nusers: []",
        "clusters: [{name: c}]\ncontexts: []",
        "clusters: [3]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a",
        "contexts: [{name: a, context: 3}]\ncurrent-context: a",
        "contexts: [{name: a, context: {cluster: 3}}]\ncurrent-context: a",
        "kind: Secret\nclusters: []",
        "clusters: &a [*a]",
        "x: [" * 500,
        yaml.safe_dump(kubeconfig({"server": 5})),
        yaml.safe_dump(kubeconfig({"server": ""})),
        yaml.safe_dump(kubeconfig({"certificate-authority-data": "%%%"})),
        yaml.safe_dump(kubeconfig(user={})),
        yaml.safe_dump(kubeconfig(user={"token": 5})),
        yaml.safe_dump(kubeconfig(users=[])),
        "#" * (1024 * 1024 + 1),
    ],
)
def test_what_is_no_kubeconfig_says_so(text: str) -> None:
    with pytest.raises(KubeconfigError):
        kubeconfig_read(text)


BROKEN = "abc\r\nX-Remote-User: admin"


@pytest.mark.parametrize(
    ("cluster", "user", "path"),
    [
        ({}, {"token": BROKEN}, "users[u].user.token"),
        ({}, {"token": "a b"}, "users[u].user.token"),
        ({}, {"token": "\u00e4"}, "users[u].user.token"),
        ({}, {"username": BROKEN, "password": "x"}, "users[u].user.username"),
        ({}, {"username": "a:b", "password": "x"}, "users[u].user.username"),
        ({}, {"username": "a", "password": BROKEN}, "users[u].user.password"),
        ({"tls-server-name": BROKEN}, {"token": "abc"}, "clusters[c].cluster.tls-server-name"),
        ({"tls-server-name": ".."}, {"token": "abc"}, "clusters[c].cluster.tls-server-name"),
    ],
)
def test_what_would_break_out_of_its_header_is_refused(cluster: Any, user: Any, path: str) -> None:
    with pytest.raises(KubeconfigError) as caught:
        read(kubeconfig(cluster, user))
    assert [error["path"] for error in caught.value.errors] == [path]
    assert "abc" not in caught.value.detail


def test_errors_hold_no_secret() -> None:
    with pytest.raises(KubeconfigError) as caught:
        read(kubeconfig(user={"token": "very-secret", "exec": {"command": "hidden"}}))
    assert "very-secret" not in str(caught.value.errors) + caught.value.detail
    assert "hidden" not in str(caught.value.errors) + caught.value.detail
