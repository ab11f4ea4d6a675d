"""Pack columns as compressed bytes: a JSON header that describes them, then the columns."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

Record = TypeVar("Record")
# The first bytes of an outcome, and the version of its format.
MAGIC, VERSION = b"KSWO", 2
# Bytes after decompression at most, so that a small file cannot fill the memory.
MAX_BYTES = 1 << 31
# Types of columns, little-endian on every machine.
TYPES = {"<f8", "<f4", "<i8", "<i4", "|u1"}


class OutcomeError(ValueError):
    """Bytes that are not an outcome of this version; the message says why."""


def stored_as(name: str) -> dict[str, str]:
    """Return the metadata of a field that packed records have by another name, which older bytes have already."""
    return {"stored": name}


def stored_name(column: Field[Any]) -> str:
    """Return the name by which packed records have the field."""
    return str(column.metadata.get("stored", column.name))


def pack_values(values: Mapping[str, object]) -> bytes:
    """Pack arrays, records of arrays, and plain data by name; equal values give equal bytes."""
    columns: list[bytes] = []

    def describe_value(value: Any) -> Any:
        if is_dataclass(value):
            return {stored_name(column): describe_value(getattr(value, column.name)) for column in fields(value)}
        if isinstance(value, np.ndarray):
            whole = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
            columns.append(whole.tobytes())
            return {"column": whole.dtype.str, "shape": list(whole.shape)}
        return value

    described = {name: describe_value(value) for name, value in values.items()}
    head = json.dumps(described, separators=(",", ":"), ensure_ascii=False).encode()
    body = zlib.compress(b"".join([len(head).to_bytes(8, "little"), head, *columns]), 6)
    return MAGIC + bytes([VERSION]) + body


def unpack_values(data: bytes) -> dict[str, object]:
    """Unpack values, with records as dictionaries; raise OutcomeError."""
    body = _decompress_body(data)
    # The first eight bytes are the size of the header.
    size = 8 + int.from_bytes(body[:8], "little")
    try:
        described = json.loads(body[8:size])
    except ValueError as error:
        raise OutcomeError(f"is damaged: {error}") from None
    if not isinstance(described, dict):
        raise OutcomeError("is damaged: its head is no object")
    columns = _Columns(body, size)
    return {name: columns.restore_value(value) for name, value in described.items()}


def _decompress_body(data: bytes) -> bytes:
    if data[:4] != MAGIC:
        raise OutcomeError("is not an outcome")
    if data[4:5] != bytes([VERSION]):
        raise OutcomeError(f"is of another version than {VERSION}: run it again")
    decompress = zlib.decompressobj()
    try:
        body = decompress.decompress(data[5:], MAX_BYTES)
    except zlib.error as error:
        raise OutcomeError(f"is damaged: {error}") from None
    if not decompress.eof:
        raise OutcomeError("is cut off, or too large")
    return body


class _Columns:
    """Read the columns after the header one by one."""

    def __init__(self, body: bytes, place: int) -> None:
        self._body, self._place = body, place

    def restore_value(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "column" not in value:
            return {name: self.restore_value(inner) for name, inner in value.items()}
        return self._read_column(value["column"], tuple(value.get("shape", ())))

    def _read_column(self, kind: str, shape: tuple[int, ...]) -> Any:
        if kind not in TYPES or not all(isinstance(size, int) and size >= 0 for size in shape):
            raise OutcomeError(f"is damaged: there are no columns of {kind} and shape {shape}")
        count = math.prod(shape)
        begin, self._place = self._place, self._place + count * np.dtype(kind).itemsize
        if self._place > len(self._body):
            raise OutcomeError("is cut off")
        return np.frombuffer(self._body, dtype=kind, count=count, offset=begin).reshape(shape)


def build_record(kind: type[Record], values: Any, name: str) -> Record:
    """Build a ``kind`` of unpacked values; raise OutcomeError if one is missing or unknown."""
    if not isinstance(values, dict):
        raise OutcomeError(f"{name}: is missing")
    columns = {stored_name(column): column for column in fields(kind)}  # type: ignore[arg-type]  # Record is a dataclass
    needed = {
        stored for stored, column in columns.items() if column.default is MISSING and column.default_factory is MISSING
    }
    if wrong := (needed - set(values)) | (set(values) - set(columns)):
        raise OutcomeError(f"{name}: {', '.join(sorted(wrong))}: is missing, or not known")
    return kind(**{columns[stored].name: value for stored, value in values.items()})
