"""Offload bundles, written by hand."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib

import pytest


def bundle(entries: dict[str, bytes]) -> bytes:
    """A plain offload bundle, aligned as clang aligns it."""
    place = 32 + sum(24 + len(name) for name in entries)
    table, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)), b""
    for name, data in entries.items():
        body += bytes(-(place + len(body)) % 4096)
        table += struct.pack("<QQQ", place + len(body), len(data), len(name)) + name.encode()
        body += data
    return table + body


def compressed(bundle: bytes, version: int, method: int = 0) -> bytes:
    """A compressed one, as clang writes it in one of three versions, by zlib (0) or zstd (1)."""
    if method == 0:
        data = zlib.compress(bundle)
    else:
        zstd = shutil.which("zstd")
        if zstd is None:
            pytest.skip("ZSTD IS MISSING: there is nothing to compress with")
        data = subprocess.run([zstd, "-cq"], input=bundle, capture_output=True, check=True).stdout
    size = {1: "", 2: "I", 3: "Q"}[version]
    layout = f"<4sHH{size}{size or 'I'}Q"
    sizes = (len(bundle),) if version == 1 else (struct.calcsize(layout) + len(data), len(bundle))
    return struct.pack(layout, b"CCOB", version, method, *sizes, 0) + data
