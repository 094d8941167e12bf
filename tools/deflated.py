"""Packs a zip file, here a wheel, once more: by libdeflate, whose deflate is smaller than zlib's and read by all that read zlib's.

tools/deflated.py FROM TO      both are zip files
"""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path

import deflate

#: As small as libdeflate can.
LEVEL = 12
#: The version of the format that has deflate and folders.
VERSION = 20
UNIX = 3
UTF_8 = 0x800


def packed(data: bytes) -> tuple[int, bytes]:
    """The method and the bytes: those of the file itself where deflate would not make them fewer."""
    smaller = bytes(deflate.deflate_compress(data, LEVEL)) if data else data
    return (zipfile.ZIP_DEFLATED, smaller) if len(smaller) < len(data) else (zipfile.ZIP_STORED, data)


def deflated(source: Path) -> bytes:
    """The same files in the same order, with their names, times and modes."""
    body, directory, count = bytearray(), bytearray(), 0
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            data = archive.read(info)
            method, stored = packed(data)
            year, month, day, hour, minute, second = info.date_time
            time, date = hour << 11 | minute << 5 | second // 2, year - 1980 << 9 | month << 5 | day
            name = info.filename.encode()
            common = struct.pack(
                "<HHHHHIIIHH", VERSION, UTF_8, method, time, date, info.CRC, len(stored), len(data), len(name), 0
            )
            made_by = UNIX << 8 | VERSION
            directory += struct.pack("<IH", 0x02014B50, made_by) + common
            directory += struct.pack("<HHHII", 0, 0, 0, info.external_attr, len(body)) + name
            body += struct.pack("<I", 0x04034B50) + common + name + stored
            count += 1
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(body), 0)
    return bytes(body + directory + end)


def main(source: str, destination: str) -> None:
    made = deflated(Path(source))
    Path(destination).write_bytes(made)
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(destination) as after:
        same = [(info.filename, info.CRC, info.external_attr) for info in before.infolist()]
        if after.testzip() is not None or same != [(info.filename, info.CRC, info.external_attr) for info in after.infolist()]:
            sys.exit(f"tools/deflated.py: {destination} is not what {source} is")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
