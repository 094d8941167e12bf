"""Damaged files: whatever is done with them ends in a result or in one of our errors, never in a panic."""

from __future__ import annotations

import json
import os
import random

import compiled
import numpy as np
import pytest
from bundles import bundle

import luthier as lt

#: Damaged code rejects insertions, and says so each time.
pytestmark = pytest.mark.filterwarnings("ignore::luthier.RejectedWarning")

#: How many damaged files each test uses; LUTHIER_MUTATIONS=20000 is the deep run.
COUNT = int(os.environ.get("LUTHIER_MUTATIONS", "240"))
KERNELS = ("vecadd", "call", "choose", "table")


def _use(data: bytes) -> None:
    """All that can be done with a file without running it for long."""
    co = lt.CodeObject.open(data)
    co.inspect()
    co.disasm()
    json.loads(co.program.to_json(None))
    co.program.to_mir(None)
    co.core.kernel_table()
    for function in co.functions:
        co.program.to_dot(function)
        _ = [(loop.header, loop.depth, list(loop.blocks)) for loop in function.loops]
    for kernel in co.kernels:
        co.core.parameters(kernel.name)
        for block in kernel.blocks:
            _ = block.live_in, [(i.text, i.reads, i.writes, i.branch_target, i.source) for i in block.instructions]
    lt.instrument(co, [lt.tools.load("instr_count")]).inspect()


def _launch(data: bytes) -> None:
    """A launch of the first kernel, stopped after a moment."""
    co = lt.CodeObject.open(data)
    device = lt.Device(co.processor, threads=1, watchdog=20_000, timeout=5)
    for kernel in co.kernels[:1]:
        arguments = [np.zeros(64, np.float32) if a["kind"] == "global_buffer" else 64 for a in kernel.arguments]
        device.run(co, kernel.name, blocks=1, block=64, args=arguments, strict=True)


def _regions(data: bytes) -> dict[str, range]:
    """Where in a good object its parts are."""
    sections = {s["name"]: range(s["offset"], s["offset"] + s["size"]) for s in lt.CodeObject.open(data).inspect()["sections"]}
    table = int.from_bytes(data[40:48], "little")
    headers = {
        "ELF header": range(64),
        "program headers": range(64, 64 + 56 * data[56]),
        "section headers": range(table, len(data)),
    }
    wanted = (".note", ".rodata", ".dynsym", ".dynstr", ".symtab", ".rela.dyn", ".dynamic", ".text", ".debug_info", ".debug_abbrev", ".debug_line")  # fmt: skip
    return {**headers, **{name: places for name, places in sections.items() if name in wanted and len(places)}}


def _damage(data: bytes, places: range, generator: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(generator.randint(1, 6)):
        at = generator.choice(places)
        width = generator.choice((1, 1, 2, 4, 8))
        value = generator.choice(
            (0, 1, 0x7F, 0x80, 0xFF, (1 << 8 * width) - 1, 1 << (8 * width - 1), generator.getrandbits(8 * width))
        )
        damaged[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    if generator.random() < 0.05:
        del damaged[generator.randrange(len(damaged)) :]
    return bytes(damaged)


def _survive(use, data: bytes) -> str:
    """``used`` or ``refused``."""
    try:
        use(data)
        return "used"
    except lt.InternalError:
        raise
    except lt.LuthierError as error:
        assert "\n" not in str(error)
        return "refused"


def _bundle(data: bytes) -> bytes:
    return bundle({"host-x86_64-unknown-linux-gnu": b"", "hipv4-amdgcn-amd-amdhsa--gfx90a": data})


@pytest.mark.parametrize("use", [_use, _launch], ids=["use", "launch"])
def test_every_part_of_a_file_may_be_damaged(use):
    generator = random.Random(1)
    outcomes = {"used": 0, "refused": 0}
    originals = [compiled.code_object(name, flags=("-g",)).read_bytes() for name in KERNELS]
    regions = [_regions(data) for data in originals]
    assert all({".text", ".note", ".rodata", ".debug_info"} <= set(found) for found in regions)
    for turn in range(COUNT):
        number = generator.randrange(len(originals))
        names = list(regions[number])
        data = _damage(originals[number], regions[number][names[turn % len(names)]], generator)
        outcomes[_survive(use, data)] += 1
    assert min(outcomes.values()) > COUNT / 30, outcomes


def test_text_of_any_bytes_is_taken_apart():
    generator = random.Random(2)
    original = compiled.code_object("call").read_bytes()
    text = _regions(original)[".text"]
    outcomes = {"used": 0, "refused": 0}
    for _ in range(COUNT // 4):
        data = original[: text.start] + generator.randbytes(len(text)) + original[text.stop :]
        outcomes[_survive(lambda data: lt.CodeObject.open(data).disasm(), data)] += 1
    assert outcomes["used"] == COUNT // 4


def test_damaged_bundles():
    generator = random.Random(3)
    original = _bundle(compiled.code_object("vecadd").read_bytes())
    outcomes = {"used": 0, "refused": 0}
    for _ in range(COUNT // 2):
        data = _damage(original, range(200), generator)
        outcomes[_survive(lambda data: lt.CodeObject.open(data).inspect(), data)] += 1
    assert outcomes["refused"] > COUNT / 12, outcomes


def test_damaged_code_on_the_device():
    """Random bits in a kernel's code: it ends, faults, or is given up; memory outside its buffers stays as it is."""
    generator = random.Random(2)
    co = lt.CodeObject.open(compiled.code_object("vecadd"))
    start = min(f.address for f in co.kernel("vecadd").functions)
    text = next(s for s in co.inspect()["sections"] if s["name"] == ".text")
    at = text["offset"] + start - text["address"]
    size = co.kernel("vecadd").functions[0].size
    device = lt.Device("gfx90a")
    ran = 0
    for _ in range(60):
        data = bytearray(co.data)
        # Not the branches: an endless loop is not what this is about.
        place = at + generator.randrange(size)
        data[place] ^= 1 << generator.randrange(8)
        try:
            damaged = lt.CodeObject.open(bytes(data))
            kernel = damaged.kernel("vecadd")
            if any(i.is_branch and i.branch_target <= i.address for i in kernel.instructions):
                continue
            args = [np.zeros(64, np.float32) for _ in "abc"] + [np.uint32(64)]
            device.run(damaged, "vecadd", grid=64, block=64, args=args, strict=True)
            ran += 1
        except lt.InternalError:
            raise
        except lt.LuthierError as error:
            assert "\n" not in str(error)
    assert ran > 5
