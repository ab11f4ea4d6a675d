"""Two hundred ways to send something that is no cluster, made by rule so that each names what it breaks."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import zipfile
from collections.abc import Iterator

import yaml

from tests.clusters.conftest import node, pod

GOOD = [node("node-1"), node("node-2"), pod("pod-1"), pod("pod-2")]
JSON = json.dumps({"apiVersion": "v1", "kind": "List", "items": GOOD}, indent=1).encode()
YAML = b"---\n".join(yaml.safe_dump(item, default_flow_style=False).encode() for item in GOOD)


def malformed() -> Iterator[tuple[str, bytes]]:
    """(what is wrong, the upload), the same two hundred and more each time."""
    yield from truncated()
    yield from compressed()
    yield from deep()
    yield from huge()
    yield from aliased()
    yield from binary()
    yield from values()
    yield from wrong_kinds()
    yield from keys()


def truncated() -> Iterator[tuple[str, bytes]]:
    for part in range(1, 41):
        yield f"json cut after {part}/41", JSON[: len(JSON) * part // 41]
    flow = yaml.safe_dump({"kind": "List", "items": GOOD}, default_flow_style=True).encode()
    for part in range(1, 16):
        yield f"yaml cut after {part}/16", b"items: " + flow[: len(flow) * part // 16]


def compressed() -> Iterator[tuple[str, bytes]]:
    yield "gzip", gzip.compress(JSON)
    yield "gzip bomb", gzip.compress(b"0" * 50_000_000)
    yield "gzip in gzip", gzip.compress(gzip.compress(JSON))
    yield "bzip2", bz2.compress(JSON)
    yield "xz", lzma.compress(JSON)
    for name in ("cluster.json", "../../etc/passwd", "/etc/passwd"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, b"0" * 10_000_000)
        yield f"zip of {name}", buffer.getvalue()
    yield "empty zip", b"PK\x05\x06" + b"\x00" * 18


def deep() -> Iterator[tuple[str, bytes]]:
    for levels in (65, 100, 500, 990, 5_000, 100_000):
        yield f"json lists {levels} deep", b"[" * levels + b"]" * levels
        yield f"json mappings {levels} deep", b'{"a":' * levels + b"1" + b"}" * levels
        yield f"json lists {levels} deep, unclosed", b"[" * levels
    for levels in (65, 100, 1_000, 10_000):
        yield f"yaml flow {levels} deep", b"a: " + b"[" * levels + b"]" * levels
        yield f"yaml flow {levels} deep, unclosed", b"a: " + b"{b: " * levels
    yield "yaml block 100 deep", b"".join(b" " * level + b"a:\n" for level in range(100))
    yield "a pod 80 deep", json.dumps(pod("p")).encode().replace(b'"web:1"', b"[" * 80 + b"]" * 80)


def huge() -> Iterator[tuple[str, bytes]]:
    yield "beyond the limit, json", b"[" + b"1," * 1_200_000 + b"1]"
    yield "beyond the limit, yaml", b"- 1\n" * 600_000
    yield "beyond the limit, one word", b"a" * 2_200_000
    yield "beyond the limit, spaces", JSON + b" " * 2_200_000
    yield "numbers of 5,000 digits", b'{"a": ' + b"9" * 5_000 + b"}"
    yield "many small values", b"[" + b"1," * 90_000 + b"1]"


def aliased() -> Iterator[tuple[str, bytes]]:
    for levels in (1, 3, 6, 9, 20):
        lines = ["a0: &a0 [x, x]"]
        lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels + 1)]
        yield f"alias bomb of {levels} levels", "\n".join(lines).encode()
        merges = ["m0: &m0 {k: v}"]
        merges += [f"m{level}: &m{level}\n  <<: [*m{level - 1}, *m{level - 1}]" for level in range(1, levels + 1)]
        yield f"merge bomb of {levels} levels", "\n".join(merges).encode()
    yield "a list in itself", b"&a [*a]"
    yield "a mapping in itself", b"&a {b: *a}"
    yield "an unknown alias", b"a: *nowhere"
    yield "an alias of another document", YAML + b"---\na: &x 1\n---\nb: *x\n"


def binary() -> Iterator[tuple[str, bytes]]:
    chance = random.Random(7)
    for number in range(25):
        yield f"random bytes {number}", b"\xff\x80" + chance.randbytes(chance.randint(1, 3_000))
    yield "png", b"\x89PNG\r\n\x1a\n" + b"\x00" * 50
    yield "elf", b"\x7fELF\x02\x01\x01" + b"\x00" * 50
    yield "pdf", b"%PDF-1.7\n"
    yield "only NUL", b"\x00" * 100
    yield "NUL in json", JSON.replace(b"node-1", b"node\x00-1")
    yield "latin-1", '{"a": "é"}'.encode("latin-1")
    yield "utf-16 without its mark", '{"a": 1}'.encode("utf-16-le")
    yield "half of utf-16", '{"a": 1}'.encode("utf-16")[:-1]
    yield "only a mark", b"\xef\xbb\xbf"
    for part in range(10):
        position = len(JSON) * (part + 1) // 12
        yield f"a wrong byte at {part}", JSON[:position] + b"\xfe" + JSON[position:]


def values() -> Iterator[tuple[str, bytes]]:
    for word in (
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1e999",
        "99999999999999999999",
        "0x10",
        "01",
        "+1",
        ".5",
        "nul",
    ):
        yield f"json value {word}", b'{"kind": "List", "items": [], "a": ' + word.encode() + b"}"
        yield f"json value {word} in a node", JSON.replace(b'"cpu": "4"', b'"cpu": ' + word.encode(), 1)
    for escape in ("\\ud800", "\\udfff", "\\u0000", "\\x41", "\\u12"):
        yield f"json text {escape}", JSON.replace(b"web:1", escape.encode(), 1)
    for word in (
        ".nan",
        ".inf",
        "1e999",
        "99999999999999999999",
        "!!binary aGk=",
        "!!python/name:os.system",
        "!x y",
        "!!set {a}",
    ):
        yield f"yaml value {word}", YAML + b"---\na: " + word.encode() + b"\n"
    yield "yaml text with NUL", YAML + b'---\na: "\\0"\n'
    yield "comments in json", b"// a comment\n" + JSON
    yield "single quotes", JSON.replace(b'"', b"'")
    yield "a comma too much", JSON.rstrip()[:-1] + b",}"
    yield "words after json", JSON + b"the end"


def wrong_kinds() -> Iterator[tuple[str, bytes]]:
    singles: tuple[object, ...] = (
        None, True, 3, 1.5, "text", [], {}, [[]], [None], {"kind": None}, {"kind": "List"},
        {"kind": "List", "items": None},
        {"kind": "List", "items": {}}, {"kind": "List", "items": "text"}, {"kind": "List", "items": [3]}, {"kind": 3},
        {"kind": "Secret", "metadata": {"name": "a"}}, {"kind": "Node"}, {"kind": "Node", "metadata": {}},
        {"kind": "Node", "metadata": {"name": ""}}, {"kind": "Node", "metadata": {"name": 3}},
        {"kind": "Node", "metadata": {"name": "../etc"}}, {"kind": "Node", "metadata": {"name": "x" * 300}},
        {"kind": "Node", "apiVersion": "v2", "metadata": {"name": "a"}}, {"kind": "node", "metadata": {"name": "a"}},
        {"kind": "Pod", "metadata": {"name": "a", "namespace": 3}},
        {"kind": "Pod", "metadata": {"name": "a"}, "spec": "x"},
        {"pods": 3}, {"pods": [3], "nodes": "x"}, {"schedulerConfig": {}}, {"nodes": []},
        {"apiVersion": "v1", "kind": "Config", "clusters": []}, {"kind": "Status", "code": 403, "message": "Forbidden"},
    )  # fmt: skip
    for value in singles:
        yield f"json {value}"[:90], json.dumps(value).encode()
        yield f"yaml {value}"[:90], yaml.safe_dump(value).encode()
    yield "html", b"<!doctype html><title>Login</title>"
    yield "csv", b"name,cpu\nnode-1,4\n"
    yield "kubectl's table", b"NAME     STATUS   ROLES\nnode-1   Ready    <none>\n"
    yield "an error of kubectl", b"error: You must be logged in to the server (the server has asked for credentials)\n"


def keys() -> Iterator[tuple[str, bytes]]:
    yield "a key twice, json", JSON.replace(b'"kind": "List"', b'"kind": "List", "kind": "List"')
    yield "a key twice, deep in json", JSON.replace(b'"cpu": "4"', b'"cpu": "4", "cpu": "8"', 1)
    yield "a key twice, yaml", b"kind: Node\nkind: Pod\nmetadata: {name: a}"
    yield "a key twice, deep in yaml", b"kind: Node\nmetadata: {name: a, name: b}"
    yield "a list as key", b"? [a, b]\n: c"
    yield "a mapping as key", b"? {a: b}\n: c"
    yield "tabs", b"kind: Node\n\tmetadata: {}"
    yield "nothing", b""
    yield "spaces", b"   \n\n  "
    yield "comments only", b"# nothing\n# here\n"
    yield "marks only", b"---\n---\n...\n"
