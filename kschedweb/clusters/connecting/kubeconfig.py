"""Reads a pasted kubeconfig with an allowlist of keys: no programs, no files, no proxies.

A kubeconfig may name programs to run and files to read. This one comes from a user, so only keys with inline values are
accepted, and all others are refused by name.
"""

from __future__ import annotations

import base64
import binascii
import shlex
from typing import Any

from kschedweb.clusters.connecting.credentials import Secret, ascii_pem
from kschedweb.clusters.importing.documents import TextLimits, UntrustedTextError, documents_read
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import ApplicationError

LIMITS = TextLimits(size=1024 * 1024, depth=20, nodes=20_000)

CONTEXT_KEYS = frozenset({"cluster", "user", "namespace", "extensions"})
CLUSTER_KEYS = frozenset(
    {"server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"}
)
USER_KEYS = frozenset({"token", "client-certificate-data", "client-key-data", "username", "password", "extensions"})

OPENID = (
    "its tokens come from an OpenID provider, which asks you and not this site for new ones; make a service account "
    "token and connect with that (kubectl create token)"
)
RUNS = "it would run a program here; make a service account token and connect with that (kubectl create token)"
# Keys of a user whose credentials a program or a provider makes.
RUN_PROGRAMS = ("exec", "auth-provider")
READS = "it names a file, which would be read here"
REFUSED = {
    "exec": RUNS,
    "auth-provider": RUNS,
    "tokenFile": f"{READS}; paste the token itself as token",
    "certificate-authority": f"{READS}; put it in as certificate-authority-data (kubectl config view --raw --flatten)",
    "client-certificate": f"{READS}; put it in as client-certificate-data (kubectl config view --raw --flatten)",
    "client-key": f"{READS}; put it in as client-key-data (kubectl config view --raw --flatten)",
    "proxy-url": "all traffic, the token included, would go through it",
    "insecure-skip-tls-verify": "anybody on the way could take the token; add certificate-authority-data",
    "as": "impersonation is not supported",
    "as-uid": "impersonation is not supported",
    "as-groups": "impersonation is not supported",
    "as-user-extra": "impersonation is not supported",
}


class KubeconfigError(ApplicationError):
    """A refused kubeconfig. ``path`` is the position in it."""

    def __init__(self, message: str, path: str = "kubeconfig") -> None:
        super().__init__(message, errors=[{"path": path, "message": message}])
        # Of a context whose user has no credentials of its own, for the commands that make a token there.
        self.context, self.server, self.ca = "", "", ""

    @property
    def context_word(self) -> str:
        """The context as a word of a shell: the file may have any name."""
        return shlex.quote(self.context)


def kubeconfig_contexts(text: str | bytes) -> list[str]:
    """Return the names of the contexts in ``text``, for a person to choose from."""
    return sorted(_entries_by_name(_read_document(text), "contexts", "context"))


def kubeconfig_read(text: str | bytes, context: str = "") -> Secret:
    """Return the secret for the cluster of ``context`` (default: the current context, or the only one)."""
    document = _read_document(text)
    contexts = _entries_by_name(document, "contexts", "context")
    chosen = context or _read_string(document, "current-context", "current-context")
    if not chosen and len(contexts) == 1:
        chosen = next(iter(contexts))
    if chosen not in contexts:
        names = ", ".join(sorted(contexts)) or "none"
        problem = f"There is no context {chosen}" if chosen else "The kubeconfig names no current-context"
        raise KubeconfigError(f"{problem}: choose one of {names}.", "context")
    entry = contexts[chosen]
    _check_keys(entry, CONTEXT_KEYS, f"contexts[{chosen}].context")
    cluster, cluster_path = _referred_entry(document, entry, "clusters", "cluster", chosen)
    user, user_path = _referred_entry(document, entry, "users", "user", chosen)
    _check_keys(cluster, CLUSTER_KEYS, cluster_path)
    try:
        _check_keys(user, USER_KEYS, user_path)
    except KubeconfigError as error:
        if any(user.get(key) for key in RUN_PROGRAMS):
            error.context, error.server = chosen, _read_string(cluster, "server", cluster_path)
            error.ca = _read_pem(cluster, "certificate-authority-data", cluster_path)
        raise
    secret = _build_secret(cluster, cluster_path, user, user_path)
    if not secret.server:
        raise KubeconfigError("The cluster names no server.", f"{cluster_path}.server")
    if bool(secret.client_certificate) != bool(secret.client_key):
        raise KubeconfigError("A client certificate and its key go together.", user_path)
    if not (secret.token or secret.client_certificate or secret.username):
        raise KubeconfigError("The user has no token and no client certificate.", user_path)
    return secret


def _build_secret(cluster: Json, cluster_path: str, user: Json, user_path: str) -> Secret:
    try:
        return Secret(
            server=_read_string(cluster, "server", cluster_path),
            tls_server_name=_read_string(cluster, "tls-server-name", cluster_path),
            ca=_read_pem(cluster, "certificate-authority-data", cluster_path),
            token=_read_string(user, "token", user_path),
            client_certificate=_read_pem(user, "client-certificate-data", user_path),
            client_key=_read_pem(user, "client-key-data", user_path),
            username=_read_string(user, "username", user_path),
            password=_read_string(user, "password", user_path),
        )
    except KubeconfigError:
        raise
    except ApplicationError as error:
        field = error.errors[0]["path"].replace("_", "-")
        path = f"{cluster_path if field == 'tls-server-name' else user_path}.{field}"
        raise KubeconfigError(f"{path}: {error.detail}", path) from None


def _read_document(text: str | bytes) -> Json:
    try:
        documents = documents_read(text, LIMITS)
    except UntrustedTextError as error:
        raise KubeconfigError(f"The kubeconfig cannot be read: {error.detail}") from None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise KubeconfigError("A kubeconfig is one YAML mapping with clusters, users and contexts.")
    document = documents[0]
    if document.get("kind", "Config") != "Config" or not ({"clusters", "contexts", "users"} & document.keys()):
        raise KubeconfigError("This is not a kubeconfig: it has no clusters, users and contexts.")
    return document


def _entries_by_name(document: Json, plural: str, singular: str) -> dict[str, Json]:
    """Return the list ``plural`` of ``{name, singular}`` entries by name."""
    entries = document.get(plural) or []
    entries_by_name: dict[str, Json] = {}
    if not isinstance(entries, list):
        raise KubeconfigError(f"{plural} must be a list.", plural)
    for index, entry in enumerate(entries):
        path = f"{plural}[{index}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise KubeconfigError(f"{path} has no name.", path)
        value = entry.get(singular)
        if value is not None and not isinstance(value, dict):
            raise KubeconfigError(f"{path}.{singular} must be a mapping.", path)
        if entry["name"] in entries_by_name:
            raise KubeconfigError(f'{plural} has the name "{entry["name"]}" twice: kubectl refuses that, too.', path)
        entries_by_name[entry["name"]] = value or {}
    return entries_by_name


def _referred_entry(document: Json, entry: Json, plural: str, singular: str, context: str) -> tuple[Json, str]:
    path = f"contexts[{context}].context.{singular}"
    name = _read_string(entry, singular, path)
    referred_entries = _entries_by_name(document, plural, singular)
    if name not in referred_entries:
        raise KubeconfigError(
            f"The context {context} names the {singular} {name or '(none)'}, which is not there.", path
        )
    return referred_entries[name], f"{plural}[{name}].{singular}"


def _check_keys(mapping: Json, allowed: frozenset[str], path: str) -> None:
    for key in mapping:
        # A key with an empty value does nothing, so it may stand there.
        if key in allowed or not mapping[key]:
            continue
        reason = _refusal_reason(key, mapping[key])
        raise KubeconfigError(f"{key} is refused: {reason}.", f"{path}.{key}")


def _refusal_reason(key: str, value: Any) -> str:
    if key == "auth-provider" and isinstance(value, dict) and value.get("name") == "oidc":
        return OPENID
    return REFUSED.get(key, "this key is not known")


def _read_string(mapping: Json, key: str, path: str) -> str:
    value = mapping.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise KubeconfigError(f"{key} must be text.", path)
    return value.strip()


def _read_pem(mapping: Json, key: str, path: str) -> str:
    text = "".join(_read_string(mapping, key, path).split())
    try:
        return ascii_pem(base64.b64decode(text, validate=True).decode())
    except (binascii.Error, ValueError):
        raise KubeconfigError(f"{key} is not base64 of a PEM text.", f"{path}.{key}") from None
