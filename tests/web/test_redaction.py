from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.web.redaction import MASK, redact, redact_text

TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"got {TOKEN} back", TOKEN),
        ("Authorization: Bearer abcDEF123", "abcDEF123"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("cannot reach postgres://joe:s3cret@db/name", "s3cret"),
        ("redis://:s3cret@cache:6379/0", "s3cret"),
        (f"key is {PEM} here", "MIIEow"),
        ("-----BEGIN PRIVATE KEY-----\ncut off: MIIEow", "MIIEow"),
        ("password=hunter2 user=joe", "hunter2"),
        ('{"client-key-data": "TFMwdExT"}', "TFMwdExT"),
        ("token: abc123", "abc123"),
        ("ksw_abcdefgh_" + "x" * 32, "x" * 32),
        ("kse_" + "y" * 43, "y" * 43),
    ],
)
def test_what_looks_like_a_secret_is_masked(text, secret):
    redacted = redact_text(text)
    assert secret not in redacted
    assert MASK in redacted


@pytest.mark.parametrize(
    "text",
    [
        "0/3 nodes are available: 1 Insufficient cpu.",
        "https://10.0.0.1:6443 did not answer",
        "the pod web-7f9c is pending",
        "node(s) had untolerated taint(s)",
    ],
)
def test_ordinary_sentences_stay_as_they_are(text):
    assert redact_text(text) == text


SECRET = st.text(st.characters(categories=["L", "N"]), min_size=12, max_size=40)


@given(secret=SECRET, name=st.sampled_from(["password", "new_password1", "Authorization", "kubeconfig", "api_key"]))
def test_a_field_named_like_a_secret_is_masked_at_any_depth(secret, name):
    assert secret not in str(redact({"request": [{"data": {name: secret}}]}))


def test_what_is_no_text_stays_what_it_is():
    assert redact({"count": 3, "ok": True, "none": None, "list": [1.5]}) == {
        "count": 3,
        "ok": True,
        "none": None,
        "list": [1.5],
    }
