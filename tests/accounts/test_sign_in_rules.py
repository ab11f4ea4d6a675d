"""Rules from groups to roles, and the configuration of providers: what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from kschedweb.accounts.roles import Role
from kschedweb.accounts.signin import rules as rules_module
from kschedweb.accounts.signin.configuration import header_read, providers_read
from kschedweb.accounts.signin.external_identity import groups_read
from kschedweb.accounts.signin.rules import GrantRule, RoleRule, RoleRules, grant_read, rules_read


def test_rules_know_the_roles_there_are() -> None:
    assert set(rules_module.ROLES) == set(Role.values)


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["admins"], "admin"),
        (["admins", "blocked"], None),  # the first rule that fits decides
        (["team-blue", "admins"], "admin"),
        (["team-blue"], "editor"),
        (["a/team-blue"], "viewer"),
        (["Admins"], "viewer"),
        ([], "viewer"),
    ],
)
def test_the_first_rule_that_fits_decides(groups: list[str], role: str | None) -> None:
    assert rules_read(["blocked=refused", "admins=admin", "team-*=editor"], "viewer").role_of(groups) == role


def test_a_group_is_no_pattern_beyond_its_stars() -> None:
    rule = RoleRule("cn=a.b,ou=[x]*", "viewer")
    assert rule.matches_any(["cn=a.b,ou=[x],dc=z"])
    assert not rule.matches_any(["cn=aXb,ou=[x]"])
    assert not rule.matches_any(["cn=a.b,ou=x"])
    assert rules_read(["cn=x,ou=y=viewer"], "refused").rules == (RoleRule("cn=x,ou=y", "viewer"),)


def test_without_rules_everybody_is_refused() -> None:
    assert RoleRules().role_of(["admins"]) is None


@pytest.mark.parametrize(
    ("word", "grant"),
    [
        ("web=editor@prod", GrantRule("web", "editor", cluster="prod")),
        ("web=editor@prod:shop+web", GrantRule("web", "editor", cluster="prod", namespaces=["shop", "web"])),
        ("cn=x,ou=y=viewer@env=prod:a", GrantRule("cn=x,ou=y", "viewer", label="env=prod", namespaces=["a"])),
        ("team-*=approver@example.com/env=", GrantRule("team-*", "approver", label="example.com/env=")),
        ("ops=admin@*", GrantRule("ops", "admin")),
    ],
)
def test_a_grant_is_written_in_one_word(word: str, grant: GrantRule) -> None:
    assert grant_read(word) == grant


@pytest.mark.parametrize("word", ["web=editor", "web=boss@prod", "web=none@prod", "web=editor@Prod", "web=editor@p:A"])
def test_a_wrong_grant_is_no_grant(word: str) -> None:
    with pytest.raises(ValueError, match=r"is not like|is not one of|is no name"):
        grant_read(word)


def test_every_grant_counts_that_fits_and_lets_in_whom_no_rule_names() -> None:
    rules = rules_read(["blocked=refused"], "refused", ["web=viewer@prod:web", "w*=approver@env=prod"])
    assert rules.role_of(["web"]) == "none"
    assert [str(grant) for grant in rules.grants_for(["web"])] == [
        "viewer in prod, namespaces web",
        "approver in env=prod",
    ]
    assert rules.role_of(["web", "blocked"]) is None
    assert rules.role_of(["other"]) is None


@pytest.mark.parametrize(
    ("claim", "groups"),
    [(["a", "b", "a"], ("a", "b")), ("a", ("a",)), (None, ()), ({"a": 1}, ()), (["a", 1, None, "", "x" * 300], ("a",))],
)
def test_a_claim_of_another_form_names_no_group(claim: object, groups: tuple[str, ...]) -> None:
    assert groups_read(claim) == groups


FILE = """
providers:
- id: company
  label: Company
  issuer: https://sso.example.org/realms/main
  clientId: kschedweb
  clientSecretFile: SECRET
  scopes: [openid, profile, email, groups]
  roles:
  - {group: platform-admins, role: admin}
  grants:
  - {group: web, role: editor, cluster: prod, namespaces: [web, shop]}
  - {group: sre, role: approver, label: env=prod}
  otherwise: viewer
- id: partner
  issuer: https://login.partner.example
  clientId: "42"
"""


def write_providers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "secret").write_text("the-secret\n")
    (tmp_path / "providers.yaml").write_text(text.replace("SECRET", str(tmp_path / "secret")))
    monkeypatch.setenv("KSCHEDWEB_IDENTITY_PROVIDERS", str(tmp_path / "providers.yaml"))


def test_providers_are_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_providers(tmp_path, monkeypatch, FILE)
    monkeypatch.setenv("KSCHEDWEB_OIDC_ISSUER", "https://one.example.org")
    monkeypatch.setenv("KSCHEDWEB_OIDC_CLIENT_ID", "kschedweb")
    monkeypatch.setenv("KSCHEDWEB_OIDC_ROLES", "a=admin, b=viewer")
    monkeypatch.setenv("KSCHEDWEB_OIDC_GRANTS", "a=viewer@prod:x")
    company, partner, oidc = providers_read().values()
    assert (company.client_secret, company.rules.role_of([])) == ("the-secret", "viewer")
    assert "the-secret" not in repr(company)
    assert company.rules.grants == (
        GrantRule("web", "editor", cluster="prod", namespaces=["shop", "web"]),
        GrantRule("sre", "approver", label="env=prod"),
    )
    assert oidc.rules.grants == (GrantRule("a", "viewer", cluster="prod", namespaces=["x"]),)
    assert (partner.label, partner.rules.role_of(["platform-admins"])) == ("partner", None)
    assert (oidc.id, oidc.rules.role_of(["b"]), oidc.rules.role_of([])) == ("oidc", "viewer", None)


@pytest.mark.parametrize(
    ("before", "after", "expected_message"),
    [
        ("https://sso", "http://sso", "issuer must be an https"),
        ("role: admin", "role: boss", "'boss' is not one of"),
        ("clientId: kschedweb", "clientID: kschedweb", "clientID is not known"),
        ("scopes: [openid, ", "scopes: [", "must include openid"),
        ("id: partner", "id: company", "same id"),
        ("id: partner", "id: header", "is not header"),
        ("clientSecretFile: SECRET", "clientSecretFile: absent", "clientSecretFile cannot be read"),
        ("group: platform-admins, ", "", "each rule needs group and role"),
        ("role: editor", "role: none", r"grants: 'none' is not one of"),
        ("cluster: prod, ", "cluster: prod, label: a=b, ", "a cluster or a label"),
        ("label: env=prod", "label: prod", "is no label"),
        ("namespaces: [web, shop]", "namespaces: [Web]", "is no name of a namespace"),
        ("namespaces: [web, shop]", "namespaces: web", "a list of names"),
        ("group: web, ", "", "group and role"),
        ("providers:", "provider:", "a list named providers"),
        ("label: Company", "label: [Company", "well-formed"),
        ("label: Company", "label: 5", "label is of the wrong type"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, expected_message: str
) -> None:
    assert before in FILE
    write_providers(tmp_path, monkeypatch, FILE.replace(before, after, 1))
    with pytest.raises(ImproperlyConfigured, match=expected_message):
        providers_read()


@pytest.mark.parametrize(
    ("proxies", "rules", "expected_message"),
    [("", "", "name the proxy"), ("0.0.0.0/0", "", "not hold all"), ("proxy", "", "proxy"), ("10.0.0.1", "a", "a")],
)
def test_what_is_wrong_of_the_header_is_named(
    monkeypatch: pytest.MonkeyPatch, proxies: str, rules: str, expected_message: str
) -> None:
    monkeypatch.setenv("KSCHEDWEB_REMOTE_USER_HEADER", "X-Remote-User")
    monkeypatch.setenv("KSCHEDWEB_REMOTE_USER_PROXIES", proxies)
    monkeypatch.setenv("KSCHEDWEB_REMOTE_ROLES", rules)
    with pytest.raises(ImproperlyConfigured, match=expected_message):
        header_read()
