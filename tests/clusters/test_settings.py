"""A wrong allowlist or key stops the start and names its variable, never its value."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from kschedweb.clusters.apps import check_connection_settings


@pytest.mark.parametrize("name", ["CLUSTER_ALLOWLIST", "EXTENDER_ALLOWLIST", "REPOSITORY_ALLOWLIST"])
@pytest.mark.parametrize("entry", ["10.0.0.0/99", "not a name", "*example.com", "*.", "https://example.com", "-a"])
def test_a_wrong_allowlist_stops_the_start(settings: Settings, name: str, entry: str) -> None:
    setattr(settings, name, ["10.0.0.0/8", entry])
    with pytest.raises(ImproperlyConfigured, match=f"KSCHEDWEB_{name} must list"):
        apps.get_app_config("clusters").ready()


def test_a_short_key_stops_the_start(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = ["a" * 40, "hunter2"]
    with pytest.raises(ImproperlyConfigured, match="KSCHEDWEB_ENCRYPTION_KEYS is shorter") as caught:
        apps.get_app_config("clusters").ready()
    assert "hunter2" not in str(caught.value)


def test_good_values_and_none_at_all_start(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = ["10.0.0.0/8", "fd00::/8", "192.168.1.1", "api.example.com", "*.example.com", "*"]
    check_connection_settings()
    settings.CLUSTER_ALLOWLIST = settings.ENCRYPTION_KEYS = []
    check_connection_settings()
