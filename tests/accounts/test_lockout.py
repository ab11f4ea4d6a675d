"""Limits on tries of a password; tests/live/test_lockout_live.py asks real processes behind a proxy."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

import pytest
from axes.models import AccessAttempt
from django.contrib.auth import hashers
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils.module_loading import import_string

from kschedweb import settings as production
from kschedweb.accounts import hashing, lockout, services
from kschedweb.accounts.models import AuditEntry
from kschedweb.web.errors import TooManyRequests
from tests.support.processes import wait_until


def log_in(username: str, password: str, address: str = "192.0.2.1"):
    return Client(REMOTE_ADDR=address).post(reverse("login"), {"username": username, "password": password})


@pytest.mark.django_db
class TestByAddress:
    @pytest.fixture(autouse=True)
    def limit(self, settings):
        settings.LOGIN_ADDRESS_LIMIT = 10

    def test_trying_names_one_after_the_other_ends_for_this_address_and_no_other(self, viewer):
        statuses = [log_in(f"name-{number}", "Summer-2026").status_code for number in range(10)]
        assert statuses == [200] * 9 + [429]
        assert log_in("viewer", "viewer-password").status_code == 429
        assert log_in("viewer", "viewer-password", "192.0.2.2").status_code == 302

    def test_a_correct_password_in_between_takes_back_nothing_of_other_names(self, viewer):
        for number in range(9):
            log_in(f"name-{number}", "Summer-2026")
        assert log_in("viewer", "viewer-password").status_code == 302
        assert log_in("name-9", "Summer-2026").status_code == 429

    def test_a_correct_password_takes_back_the_failures_of_its_own_name(self, viewer):
        for _ in range(4):
            assert [log_in("viewer", "wrong").status_code for _ in range(4)] == [200] * 4
            assert log_in("viewer", "viewer-password").status_code == 302

    def test_addresses_of_one_ipv6_network_are_one(self, viewer):
        for number in range(10):
            log_in(f"name-{number}", "Summer-2026", f"2001:db8:1:1::{number:x}")
        assert log_in("viewer", "viewer-password", "2001:db8:1:1::ffff").status_code == 429
        assert log_in("viewer", "viewer-password", "2001:db8:1:2::1").status_code == 302

    def test_a_refused_try_writes_nothing_and_prolongs_nothing(self, viewer):
        for _ in range(5):
            log_in("viewer", "wrong")
        before = list(AccessAttempt.objects.values()), list(AuditEntry.objects.values())
        for _ in range(3):
            assert log_in("viewer", "wrong").status_code == 429
        assert (list(AccessAttempt.objects.values()), list(AuditEntry.objects.values())) == before


@pytest.mark.django_db
def test_a_password_typed_as_the_name_is_kept_nowhere(viewer, capfd):
    for _ in range(6):
        log_in("My-real-Passw0rd", "x")
    rows = [*AccessAttempt.objects.values(), *AuditEntry.objects.values()]
    assert len(rows) > 1
    assert "My-real-Passw0rd" not in str(rows)
    assert "My-real-Passw0rd" not in capfd.readouterr().err


@pytest.mark.django_db
def test_guessing_the_old_password_of_an_open_session_is_limited_as_a_login_is(client_as):
    client = client_as("viewer")
    guess = {"old_password": "guess", "new_password1": "Lovelace-1815", "new_password2": "Lovelace-1815"}
    assert [client.post(reverse("password"), guess).status_code for _ in range(5)] == [200] * 4 + [429]
    right = {**guess, "old_password": "viewer-password"}
    assert client.post(reverse("password"), right).status_code == 429


@pytest.mark.django_db
def test_an_address_has_a_few_turns_at_a_time_and_others_have_theirs(viewer):
    request = RequestFactory().post("/login/", REMOTE_ADDR="192.0.2.1")
    with ExitStack() as turns:
        for _ in range(lockout.TURNS):
            turns.enter_context(lockout.password_turn(request))
        rejection = log_in("viewer", "viewer-password")
        assert rejection.status_code == 429
        assert int(rejection["Retry-After"]) > 0
        assert "Too many passwords are being tried from your address" in rejection.content.decode()
        assert log_in("viewer", "viewer-password", "192.0.2.2").status_code == 302
    assert log_in("viewer", "viewer-password").status_code == 302


def production_hasher() -> type[hashers.PBKDF2PasswordHasher]:
    return import_string(
        getattr(production, "PASSWORD_HASHERS", ["django.contrib.auth.hashers.PBKDF2PasswordHasher"])[0]
    )


class ProbeHasher(hashers.PBKDF2PasswordHasher):
    """Django's hasher, quick, and with a look at what goes on meanwhile."""

    running = peak = 0
    in_transaction = False
    lock = threading.Lock()

    def encode(self, password, salt, iterations=None):
        cls = type(self)
        with cls.lock:
            cls.running += 1
            cls.peak = max(cls.peak, cls.running)
            cls.in_transaction |= connection.in_atomic_block
        time.sleep(0.02)  # so that others could begin
        with cls.lock:
            cls.running -= 1
        return super().encode(password, salt, 1)


class ProbedHasher(production_hasher(), ProbeHasher):  # type: ignore[misc]  # the first base is a setting
    """The hasher of production, over the probe."""


@pytest.fixture
def probed_hasher(settings):
    settings.PASSWORD_HASHERS = [f"{__name__}.ProbedHasher"]
    ProbedHasher.peak, ProbedHasher.in_transaction = 0, False
    return ProbedHasher


def test_a_process_hashes_one_password_at_a_time(probed_hasher):
    threads = [threading.Thread(target=hashers.make_password, args=("x",)) for _ in range(1 + hashing.WAITING)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert probed_hasher.peak == 1


def test_those_who_wait_leave_threads_to_others(probed_hasher, monkeypatch):
    monkeypatch.setattr(hashing, "PATIENCE", 60)
    with hashing._hashing_turn():
        threads = [threading.Thread(target=hashers.make_password, args=("x",)) for _ in range(hashing.WAITING)]
        for thread in threads:
            thread.start()
        wait_until(lambda: hashing._queue._value == 0, "as many wait as may")
        with pytest.raises(TooManyRequests):
            hashers.make_password("x")
    for thread in threads:
        thread.join()


@pytest.mark.django_db
def test_who_waits_too_long_is_asked_to_come_again(probed_hasher, viewer, monkeypatch):
    monkeypatch.setattr(hashing, "PATIENCE", 0)
    with hashing._hashing_turn():
        rejection = log_in("viewer", "viewer-password")
        with pytest.raises(TooManyRequests):
            services.user_reset_password(actor=None, user=viewer)
    assert rejection.status_code == 429
    assert int(rejection["Retry-After"]) >= 0


@pytest.mark.django_db(transaction=True)
def test_no_password_is_hashed_while_a_transaction_keeps_others_waiting(probed_hasher, admin):
    user, _ = services.user_create(actor=admin, username="ada", role="viewer")
    services.user_reset_password(actor=admin, user=user)
    services.password_change(user=user, password="Lovelace-1815")
    user.role = "viewer"
    admin.delete()
    services.admin_ensure(username="root", password="Given-by-the-operator")
    assert probed_hasher.peak == 1
    assert not probed_hasher.in_transaction
