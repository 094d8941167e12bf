"""Offload bundles in a program's memory, as they are registered with HIP."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from ..errors import ToolError

_PLAIN = b"__CLANG_OFFLOAD_BUNDLE__"
_COMPRESSED = b"CCOB"
#: How compressed ones are compressed.
_ZLIB, _ZSTD = 0, 1
_ZSTD_MAGIC = 0xFD2FB528
#: Bytes of the header of a compressed bundle of version 1.
_FIRST_HEADER = 20
#: Where code objects begin in a bundle, so that HIP takes them from where they lie.
_ALIGNMENT = 4096

#: Gives a number of bytes at an address.
Read = Callable[[int, int], bytes]


def is_compressed(read: Read, address: int) -> bool:
    """Whether a compressed bundle is at an address."""
    return read(address, len(_COMPRESSED)) == _COMPRESSED


def entries(read: Read, address: int) -> list[tuple[str, bytes]]:
    """Target and code object of each entry of the bundle at an address; none if there is no bundle."""
    if is_compressed(read, address):
        return _contained(read(address, _size(read, address)))
    if read(address, len(_PLAIN)) != _PLAIN:
        return []
    at = address + len(_PLAIN)
    (count,) = struct.unpack("<Q", read(at, 8))
    at += 8
    found = []
    for _ in range(min(count, 1 << 10)):
        offset, size, length = struct.unpack("<3Q", read(at, 24))
        name = read(at + 24, min(length, 1 << 10)).decode(errors="replace")
        at += 24 + length
        if not name.startswith("host") and size:
            found.append((name.partition("--")[2] or name, read(address + offset, size)))
    return found


def plain(code_objects: dict[str, bytes]) -> bytes:
    """A plain bundle with these code objects by target id, and an empty entry for the host."""
    ids = {"host-x86_64-unknown-linux-gnu-": b"", **{f"hipv4-amdgcn-amd-amdhsa--{t}": d for t, d in code_objects.items()}}
    place = -(-(len(_PLAIN) + 8 + sum(24 + len(name) for name in ids)) // _ALIGNMENT) * _ALIGNMENT
    table, body = _PLAIN + struct.pack("<Q", len(ids)), b""
    for name, data in ids.items():
        table += struct.pack("<3Q", place + len(body), len(data), len(name)) + name.encode()
        body += data + bytes(-len(data) % _ALIGNMENT)
    return table.ljust(place, b"\0") + body


def _contained(data: bytes) -> list[tuple[str, bytes]]:
    """The entries of a bundle that was read."""
    from .. import _core

    container = _core.Container.from_bytes(data)
    known = [entry for entry in container.entries if entry["bundle"] == 0 and entry["target"] and entry["size"]]
    return [(entry["target"], container.read(entry["index"])) for entry in known]


def _size(read: Read, address: int) -> int:
    """Bytes of the compressed bundle at an address. The first version does not say how many: they end where its data do."""
    version, method, size = struct.unpack("<4xHHI", read(address, 12))
    if version == 1:
        data = address + _FIRST_HEADER
        return _FIRST_HEADER + (_size_of_zlib(read, data) if method == _ZLIB else _size_of_zstd(read, data))
    if version > 2:
        (size,) = struct.unpack("<Q", read(address + 8, 8))
    return int(size)


def _size_of_zlib(read: Read, address: int) -> int:
    """Bytes of the zlib stream at an address."""
    stream, end = zlib.decompressobj(), address
    while not stream.eof:
        # To the end of a page: the next one need not be there.
        piece = read(end, 4096 - end % 4096)
        end += len(piece)
        try:
            stream.decompress(piece)
        except zlib.error as error:
            raise ToolError(f"what is compressed at {address:#x} is damaged: {error}") from None
    return end - len(stream.unused_data) - address


def _size_of_zstd(read: Read, address: int) -> int:
    """Bytes of the zstd frame at an address, by the headers of its blocks (RFC 8878, section 3.1.1)."""
    magic, flags = struct.unpack("<IB", read(address, 5))
    if magic != _ZSTD_MAGIC:
        raise ToolError(f"what is compressed at {address:#x} is neither zlib's nor zstd's")
    single, checksum = flags >> 5 & 1, flags >> 2 & 1
    at = address + 5 + (1 - single) + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
    last = False
    while not last:
        header = int.from_bytes(read(at, 3), "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        # One byte stands for a run of that many; 3 is no kind of block.
        if kind == 3:
            raise ToolError(f"what is compressed at {address:#x} is damaged")
        at += 3 + (1 if kind == 1 else size)
    return at + 4 * checksum - address
