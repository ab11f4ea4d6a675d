"""Evictions as objects and as lines for a shell."""

from __future__ import annotations

import json
import shlex

import pytest

from kschedweb.engine.objects.evictions import kubectl_line, make_eviction


def test_a_line_is_what_people_would_write() -> None:
    assert kubectl_line("shop/web-1") == (
        'echo \'{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web-1","namespace":"shop"}}\' '
        "| kubectl create --raw /api/v1/namespaces/shop/pods/web-1/eviction -f -"
    )


@pytest.mark.parametrize("name", ["web", "it's", "$(id)", "a; b", 'a"b'])
def test_a_shell_reads_no_name_as_a_command(name: str) -> None:
    _, body, pipe, *words = shlex.split(kubectl_line(f"shop/{name}"))
    assert json.loads(body) == make_eviction(f"shop/{name}")
    assert [pipe, *words] == [
        *("|", "kubectl", "create", "--raw"), f"/api/v1/namespaces/shop/pods/{name}/eviction", "-f", "-",
    ]  # fmt: skip
