"""Offload bundles, written by hand."""

from __future__ import annotations

import struct
import zlib


def bundle(entries: dict[str, bytes]) -> bytes:
    """A plain offload bundle."""
    place = 32 + sum(24 + len(name) for name in entries)
    table, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)), b""
    for name, data in entries.items():
        table += struct.pack("<QQQ", place + len(body), len(data), len(name)) + name.encode()
        body += data
    return table + body


def compressed(bundle: bytes, version: int) -> bytes:
    """A compressed one, as clang writes it in one of three versions, by zlib."""
    data = zlib.compress(bundle)
    size = {1: "", 2: "I", 3: "Q"}[version]
    layout = f"<4sHH{size}{size or 'I'}Q"
    sizes = (len(bundle),) if version == 1 else (struct.calcsize(layout) + len(data), len(bundle))
    return struct.pack(layout, b"CCOB", version, 0, *sizes, 0) + data
