"""``mcp``: the Model Context Protocol on stdin and stdout, one JSON-RPC message a line; tools that only read."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, TextIO

from kschedweb import __version__
from kschedweb.cli.asked import Surroundings
from kschedweb.cli.commands.tools import TOOLS
from kschedweb.cli.exits import CommandError, Exit

DESCRIPTION = """\
Serves the Model Context Protocol on stdin and stdout until stdin ends. Its tools read with the rights of the token: a
token of scope view is enough, and none of them changes anything."""
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # of the protocol, the newest first
PARSE, INVALID, UNKNOWN, PARAMETERS = -32700, -32600, -32601, -32602
READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
Json = dict[str, Any]


class _Refused(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION


def run(_: argparse.Namespace, around: Surroundings) -> int:
    around.server  # noqa: B018  a missing address or token is told before a client waits for it
    serve(around, sys.stdin, sys.stdout)
    return Exit.DONE


def serve(around: Surroundings, asked: TextIO, told: TextIO) -> None:
    """Answer each message of ``asked`` until it ends."""
    for line in asked:
        if line.strip() and (answer := _answered(around, line)) is not None:
            told.write(json.dumps(answer) + "\n")
            told.flush()


def _answered(around: Surroundings, line: str) -> Json | None:
    """The answer to a message, ``None`` to a notification."""
    number = None
    try:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise _Refused(PARSE, "is not JSON") from None
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            raise _Refused(INVALID, "is no request")
        number = message.get("id")
        if number is None:
            return None
        given = message.get("params") or {}
        if not isinstance(given, dict):
            raise _Refused(PARAMETERS, "params: must be an object")
        return {"jsonrpc": "2.0", "id": number, "result": _result(around, message["method"], given)}
    except _Refused as error:
        return {"jsonrpc": "2.0", "id": number, "error": {"code": error.code, "message": str(error)}}


def _result(around: Surroundings, method: str, given: Json) -> Json:
    if method == "initialize":
        asked = given.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "kschedweb", "version": __version__},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [_told(name) for name in TOOLS]}
    if method == "tools/call":
        return _called(around, given)
    raise _Refused(UNKNOWN, f"{method}: is unknown")


def _told(name: str) -> Json:
    tool = TOOLS[name]
    return {"name": name, "description": tool.description, "inputSchema": tool.schema, "annotations": READS}


def _called(around: Surroundings, given: Json) -> Json:
    """What a tool found. What is wrong with the question is an answer too: whoever asked can ask better."""
    tool = TOOLS.get(str(given.get("name")))
    if tool is None:
        raise _Refused(PARAMETERS, f"name: there is no tool {given.get('name')}")
    try:
        with around.understood():
            found = tool.call(around, tool.checked(given.get("arguments") or {}))
    except CommandError as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    return {"content": [{"type": "text", "text": json.dumps(found, ensure_ascii=False)}], "isError": False}
