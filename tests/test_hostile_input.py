"""Damaged files: whatever is done with them ends in a result or in one of our errors, never in a panic."""

from __future__ import annotations

import random

import compiled
import numpy as np

import luthier as lt


def _use(data: bytes) -> None:
    co = lt.CodeObject.open(data)
    co.inspect()
    co.disasm()
    for kernel in co.kernels:
        for block in kernel.blocks:
            _ = block.live_in, [(i.text, i.reads, i.writes, i.branch_target) for i in block.instructions]
    counted = lt.instrument(co, [lt.tools.load("instr_count")])
    counted.inspect()


def test_mutations():
    generator = random.Random(1)
    outcomes = {"used": 0, "refused": 0}
    for name in ("vecadd", "call"):
        original = compiled.code_object(name).read_bytes()
        for _ in range(120):
            data = bytearray(original)
            for _ in range(generator.randint(1, 8)):
                data[generator.randrange(len(data))] = generator.randrange(256)
            if generator.random() < 0.1:
                del data[generator.randrange(len(data)) :]
            try:
                _use(bytes(data))
                outcomes["used"] += 1
            except lt.InternalError:
                raise
            except lt.LuthierError as error:
                assert "\n" not in str(error)
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 20, outcomes


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
