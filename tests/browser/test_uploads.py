"""Files that lie, uploaded over the page and over REST to a site that `make run` started, which outlives them."""

from __future__ import annotations

import gzip
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import requests
from playwright.sync_api import expect

from tests.support.browser import window
from tests.support.processes import wait_until
from tests.support.site import PASSWORD, MadeRun, Site, made_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

COLUMNS = "name cpu_milli memory_mib num_gpu gpu_milli gpu_spec qos pod_phase"
TIMES = "creation_time deletion_time scheduled_time"
HEAD = f"{COLUMNS} {TIMES}\n".replace(" ", ",").encode()
MILLIONS = 10_000_000


def pods(*rows: str) -> bytes:
    return HEAD + "".join(f"{row}\n" for row in rows).encode()


def gzip_repeated(head: bytes, line: bytes, times: int) -> bytes:
    """Compress ``head`` and so many times ``piece`` with gzip, without ever holding all of it."""
    packing = zlib.compressobj(9, wbits=31)
    lines = line * 10_000
    chunks = [packing.compress(head), *(packing.compress(lines) for _ in range(times // 10_000)), packing.flush()]
    return b"".join(chunks)


GOOD = pods(*(f"p{number},100,64,0,0,,LS,Running,{number},{number + 60},{number}" for number in range(50)))
GOOD_GZIPPED = gzip.compress(GOOD)
ROW = "{},1000,1024,0,0,,LS,Running,{},,{}"


@dataclass(frozen=True)
class HostileUpload:
    """A file that lies about itself, and the problem that the site must name."""

    name: str
    content: Callable[[], bytes]
    expected_problem: str
    status: int = 400


HOSTILE_UPLOADS = [
    HostileUpload("size.csv", lambda: GOOD_GZIPPED[:-4] + struct.pack("<I", 7), "damaged"),
    HostileUpload("half.csv", lambda: GOOD_GZIPPED[:-20], "ends too early"),
    HostileUpload("bomb.csv", lambda: gzip_repeated(HEAD, b"\n" * 64, 2_000_000), "larger than this site takes", 413),
    HostileUpload("archive.csv", lambda: b"PK\x03\x04" + GOOD, "zip"),
    HostileUpload("wide.csv", lambda: GOOD.decode().encode("utf-16"), "line 1: is not UTF-8 text"),
    HostileUpload("null.csv", lambda: GOOD.replace(b"LS", b"\0\0"), "NUL"),
    HostileUpload("empty.csv", lambda: gzip.compress(b" \n"), "there is no line that can be used"),
    HostileUpload("many.csv", lambda: gzip_repeated(b"t\n", b"0\n", MILLIONS), "more than 5,000,000 lines"),
    HostileUpload("negative.csv", lambda: pods(*(ROW.format(f"p{n}", -n - 1, 0) for n in range(2000))), "negative"),
]
DOCUMENT = """\
name: uploads
base: {empty: true}
changes:
  - addNodes: {name: worker, count: 4, allocatable: {cpu: "16", memory: 64Gi}}
"""
TRACE_ARRIVALS = "arrivals:\n  - trace: {{file: {name}, format: openb}}\nrun: {{until: 1h}}\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadeRun]:
    with made_run(tmp_path_factory.mktemp("uploads"), KSCHEDWEB_ADMIN_PASSWORD=PASSWORD) as run:
        yield run


@pytest.fixture(scope="module")
def site(run: MadeRun) -> Site:
    run.site.login("admin", PASSWORD)
    return run.site


@pytest.fixture(scope="module")
def scenario(site: Site) -> str:
    scenario = site.ask("POST", "scenarios/", {"document": DOCUMENT})
    return str(scenario["id"])


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    with window(browser, site) as page:
        yield page


def upload_file(page: Page, scenario: str, name: str, content: bytes) -> None:
    """Over the page, as a person does."""
    page.goto(f"/scenarios/{scenario}/files/")
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    with page.expect_navigation():
        page.get_by_role("button", name="Upload", exact=True).click()


def send_file(site: Site, scenario: str, name: str, content: bytes) -> requests.Response:
    """Over REST, as a program does."""
    headers = {"Content-Type": "text/csv"}
    return site.call_rest("POST", f"scenarios/{scenario}/files/?name={name}", data=content, headers=headers)


def play_scenario(site: Site, scenario: str) -> tuple[str, str]:
    """Id of a run that has ended, and the error of its job."""
    started = site.ask("POST", "runs/start/", {"scenario": scenario, "policy": "default"})
    job: dict[str, str] = {}

    def has_ended() -> bool:
        job.update(site.ask("GET", f"jobs/{started['job']}/"))
        return job["state"] in ("succeeded", "failed", "cancelled")

    wait_until(has_ended, "the run ended", step=0.2)
    return started["id"], job["error"]


# A browser shows each as REST says it: one of them tells for a commit.
@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(hostile, id=hostile.name, marks=[pytest.mark.nightly] if at != 2 else [])
        for at, hostile in enumerate(HOSTILE_UPLOADS)
    ],
)
def test_a_file_that_lies_is_refused_in_the_same_words_everywhere(
    page: Page, site: Site, scenario: str, hostile: HostileUpload
) -> None:
    content = hostile.content()
    upload_file(page, scenario, hostile.name, content)
    expect(page.locator("main .field-error")).to_contain_text(hostile.expected_problem)
    answer = send_file(site, scenario, hostile.name, content)
    assert answer.status_code == hostile.status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert hostile.expected_problem in answer.json()["detail"]
    page.reload()
    assert hostile.name not in [file["name"] for file in site.ask("GET", f"scenarios/{scenario}/files/")["results"]]


def test_lines_that_cannot_be_used_are_told_of_with_their_numbers_and_the_rest_is_played(
    page: Page, site: Site, scenario: str
) -> None:
    """Holes, negative values, times that run backwards."""
    rows = [ROW.format("first", 10, 10), "hole,1000,,0,0,,,,20,,20", "less,-5,1,0,0,,,,30,,30", "cut,1"]
    rows += [ROW.format("late", 40, 40), ROW.format("early", 5, 5), "never,1,1,0,0,,,,50,40,50"]
    upload_file(page, scenario, "odd.csv", pods(*rows))
    expect(page.locator("main")).to_contain_text("odd.csv uploaded: 8 lines")
    phrases = ["line 3", "memory_mib is empty", "line 4", "cpu_milli is -5, which is negative", "line 5", "has 2 cells"]
    phrases += ["times run backwards 1 time", "first in line 7", "line 8", "deletion_time is before scheduled_time"]
    for phrase in phrases:
        expect(page.locator("main")).to_contain_text(phrase, ignore_case=True)
    copy = site.ask("POST", f"scenarios/{scenario}/copy/", {"name": "odd"})["id"]
    replay_file(site, copy, "odd.csv")
    run_id, error = play_scenario(site, copy)
    assert not error
    page.goto(f"/runs/{run_id}/")
    for phrase in phrases:
        expect(page.locator("main")).to_contain_text(phrase, ignore_case=True)
    pod_rows = site.ask("GET", f"runs/{run_id}/pods/")["results"]
    names = {pod["pod"] for pod in pod_rows if pod["bound"] is not None}
    assert names == {"default/first", "default/late", "default/early"}


@pytest.mark.nightly
def test_more_pods_than_a_run_takes_end_the_run_with_its_reason_and_the_worker_goes_on(
    page: Page, site: Site, scenario: str
) -> None:
    copy = site.ask("POST", f"scenarios/{scenario}/copy/", {"name": "crowd"})["id"]
    crowd = gzip_repeated(HEAD, b"p,1,1,0,0,,,,0,,\n", 310_000)
    answer = send_file(site, copy, "crowd.csv", crowd)
    assert answer.status_code == 201, answer.text
    replay_file(site, copy, "crowd.csv")
    run_id, error = play_scenario(site, copy)
    assert "there are more than 300,000 pods: set a limit" in error
    page.goto(f"/runs/{run_id}/")
    expect(page.locator("main")).to_contain_text("there are more than 300,000 pods: set a limit")
    assert play_scenario(site, scenario)[1] == ""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("content_length", "body"), [(1 << 30, GOOD), (len(GOOD_GZIPPED) // 2, GOOD_GZIPPED)], ids=["longer", "shorter"]
)
def test_a_body_that_is_not_as_long_as_it_says_harms_nobody_else(
    page: Page, run: MadeRun, site: Site, scenario: str, content_length: int, body: bytes
) -> None:
    cookies = "; ".join(f"{name}={value}" for name, value in site.session.cookies.items())
    head = (
        f"POST /api/v1/scenarios/{scenario}/files/?name=short.csv HTTP/1.1\r\nHost: 127.0.0.1:{run.port}\r\n"
        f"Cookie: {cookies}\r\nX-CSRFToken: {site.session.cookies['csrftoken']}\r\nReferer: {site.url}\r\n"
        f"Content-Type: text/csv\r\nContent-Length: {content_length}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", run.port), timeout=60) as connection:
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass
    page.goto(f"/scenarios/{scenario}/files/")
    expect(page.locator("h1")).to_contain_text("uploads has")
    expect(page.locator("main")).not_to_contain_text("short.csv")


def replay_file(site: Site, scenario: str, file: str) -> None:
    """The scenario's next revision replays ``file``."""
    text = site.ask("GET", f"scenarios/{scenario}/revisions/1/")["document"] + TRACE_ARRIVALS.format(name=file)
    site.ask("POST", f"scenarios/{scenario}/revisions/", {"document": text}, headers={"If-Match": '"1"'})
