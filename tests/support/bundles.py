"""Offload bundles, written by hand."""

from __future__ import annotations

import struct


def bundle(entries: dict[str, bytes]) -> bytes:
    """A plain offload bundle."""
    place = 32 + sum(24 + len(name) for name in entries)
    table, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)), b""
    for name, data in entries.items():
        table += struct.pack("<QQQ", place + len(body), len(data), len(name)) + name.encode()
        body += data
    return table + body
