"""``mcp``: the Model Context Protocol on stdin and stdout, one JSON-RPC message a line; tools that only read."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, TextIO

from kschedweb import __version__
from kschedweb.cli.commands.tools import TOOLS
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.session import CliSession
from kschedweb.engine.json_types import Json

DESCRIPTION = """\
Serves the Model Context Protocol on stdin and stdout until stdin ends. Its tools read with the rights of the token: a
token of scope view is enough, and none of them changes anything."""
# Of the protocol, the newest first.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
# Error codes of JSON-RPC 2.0.
PARSE, INVALID, UNKNOWN, PARAMETERS = -32700, -32600, -32601, -32602
READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


class _RequestError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION


def run(_: argparse.Namespace, session: CliSession) -> int:
    # A missing address or token is reported now, not when a client waits.
    session.server  # noqa: B018
    serve_messages(session, sys.stdin, sys.stdout)
    return Exit.OK


def serve_messages(session: CliSession, requests: TextIO, responses: TextIO) -> None:
    """Answer each message of ``requests`` until it ends."""
    for line in requests:
        if line.strip() and (answer := _handle_message(session, line)) is not None:
            responses.write(json.dumps(answer) + "\n")
            responses.flush()


def _handle_message(session: CliSession, line: str) -> Json | None:
    """Return the answer to a line, None to a notification."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _build_error(None, PARSE, "is not JSON")
    return answer_message(session, message)


def answer_message(session: CliSession, message: Any) -> Json | None:
    """Return the answer to a message of JSON-RPC, None to a notification or a response."""
    number = message.get("id") if isinstance(message, dict) else None
    try:
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            raise _RequestError(INVALID, "is no request")
        if number is None:
            return None
        params = message.get("params") or {}
        if not isinstance(params, dict):
            raise _RequestError(PARAMETERS, "params: must be an object")
        return {"jsonrpc": "2.0", "id": number, "result": _dispatch_method(session, message["method"], params)}
    except _RequestError as error:
        return _build_error(number, error.code, str(error))


def _build_error(number: object, code: int, text: str) -> Json:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}


def _dispatch_method(session: CliSession, method: str, params: Json) -> Json:
    if method == "initialize":
        requested_version = params.get("protocolVersion")
        return {
            "protocolVersion": requested_version if requested_version in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "kschedweb", "version": __version__},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [_describe_tool(name) for name in TOOLS]}
    if method == "tools/call":
        return _call_tool(session, params)
    raise _RequestError(UNKNOWN, f"{method}: is unknown")


def _describe_tool(name: str) -> Json:
    tool = TOOLS[name]
    return {"name": name, "description": tool.description, "inputSchema": tool.input_schema, "annotations": READS}


def _call_tool(session: CliSession, params: Json) -> Json:
    """Return the result of a tool. An invalid question gets an answer too, so that the model can ask better."""
    tool = TOOLS.get(str(params.get("name")))
    if tool is None:
        raise _RequestError(PARAMETERS, f"name: there is no tool {params.get('name')}")
    try:
        with session.translate_errors():
            result = tool.call(session, tool.validate_arguments(params.get("arguments") or {}))
    except CommandError as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    return {"content": [{"type": "text", "text": json.dumps(result, ensure_ascii=False)}], "isError": False}
