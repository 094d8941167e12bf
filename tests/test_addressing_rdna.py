"""Addresses on RDNA2, RDNA3 and RDNA4 that the pseudocode tables leave to other chapters of the manuals: blocks of registers
and addresses by lane number. The manuals' formulas are written down here."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial, sgpr
from conformance.device import Batch
from conformance.targets import TARGETS, Target

RDNA = [Target("gfx1030", "", 32, 10), TARGETS["gfx1100"], TARGETS["gfx1201"]]
RNG = np.random.default_rng(5)


def scalars(target: Target, m0: int = 0, exec_: int = 0xFFFFFFFF) -> np.ndarray:
    record = np.zeros((1, 16), np.uint32)
    record[0, SCALARS["EXEC"]] = exec_
    record[0, SCALARS["MODE"]] = 0x3F0
    record[0, SCALARS["M0"]] = m0
    return record


def pointer(record: np.ndarray, name: str, address: int) -> None:
    at = SCALARS[name]
    record[0, at : at + 2] = np.array([address], np.uint64).view(np.uint32)


def bytes_of(batch: Batch, address: int, size: int) -> np.ndarray:
    return np.frombuffer(batch.device.core.read(address, size), np.uint8)


@pytest.mark.parametrize("target", RDNA, ids=lambda t: t.processor)
def test_addresses_by_lane_number(target: Target) -> None:
    """A scalar base, the offset, and four bytes for each lane before."""
    load, store = (
        ("global_load_dword_addtid", "global_store_dword_addtid")
        if target.major == 10
        else ("global_load_addtid_b32", "global_store_addtid_b32")
    )
    base = f"s[{sgpr('S0')}:{sgpr('S0') + 1}]"
    batch = Batch(target, [Trial("addtid", [f"{load} v5, {base} offset:16", f"{store} v4, {base} offset:256"], [4, 5], [5])])
    memory = RNG.integers(0, 1 << 32, 128, np.uint32)
    address = batch.buffer(memory)
    record = scalars(target, exec_=0x0FF0F0F1)
    pointer(record, "S0", address)
    rows = RNG.integers(0, 1 << 32, (1, 2, 32), np.uint32)
    _, got = batch.run(Trial("addtid", [], [4, 5], [5]), record, rows)
    active = 0x0FF0F0F1 >> np.arange(32) & 1 == 1
    np.testing.assert_array_equal(got[0, 0], np.where(active, memory[4:36], rows[0, 1]))
    memory[64:96] = np.where(active, rows[0, 0], memory[64:96])
    np.testing.assert_array_equal(bytes_of(batch, address, 512).view(np.uint32), memory)


@pytest.mark.parametrize("space", ("global", "global saddr", "scratch"))
def test_blocks_of_registers(space: str) -> None:
    """Register k of 32 is moved if M0 has bit k, to or from the address and 4 * k."""
    target, block, m0 = TARGETS["gfx1201"], list(range(20, 52)), 0x8F00F0A5
    saddr = f"s[{sgpr('S0')}:{sgpr('S0') + 1}]" if "saddr" in space else "off"
    address = "v4" if space != "global" else "v[4:5]"
    name = space.split()[0]
    trials = [
        Trial("load", [f"{name}_load_block v[20:51], {address}, {saddr} offset:8"], [4, 5, *block], block),
        Trial("store", [f"{name}_store_block {address}, v[20:51], {saddr} offset:8"], [4, 5, *block], []),
    ]
    if name == "scratch":
        # All of a lane's scratch is written first, with what is in v[60:91]; or read at the end.
        held = list(range(60, 92))
        lines = [f"scratch_{{0}}_b32 {{1}} offset:{32 + 4 * k}" for k in range(32)]
        put = [x.format("store", f"off, v{r}, off") for x, r in zip(lines, held)] + ["s_wait_storecnt 0x0"]
        get = [x.format("load", f"v{r}, off, off") for x, r in zip(lines, held)] + ["s_wait_loadcnt 0x0"]
        for trial in trials:
            trial.before, trial.after, trial.scratch = put, get, 256
            trial.loads = [*trial.loads, *held]
            trial.stores = [*trial.stores, *held]
    batch = Batch(target, trials)
    chosen = m0 >> np.arange(32) & 1 == 1
    for trial in trials:
        memory = RNG.integers(0, 1 << 32, (32, 32), np.uint32)  # lanes, words
        values = RNG.integers(0, 1 << 32, (32, 32), np.uint32)
        record = scalars(target, m0)
        base = 0
        if name == "global":
            base = batch.buffer(memory)
            lane = np.arange(32) * 128 + (0 if "saddr" in space else base) - (0 if "saddr" in space else 8)
            pointer(record, "S0", base - 8)
            places = np.ascontiguousarray(lane.astype(np.int64)).view(np.uint32).reshape(32, 2)
        else:
            places = np.full((32, 2), 24, np.uint32)
        columns = [places, values] + ([memory] if name == "scratch" else [])
        rows = np.concatenate(columns, axis=1).T[None].copy()
        _, got = batch.run(trial, record, rows)
        registers = np.where(chosen, memory, values) if trial.name == "load" else values
        want = np.where(chosen, values, memory) if trial.name == "store" else memory
        if trial.name == "load":
            np.testing.assert_array_equal(got[0, :32].T, registers)
        if name == "global":
            np.testing.assert_array_equal(bytes_of(batch, base, memory.nbytes).view(np.uint32).reshape(32, 32), want)
        else:
            np.testing.assert_array_equal(got[0, -32:].T, want)
