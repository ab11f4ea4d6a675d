"""Prometheus as it is, and everything else that may answer in its place."""

from __future__ import annotations

import gzip
import json
import math
import ssl
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters.connecting.addresses import CheckedEndpoint
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.watermarks import prometheus
from kschedweb.watermarks.prometheus import PrometheusError, Vector, run_queries, vector_read
from tests.clusters.conftest import OddServer, Request
from tests.support.certificates import certificate
from tests.watermarks.conftest import vector

AT = 1_700_000_000.25


def endpoint(server: OddServer, path: str = "") -> CheckedEndpoint:
    return CheckedEndpoint("http", "prometheus.example", server.port, "127.0.0.1", path)


def query_one(server: OddServer, secret: Secret | None = None, query: str = "up", seconds: float = 5) -> Vector:
    result = run_queries(endpoint(server), secret or Secret(server=""), {"it": query}, at=AT, seconds=seconds)["it"]
    if isinstance(result, PrometheusError):
        raise result
    return result


def test_a_vector_is_read_with_labels_values_and_warnings(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (200, vector(({"a": "b"}, 1.5), ({}, "NaN"), ({}, "+Inf"), warnings=["slow rule"])))
    vector_read = query_one(odd_server, query='rate(x{a="b"}[5m])')
    assert vector_read.labels == [{"a": "b"}, {}, {}]
    assert vector_read.values[0] == 1.5
    assert math.isnan(vector_read.values[1])
    assert math.isinf(vector_read.values[2])
    assert vector_read.warnings == ["slow rule"]
    http_request = odd_server.requests[0]
    assert http_request.path == (
        "/api/v1/query?query=rate%28x%7Ba%3D%22b%22%7D%5B5m%5D%29&time=1700000000.250"
        f"&timeout={http_request.path.rpartition('=')[2]}"
    )
    assert 4 < float(http_request.path.rpartition("=")[2]) <= 5
    assert http_request.headers["Host"] == f"prometheus.example:{odd_server.port}"
    assert "Authorization" not in http_request.headers


def test_an_answer_of_a_part_of_victoriametrics_storage_says_so(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (200, vector(({}, 1.0), warnings=["slow rule"]) | {"isPartial": True}))
    vector_read = query_one(odd_server)
    assert vector_read.values.tolist() == [1.0]
    assert [vector_read.warnings[0].split(":")[0], vector_read.warnings[1]] == ["The answer is partial", "slow rule"]


@pytest.mark.parametrize(
    ("secret", "header"),
    [
        (Secret(server="", token="t0ken"), "Bearer t0ken"),
        (Secret(server="", username="me", password="pass"), "Basic bWU6cGFzcw=="),
    ],
)
def test_credentials_are_sent_as_prometheus_takes_them(odd_server: OddServer, secret: Secret, header: str) -> None:
    odd_server.json(lambda request: (200, vector()))
    query_one(odd_server, secret)
    assert odd_server.requests[0].headers["Authorization"] == header


def test_a_path_before_the_api_is_kept(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (200, vector()))
    run_queries(endpoint(odd_server, "/prometheus"), Secret(server=""), {"it": "up"}, at=AT, seconds=5)
    assert odd_server.requests[0].path.startswith("/prometheus/api/v1/query?")


def test_a_bad_query_is_told_in_the_words_of_prometheus(odd_server: OddServer) -> None:
    words = 'invalid parameter "query": 1:4: parse error:\nunexpected end of input'
    odd_server.json(lambda request: (400, {"status": "error", "errorType": "bad_data", "error": words}))
    with pytest.raises(PrometheusError, match="unexpected end of input") as caught:
        query_one(odd_server)
    assert caught.value.setting == "query"
    assert "\n" not in caught.value.detail
    assert "(bad_data)" in caught.value.detail


@pytest.mark.parametrize(
    ("status", "headers", "body", "message", "setting"),
    [
        (200, {"Content-Type": "text/html"}, b"<html>login</html>", r"not as Prometheus does \(text/html\)", "address"),
        (200, {"Content-Type": "application/json"}, b"{}", "not as Prometheus does", "address"),
        (200, {}, b"", "not as Prometheus does", "address"),
        (200, {}, b"[" * 100_000, "not as Prometheus does", "address"),
        (500, {}, b"oops", "status 500", "address"),
        (503, {"Content-Type": "text/html"}, b"<html>", "status 503", "address"),
        (302, {"Location": "http://127.0.0.1:1/"}, b"", "sends the request elsewhere", "address"),
        (401, {}, b"no", "does not accept the credentials", "credentials"),
        (403, {}, b"no", "does not accept the credentials", "credentials"),
        (404, {}, b"no", "a path missing", "address"),
        (200, {}, json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}}).encode(),
         "gives a matrix", "query"),
        (200, {}, json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [1, "1"]}}).encode(),
         "gives a scalar", "query"),
        (200, {}, json.dumps({"status": "success"}).encode(), "strange answer", "query"),
        (200, {}, json.dumps({"status": "success", "data": {"resultType": "vector", "result": [{}]}}).encode(),
         "not as Prometheus writes it", "query"),
        (200, {}, json.dumps({"status": "success", "data": {"resultType": "vector", "result": [
            {"metric": {}, "value": [1, "many"]}]}}).encode(), "not as Prometheus writes it", "query"),
    ],
)  # fmt: skip
def test_what_is_not_an_answer_says_what_it_is(
    odd_server: OddServer, status: int, headers: dict[str, str], body: bytes, message: str, setting: str
) -> None:
    odd_server.answer = lambda request: (status, headers, body)
    with pytest.raises(PrometheusError, match=message) as caught:
        query_one(odd_server)
    assert caught.value.setting == setting
    assert len(odd_server.requests) == 1


def test_a_redirect_is_not_followed(odd_server: OddServer) -> None:
    odd_server.answer = lambda request: (307, {"Location": "/elsewhere"}, b"")
    with pytest.raises(PrometheusError, match="not followed"):
        query_one(odd_server)
    assert [request.path.partition("?")[0] for request in odd_server.requests] == ["/api/v1/query"]


def test_a_server_that_is_down_or_breaks_off_says_so(odd_server: OddServer) -> None:
    nobody = CheckedEndpoint("http", "127.0.0.1", 1, "127.0.0.1", "")
    errors = run_queries(nobody, Secret(server=""), {"a": "up", "b": "up"}, at=AT, seconds=5)
    assert {str(error) for error in errors.values()} == {"Prometheus cannot be reached at its address."}
    odd_server.answer = lambda request: (200, {"Content-Length": "1000"}, b"{")
    with pytest.raises(PrometheusError, match=r"broke off|did not answer"):
        query_one(odd_server, seconds=1)


def test_a_slow_server_fails_its_own_query_and_the_others_are_answered(odd_server: OddServer) -> None:
    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        if "slow" in request.path:
            time.sleep(20)
        return 200, {}, json.dumps(vector(({}, 1))).encode()

    odd_server.answer = answer
    begun = time.monotonic()
    results = run_queries(
        endpoint(odd_server), Secret(server=""), {"a": "up", "b": "slow", "c": "up"}, at=AT, seconds=2
    )
    assert time.monotonic() - begun < 15
    assert isinstance(results["a"], Vector)
    assert isinstance(results["c"], Vector)
    assert isinstance(results["b"], PrometheusError)
    assert "did not answer" in results["b"].detail


def test_bytes_that_trickle_do_not_stretch_the_deadline(odd_server: OddServer) -> None:
    odd_server.answer = lambda request: (200, {"X-Trickle": "1"}, b" " * 1000)
    begun = time.monotonic()
    with pytest.raises(PrometheusError, match="did not answer"):
        query_one(odd_server, seconds=0.7)
    assert time.monotonic() - begun < 20  # the whole answer takes 50 s


def test_an_answer_that_is_too_large_is_not_kept(odd_server: OddServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "LARGEST_BODY", 10_000)
    compressed = gzip.compress(b" " * 1_000_000)
    odd_server.answer = lambda request: (200, {"Content-Encoding": "gzip"}, compressed)
    with pytest.raises(PrometheusError, match="larger than") as caught:
        query_one(odd_server)
    assert caught.value.setting == "query"


def test_a_clock_that_goes_wrong_is_noticed() -> None:
    now = time.time()
    assert prometheus.clock_skew(formatdate(now - 3600, usegmt=True), now) == pytest.approx(-3600, abs=2)
    assert prometheus.clock_skew(formatdate(now + 300, usegmt=True), now) == pytest.approx(300, abs=2)
    assert prometheus.clock_skew(formatdate(now - 5, usegmt=True), now - 10) == 0  # the answer took ten seconds
    assert prometheus.clock_skew("yesterday", now) == 0


def test_what_the_server_says_is_shortened_and_without_secrets() -> None:
    body = json.dumps({"status": "error", "error": "\x1b[31mtoken=hunter2 " + "x" * 5000}).encode()
    with pytest.raises(PrometheusError) as caught:
        vector_read(400, "application/json", body)
    assert len(caught.value.detail) < 400
    assert "hunter2" not in caught.value.detail
    assert "\x1b" not in caught.value.detail


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["status", "data", "resultType", "result", "metric", "value", "error", "warnings"]),
        inner | st.sampled_from(["success", "error", "vector"]), max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.integers(200, 599), JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40))
def test_any_answer_is_a_vector_or_one_clear_error(status: int, body: bytes) -> None:
    try:
        parsed = vector_read(status, "application/json", body)
    except PrometheusError:
        return  # Any other exception fails the test.
    assert len(parsed.labels) == len(parsed.values)


@pytest.fixture
def tls(tmp_path: Path) -> Iterator[tuple[int, str]]:
    """The port of an https server whose certificate names prometheus.example only, and that certificate as PEM."""
    certificate_of_host = certificate(tmp_path, host="prometheus.example")

    class CertificateProbeHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(vector(({}, 1))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), CertificateProbeHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_of_host, certificate_of_host.with_suffix(".key"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server.server_address[1], certificate_of_host.read_text()
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_certificate_must_be_of_the_given_authority_and_name_the_host(tls: tuple[int, str]) -> None:
    port, ca = tls

    def query_host(host: str, ca: str) -> Vector | PrometheusError:
        host_endpoint = CheckedEndpoint("https", host, port, "127.0.0.1", "")
        return run_queries(host_endpoint, Secret(server="", ca=ca), {"it": "up"}, at=AT, seconds=5)["it"]

    assert isinstance(query_host("prometheus.example", ca), Vector)
    for host, given_ca in (("prometheus.example", ""), ("other.example", ca)):
        error = query_host(host, given_ca)
        assert isinstance(error, PrometheusError)
        assert error.setting == "ca"
        assert "not signed by the given certificate authority" in error.detail


def test_https_to_a_server_that_speaks_http_says_so(odd_server: OddServer) -> None:
    https_endpoint = CheckedEndpoint("https", "127.0.0.1", odd_server.port, "127.0.0.1", "")
    error = run_queries(https_endpoint, Secret(server=""), {"it": "up"}, at=AT, seconds=5)["it"]
    assert isinstance(error, PrometheusError)
    assert "answers without TLS" in error.detail
