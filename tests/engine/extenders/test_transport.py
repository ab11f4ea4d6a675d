"""Extenders asked over HTTP, from the command line too."""

from __future__ import annotations

import base64
import io
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kschedweb.engine.__main__ import main
from kschedweb.engine.extenders.extender import TransportError
from kschedweb.engine.extenders.transport import create_post
from tests.engine.builders import CONFIGURATION, node, pod


class Keeper(BaseHTTPRequestHandler):
    """Keeps pods off node a, and likes node c best; /never answers only when all is over."""

    over = threading.Event()

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/never":
            self.over.wait()
        names = question["NodeNames"]
        answer: Any = {"NodeNames": [name for name in names if name != "a"], "FailedNodes": {"a": "is mine"}}
        if self.path == "/prioritize":
            answer = [{"Host": name, "Score": 10 * (name == "c")} for name in names]
        body = json.dumps(answer).encode()
        self.send_response(200 if self.headers["Content-Type"] == "application/json" else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Keeper)
    Keeper.over.clear()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    Keeper.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


def scenario(url: str, **fields: Any) -> str:
    extender = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 100,
        "nodeCacheCapable": True,
    }
    config = {**CONFIGURATION, "extenders": [extender | fields]}
    return json.dumps({"name": "s", "config": config, "objects": [node(name) for name in "abc"], "pending": [pod("p")]})


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    """``run(text, *arguments)``: exit status, the only answer, stderr."""

    def run(text: str, *arguments: str) -> tuple[int, dict, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        status = main(list(arguments))
        out, err = capsys.readouterr()
        return status, json.loads(out or "{}"), err

    return run


def test_an_extender_is_asked_where_that_is_wanted(run, address: str) -> None:
    _, answer, _ = run(scenario(address), "schedule", "--extenders")
    # Both nodes left, and one that was spoken against.
    assert answer["placements"] == [{"pod": "default/p", "node": "c", "evaluated": 3, "feasible": 2}]


def test_an_explanation_says_what_the_extender_said(run, address: str) -> None:
    _, answer, _ = run(scenario(address), "explain", "--extenders")
    (explained,) = answer["pods"]
    assert explained["rejected"] == {"a": {"plugin": "Extender", "code": "Unschedulable", "reasons": ["is mine"]}}
    assert explained["scores"]["Extender"]["raw"] == {"b": 0, "c": 10 * 100 * 10}
    assert explained["chosen"] == "c"
    assert "extendersNotAsked" not in explained


def test_without_being_asked_to_nothing_is_made_up(run, address: str) -> None:
    status, answer, _ = run(scenario(address), "schedule")
    assert status == 0
    (placement,) = answer["placements"]
    assert placement["message"] == f"outside the simulation: extender {address}/filter is to be asked"
    assert "node" not in placement
    _, answer, _ = run(scenario(address), "explain")
    assert answer["pods"][0]["extendersNotAsked"] == [address]
    status, _, err = run(scenario(address), "schedule", "--summary")
    assert (status, err) == (
        2,
        f"kschedweb.engine: line 1: s: config: extender {address} would be asked, which was not allowed\n",
    )


def test_an_extender_that_is_not_there_ends_the_cycle(run) -> None:
    with socket.socket() as closed_socket:
        closed_socket.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed_socket.getsockname()[1]}"
        _, answer, _ = run(scenario(f"http://{address}/x/"), "schedule", "--extenders")
    expected_error = f'Post "http://{address}/x/filter": dial tcp {address}: connect: connection refused'
    assert answer["placements"][0]["message"] == expected_error


def test_nobody_waits_longer_than_configured(address: str) -> None:
    with pytest.raises(TransportError, match="context deadline exceeded"):
        create_post([])(f"{address}/never", b'{"NodeNames": []}', 0.05)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the key and the certificate of extender.example, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "extender.example")])
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("extender.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "pair.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + secret)
    return file


@pytest.fixture
def secure(pair: Path) -> Iterator[str]:
    """An extender that speaks TLS, and wants its own certificate from whoever asks."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pair))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(pair)
    server = HTTPServer(("127.0.0.1", 0), Keeper)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def ask(url: str, pair: Path, *, https: bool = False, **tls: str) -> int:
    """The status of one question, asked with the client certificate and these settings."""
    text = base64.b64encode(pair.read_bytes()).decode()
    extender = {"urlPrefix": url, "enableHTTPS": https, "tlsConfig": {"certData": text, "keyData": text, **tls}}
    return create_post([extender])(f"{url}/filter", b'{"NodeNames": ["a", "b"]}', 30.0)[0]


def test_certificates_are_checked_as_configured(secure: str, pair: Path) -> None:
    authority = base64.b64encode(pair.read_bytes().partition(b"-----BEGIN PRIVATE")[0]).decode()
    assert ask(secure, pair, caData=authority, serverName="extender.example") == 200
    assert ask(secure, pair, https=True) == 200  # without an authority any certificate will do
    assert ask(secure, pair, https=True, caFile=str(pair), serverName="extender.example") == 200
    incomplete: list[dict[str, Any]] = [{"caData": authority}, {"serverName": "extender.example"}]
    for settings in incomplete:
        with pytest.raises(TransportError, match="certificate"):
            ask(secure, pair, **settings)


def test_only_http_is_spoken() -> None:
    with pytest.raises(TransportError, match='unsupported protocol scheme "ftp"'):
        create_post([])("ftp://extender.example/filter", b"", 1.0)


@pytest.mark.parametrize(
    ("url", "tls"),
    [("https://127.0.0.1:1", {"caFile": "/nowhere/ca.pem"}), ("http://127.0.0.1:port", {}), ("http://[::1", {})],
)
def test_what_cannot_be_connected_to_is_said(url: str, tls: dict) -> None:
    with pytest.raises(TransportError):
        create_post([{"urlPrefix": url, "tlsConfig": tls}])(f"{url}/filter", b"", 1.0)
