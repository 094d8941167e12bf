"""Offload bundles in a program's memory: where they end, and what is in them."""

from __future__ import annotations

import random

import pytest
from bundles import bundle, compressed

from luthier.agent.bundles import entries, plain
from luthier.errors import LuthierError, ToolError

#: Runs of one byte, text, and what cannot be compressed: zstd has another kind of block for each.
CODE = bytes(300_000) + b"what comes again and again" * 2000 + random.Random(1).randbytes(300_000)
PLAIN = bundle({"host-x86_64-unknown-linux-gnu-": b"", "hipv4-amdgcn-amd-amdhsa--gfx90a": CODE})
START = 0x7000


def memory(data: bytes, behind: bytes = b""):
    """Reads what lies at an address, up to the end of the last page."""
    all_ = data + behind
    all_ += bytes(-len(all_) % 4096)

    def read(address: int, size: int) -> bytes:
        if not START <= address <= START + len(all_) - size:
            raise ToolError(f"{size} bytes at {address:#x} cannot be read")
        return all_[address - START :][:size]

    return read


@pytest.mark.parametrize("behind", [b"", b"\x7fELF or anything else" * 500])
@pytest.mark.parametrize("form", [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)])
def test_a_compressed_bundle_is_read_to_its_end_whatever_lies_behind_it(form, behind):
    assert entries(memory(compressed(PLAIN, *form), behind), START) == [("gfx90a", CODE)]


def test_a_plain_bundle_is_read_and_one_that_is_made_has_the_same():
    assert entries(memory(PLAIN), START) == [("gfx90a", CODE)]
    assert entries(memory(plain({"gfx90a": CODE})), START) == [("gfx90a", CODE)]
    assert entries(memory(b"no bundle at all, but long enough for one"), START) == []


@pytest.mark.parametrize("method", [0, 1])
def test_a_bundle_of_unknown_length_that_is_damaged_is_an_error(method):
    whole = compressed(PLAIN, 1, method)
    for damaged in (whole[: len(whole) // 2], whole[:20] + b"\xff" * 10 + whole[30:], whole[:6] + b"\2\0" + whole[8:]):
        with pytest.raises(LuthierError):
            entries(memory(damaged), START)
