"""No refusal and no table holds a secret that somebody once gave; tests/walk/secrets.py asks it of every answer."""

from __future__ import annotations

import pytest
import yaml
from django.db import connection

from kschedweb.clusters.connecting import credentials
from kschedweb.clusters.models import Cluster, ClusterSource

pytestmark = pytest.mark.django_db

SECRET = "s3cret-value-that-nobody-may-read-again"
PEM = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----"


@pytest.fixture
def stored_credentials(seed) -> None:
    """The credentials of a cluster."""
    Cluster.objects.filter(pk=seed.cluster.pk).update(source=ClusterSource.TOKEN, server="https://k8s.example")
    secret = credentials.Secret(server="https://k8s.example", token=SECRET, client_key=PEM, password=SECRET)
    credentials.credential_save(cluster=seed.cluster, secret=secret)


def answer_text(answer) -> str:
    return (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode(errors="replace")


REJECTED_CONNECTIONS = [
    {"source": "token", "server": "http://169.254.169.254/", "token": SECRET},
    {"source": "token", "server": f"https://user:{SECRET}@k8s.example/", "token": SECRET},
    {"source": "token", "server": "https://127.0.0.1:1/", "token": SECRET, "ca": PEM},
    {"source": "token", "server": "nonsense", "token": f"{SECRET}\n{SECRET}"},
    {"source": "kubeconfig", "kubeconfig": f"users: [{{user: {{token: {SECRET}}}}}"},
    {
        "source": "kubeconfig",
        "kubeconfig": yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {"token": SECRET, "exec": {"command": "sh", "args": [SECRET]}}}],
            }
        ),
    },
]


@pytest.mark.parametrize("body", REJECTED_CONNECTIONS, ids=[str(number) for number in range(len(REJECTED_CONNECTIONS))])
def test_a_refusal_does_not_repeat_one(api_as, caplog, body):
    before = Cluster.objects.count()
    answer = api_as("admin").post("/api/v1/clusters/", {"name": "new", **body})
    assert 400 <= answer.status_code < 500, answer.content
    assert SECRET not in answer_text(answer)
    assert SECRET not in caplog.text
    assert Cluster.objects.count() == before


def test_the_database_holds_none_in_the_clear(seed, stored_credentials):
    names = connection.introspection.table_names()
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f'SELECT * FROM "{name}"')
            for row in cursor.fetchall():
                text = " ".join(
                    bytes(v).decode(errors="replace") if isinstance(v, (bytes, memoryview)) else str(v) for v in row
                )
                assert SECRET not in text, name
                assert seed.key not in text, name
