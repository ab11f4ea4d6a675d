"""A small identity provider on loopback, which signs what a test wants: also what no real one would."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from django.urls import reverse

from kschedweb.accounts.signin.configuration import Provider
from kschedweb.accounts.signin.rules import RoleRule, RoleRules

CLIENT, SECRET = "kschedweb", "a-secret-of-the-tests"
RULES = RoleRules((RoleRule("platform-admins", "admin"), RoleRule("eng*", "editor")))


class Issuer:
    """``claims`` go into every identity token over what is right; ``key`` signs, and only ``published`` is known."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.reset()

    def reset(self) -> None:
        """Reset it to its first state, with new keys."""
        self.published = rsa.generate_private_key(65537, 2048)
        self.key: rsa.RSAPrivateKey | str = self.published
        self.kid, self.algorithm = "first", "RS256"
        self.claims: dict[str, Any] = {}
        self.groups: Any = ["engineers"]
        self.challenges: dict[str, str] = {}  # code -> the challenge that it was asked for with
        self.nonces: dict[str, str] = {}
        self.refresh_error: tuple[int, str] | None = None
        self.with_refresh_token = True
        self.refreshes = 0

    def provider(self, **more: Any) -> Provider:
        return Provider(
            **{
                "id": "company",
                "label": "Company",
                "issuer": self.url,
                "client_id": CLIENT,
                "client_secret": SECRET,
                "rules": RULES,
                **more,
            }
        )

    def documents(self) -> dict[str, Any]:
        entry = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.published.public_key()))
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "end_session_endpoint": f"{self.url}/end",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            },
            "/keys": {"keys": [entry | {"kid": "first", "use": "sig", "alg": "RS256"}]},
        }

    def signed(self, **claims: Any) -> str:
        """A token with ``claims`` over those of a good one; a claim that is ``None`` is left out."""
        now = int(time.time())
        right = {"iss": self.url, "aud": CLIENT, "sub": "s-1", "iat": now, "exp": now + 300, "sid": "session-1"}
        payload = {name: value for name, value in (right | claims).items() if value is not None}
        return jwt.encode(payload, self.key, self.algorithm, headers={"kid": self.kid})

    def identity_token(self, **claims: Any) -> str:
        person = {"preferred_username": "erin", "email": "erin@example.org", "groups": self.groups}
        return self.signed(**(person | claims | self.claims))

    def exchange(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        refresh = {"refresh_token": "refresh-1"} if self.with_refresh_token else {}
        if form["grant_type"] == "refresh_token":
            self.refreshes += 1
            if self.refresh_error:
                return self.refresh_error[0], {"error": self.refresh_error[1]}
            return 200, {"access_token": "a", "token_type": "Bearer", "id_token": self.identity_token(), **refresh}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if self.challenges.pop(form["code"], None) != challenge.rstrip(b"=").decode():
            return 400, {"error": "invalid_grant"}
        token = self.identity_token(nonce=self.nonces.pop(form["code"]))
        return 200, {"access_token": "a", "token_type": "Bearer", "id_token": token, **refresh}

    def leave(self, client: Client, onwards: str = "") -> dict[str, str]:
        """Begin a sign-in with ``client``; returns what the browser would take to the provider."""
        answer = client.get(reverse("provider-begin", args=["company"]), {"next": onwards} if onwards else {})
        assert answer.status_code == 302, answer.content
        parts = urlsplit(answer["Location"])
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{self.url}/authorize"
        return {name: values[0] for name, values in parse_qs(parts.query).items()}

    def come_back(self, client: Client, login_parameters: dict[str, str], **more: str) -> Any:
        """Bring the browser back once the person has shown who they are, and return the site's answer."""
        self.challenges["code-1"], self.nonces["code-1"] = login_parameters["code_challenge"], login_parameters["nonce"]
        answer = {"code": "code-1", "state": login_parameters["state"], **more}
        return client.get(reverse("provider-callback", args=["company"]), answer)

    def sign_in(self, client: Client, onwards: str = "") -> Any:
        return self.come_back(client, self.leave(client, onwards))


@contextlib.contextmanager
def issuing() -> Iterator[Issuer]:
    """One such provider, in a thread."""

    class IssuerHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = issuer.documents().get(urlsplit(self.path).path)
            self.answer(200 if document else 404, document or {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.answer(*issuer.exchange({name: values[0] for name, values in parse_qs(body).items()}))

        def answer(self, status: int, document: dict[str, Any]) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), IssuerHandler)
    issuer = Issuer(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
