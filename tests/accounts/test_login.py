from __future__ import annotations

import json
import re
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client
from django.urls import get_resolver, reverse

from kschedweb.accounts.models import AuditEntry, User
from tests.support.html import elements

pytestmark = pytest.mark.django_db


def log_in(client: Client, username: str, password: str, **extra):
    return client.post(reverse("login"), {"username": username, "password": password}, **extra)


def test_a_login_opens_the_page_that_was_asked_for(viewer):
    client = Client()
    redirect = client.get(reverse("tokens"))
    assert redirect.status_code == 302
    assert redirect["Location"] == f"{reverse('login')}?next={reverse('tokens')}"
    form = client.get(redirect["Location"])
    assert f'name="next" value="{reverse("tokens")}"' in form.content.decode()
    response = client.post(
        reverse("login"), {"username": "viewer", "password": "viewer-password", "next": reverse("tokens")}
    )
    assert response["Location"] == reverse("tokens")


def test_a_login_never_leads_to_another_site(viewer):
    response = Client().post(
        reverse("login"), {"username": "viewer", "password": "viewer-password", "next": "https://evil.example/"}
    )
    assert response["Location"] == reverse(settings.LOGIN_REDIRECT_URL)


def test_a_login_changes_the_session_key(viewer):
    client = Client()
    client.get(reverse("login"))
    session = client.session
    session["planted"] = True
    session.save()
    before = session.session_key
    log_in(client, "viewer", "viewer-password")
    assert client.session.session_key != before


def test_a_wrong_password_is_said_beside_the_form(viewer):
    answer = log_in(Client(), "viewer", "wrong")
    assert answer.status_code == 200
    assert [error.code for error in answer.context["form"].non_field_errors().as_data()] == ["invalid_login"]
    assert elements(answer, "[role=alert]")


def test_five_wrong_passwords_close_the_login_for_a_while_even_to_the_right_one(viewer):
    client = Client()
    answers = [log_in(client, "viewer", "wrong") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 4 + [429]
    right = log_in(client, "viewer", "viewer-password")
    assert right.status_code == 429
    assert int(right["Retry-After"]) == 15 * 60
    assert "Too many attempts" in right.content.decode()
    assert "wait 15 minutes" in right.content.decode()


def test_a_locked_name_tells_nobody_whether_it_exists(viewer):
    pages = []
    for name in ("viewer", "nobody"):
        for _ in range(5):
            answer = log_in(Client(), name, "wrong")
        pages.append((answer.status_code, answer.content.decode().replace(name, "NAME")))
    assert pages[0][0] == pages[1][0] == 429
    strip = [page[1].split("</head>")[1].split("<h1>")[1] for page in pages]
    assert strip[0] == strip[1]


def test_a_lockout_of_one_address_leaves_the_others_alone(viewer):
    for _ in range(6):
        log_in(Client(REMOTE_ADDR="192.0.2.1"), "viewer", "wrong")
    assert log_in(Client(REMOTE_ADDR="192.0.2.2"), "viewer", "viewer-password").status_code == 302


def test_an_invented_forwarding_header_does_not_escape_the_lockout(viewer):
    for number in range(5):
        answer = log_in(Client(), "viewer", "wrong", HTTP_X_FORWARDED_FOR=f"192.0.2.{number}")
    assert answer.status_code == 429


def test_logging_out_is_by_post_only(client_as):
    client = client_as("viewer")
    assert client.get(reverse("logout")).status_code == 405
    assert client.get(reverse("settings")).status_code == 200
    assert client.post(reverse("logout")).status_code == 302
    assert client.get(reverse("settings")).status_code == 302


def test_a_post_from_another_origin_is_refused(viewer):
    client = Client(enforce_csrf_checks=True)
    page = client.get(reverse("login"))
    token = page.context["csrf_token"]
    data = {"username": "viewer", "password": "viewer-password", "csrfmiddlewaretoken": str(token)}
    rejection = client.post(reverse("login"), data, HTTP_ORIGIN="https://evil.example")
    assert rejection.status_code == 403
    assert "came from another site" in rejection.content.decode()
    assert client.post(reverse("login"), data, HTTP_ORIGIN="http://testserver").status_code == 302


def test_a_deactivated_person_is_out_at_once(client_as, viewer):
    client = client_as("viewer")
    User.objects.filter(pk=viewer.pk).update(is_active=False)
    assert client.get(reverse("settings")).status_code == 302
    assert log_in(Client(), "viewer", "viewer-password").status_code == 200


def test_changing_the_password_ends_the_other_sessions_and_keeps_this_one(client_as):
    this_client, elsewhere = client_as("viewer"), client_as("viewer")
    response = this_client.post(
        reverse("password"),
        {
            "old_password": "viewer-password",
            "new_password1": "A-much-longer-1",
            "new_password2": "A-much-longer-1",
        },
    )
    assert response.status_code == 302
    assert this_client.get(reverse("settings")).status_code == 200
    assert elsewhere.get(reverse("settings")).status_code == 302
    entry = AuditEntry.objects.get(verb="user.password-changed")
    assert "A-much-longer-1" not in str(entry.details)


def test_a_weak_password_is_refused_beside_the_field(client_as):
    answer = client_as("viewer").post(
        reverse("password"), {"old_password": "viewer-password", "new_password1": "12345", "new_password2": "12345"}
    )
    assert answer.status_code == 200
    assert "too short" in answer.content.decode()


def test_ending_other_sessions_keeps_this_one(client_as):
    this_client, elsewhere = client_as("viewer"), client_as("viewer")
    assert this_client.post(reverse("sessions-end")).status_code == 302
    assert this_client.get(reverse("settings")).status_code == 200
    assert elsewhere.get(reverse("settings")).status_code == 302


FRAGMENT_HEADERS = {"HX-Request": "true", "HX-Current-URL": "http://testserver/jobs/?state=running"}


def stays(answer, status: int) -> dict[str, str]:
    """``answer`` changes nothing on the page that asked for it; what it tells the page's script."""
    assert answer.status_code == status
    assert answer.content == b""
    assert not {"HX-Redirect", "HX-Location", "HX-Refresh", "Location"} & set(answer.headers)
    return json.loads(answer["HX-Trigger"])["refused"]


def test_a_part_of_a_page_tells_where_to_log_in_and_leaves_the_page_as_it_is(db):
    login_hint = stays(Client().get(reverse("jobs"), headers=FRAGMENT_HEADERS), 401)
    assert login_hint["address"] == f"{reverse('login')}?next=/jobs/%3Fstate%3Drunning"
    assert login_hint["detail"] == "Your session has ended."


# Addresses that come from the view, or are those of the page itself, and the routes where they stand.
PLACES = {
    "{% querystring top=page.newest|default:None %}": {"jobs"},
    "{% querystring cursor=None page=None top=None format=None news=page.newest %}": {
        *("approvals-history", "audit", "comparisons", "fleet-trials", "gate", "jobs", "live-shadow", "migration"),
        *("nodes", "pods", "recordings", "runs", "sweeps"),
    },
    "{{ address }}": {
        *("capacity-answer", "decision-answer", "fleet", "fleet-trial", "gate-verdict", "migration-answer"),
    },
    "?span={{ span }}": {"live-shadow"},
}


def polled_routes() -> set[str]:
    """Names of the routes that templates ask again and again."""
    folder = settings.BASE_DIR / "frontend" / "templates"
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.html")]
    tags = [tag for text in texts for tag in re.findall(r'<[^<>]*hx-trigger="[^"]*every[^>]*>', text)]
    matches = [re.search(r"""hx-get="\{% url '([\w-]+)'""", tag) for tag in tags]
    unnamed = [re.search(r'hx-get="([^"]*)"', tag) for tag, name in zip(tags, matches, strict=True) if name is None]
    assert {match[1] for match in unnamed if match} <= set(PLACES)
    return {name[1] for name in matches if name}.union(*PLACES.values())


def address_of(name: str) -> str:
    """An address of the route, about something that need not exist."""
    ((_, parameters),) = get_resolver().reverse_dict.getlist(name)[0][0]
    values = {parameter: uuid4() for parameter in parameters}
    return reverse(name, kwargs=values)


@pytest.mark.parametrize("name", sorted(polled_routes()))
def test_no_part_that_asks_again_and_again_moves_its_page(name, client_as, viewer):
    address = address_of(name)
    assert stays(Client().get(address, headers=FRAGMENT_HEADERS), 401)["address"].startswith("/login/")
    User.objects.filter(pk=viewer.pk).update(must_change_password=True)
    assert stays(client_as("viewer").get(address, headers=FRAGMENT_HEADERS), 403)["address"].startswith("/password/")
