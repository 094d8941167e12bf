"""Code objects as they lie in memory: what the program headers say, with no section believed."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

from ..errors import LoadError

#: Of the ELF header, from e_phoff on: e_phoff, e_shoff, e_flags, e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx.
_HEADER = struct.Struct("<QQIHHHHHH")
_PLACE = 0x20
_HEADER_SIZE = 64
#: p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align.
_SEGMENT = struct.Struct("<IIQQQQQQ")
_LOAD = 1
#: A file longer than this is not made of what a header in memory says.
_MOST = 1 << 34

#: Gives a number of bytes at an address.
Read = Callable[[int, int], bytes]


def reader(process: int | None) -> Read:
    """What reads memory of a process, of this one if None."""
    path = f"/proc/{process or os.getpid()}/mem"

    def read(address: int, size: int) -> bytes:
        try:
            with open(path, "rb", buffering=0) as file:
                data = os.pread(file.fileno(), size, address)
        except (OSError, OverflowError) as error:
            raise LoadError(f"{size:,} bytes at {address:#x} of {path} cannot be read: {error}") from None
        if len(data) != size:
            raise LoadError(f"{size:,} bytes at {address:#x} of {path} are not all there")
        return data

    return read


def without_sections(data: bytes) -> bytes:
    """A file whose header says that it has no sections: what is loaded of it is the same."""
    fields = list(_header(data))
    fields[1] = fields[7] = fields[8] = 0
    return data[:_PLACE] + _HEADER.pack(*fields) + data[_HEADER_SIZE:]


def file_of(read: Read, base: int) -> bytes:
    """The file of an object whose vaddr 0 is at ``base``, made of what its loadable segments have in memory. The first of them
    begins with the file's own header. Zero-filled memory is no part of a file."""
    header = read(base, _HEADER_SIZE)
    fields = _header(header)
    phoff, count, size = fields[0], fields[5], fields[4]
    if count and size != _SEGMENT.size:
        raise LoadError(f"the object at {base:#x}: program headers of {size} bytes, and not of {_SEGMENT.size} (e_phentsize)")
    table = read(base + phoff, count * size)
    found = bytearray(header.ljust(phoff + len(table), b"\0"))
    found[phoff : phoff + len(table)] = table
    for kind, _, offset, vaddr, _, filesz, _, _ in _SEGMENT.iter_unpack(table):
        if kind != _LOAD:
            continue
        if offset + filesz > _MOST:
            raise LoadError(
                f"the object at {base:#x}: a segment of {filesz:,} bytes at {offset:#x} of its file (p_filesz, p_offset)"
            )
        found.extend(bytes(max(0, offset + filesz - len(found))))
        found[offset : offset + filesz] = read(base + vaddr, filesz)
    return without_sections(bytes(found))


def as_loaded(data: bytes, read: Read, base: int) -> bytes:
    """The file ``data`` with its loadable segments as they are in memory, relocated and written to."""
    fields = _header(data)
    phoff, count = fields[0], fields[5]
    found = bytearray(data)
    for kind, _, offset, vaddr, _, filesz, _, _ in _SEGMENT.iter_unpack(data[phoff : phoff + count * _SEGMENT.size]):
        if kind == _LOAD and filesz:
            found[offset : offset + filesz] = read(base + vaddr, filesz)
    return bytes(found)


def _header(data: bytes) -> tuple[int, ...]:
    if len(data) < _HEADER_SIZE or not data.startswith(b"\x7fELF"):
        raise LoadError("in memory there is no ELF header: a code object begins with \\x7fELF")
    return _HEADER.unpack_from(data, _PLACE)
