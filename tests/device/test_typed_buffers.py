"""Typed buffers: every data format that the assembler knows, loaded and stored by the instruction's format and by the
resource's, in 32 and in 16 bits, against NumPy. The conversions are those of AMD's RDNA3 and RDNA4 manuals ("Buffer Data")."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial, check_lines, sgpr
from conformance.device import Batch, Refused
from conformance.targets import TARGETS, Target

ALL = [TARGETS["gfx90a"], Target("gfx1030", "", 32, 10), TARGETS["gfx1100"], TARGETS["gfx1201"]]
SIZES = [
    "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16",
    "32_32_32", "32_32_32_32",
]  # fmt: skip
KINDS = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"]
ACROSS = 64  # bytes of an element's window


def _bits(size: str) -> list[int]:
    """Of X, Y, Z and W; the names of words in parts begin at the highest bit."""
    return [int(n) for n in reversed(size.split("_"))]


def _meaningful(size: str, kind: str) -> bool:
    """GCN's assembler takes every pair: those that mean something."""
    if kind == "FLOAT":
        return size in ("16", "32", "16_16", "10_11_11", "11_11_10", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32")
    return "32" not in size.split("_") or kind in ("UINT", "SINT")


def _syntax(target: Target, size: str, kind: str) -> str:
    if target.major == 9:
        return f"format:[BUF_DATA_FORMAT_{size},BUF_NUM_FORMAT_{kind}]"
    return f"format:[BUF_FMT_{size}_{kind}]"


def _formats(target: Target) -> list[tuple[str, str]]:
    names = [(size, kind) for size in SIZES for kind in KINDS if _meaningful(size, kind)]
    lines = [f"tbuffer_load_format_x v1, off, s[0:3], s4 {_syntax(target, *n)}" for n in names]
    good = [n for n, complaint in zip(names, check_lines(target, lines)) if complaint is None]
    assert len(good) >= 40
    return good


def _codes(target: Target, names: list[tuple[str, str]]) -> list[int]:
    """Where a resource has its formats, taken from what the assembler puts into instructions."""
    text = "\n".join(f"tbuffer_load_format_x v1, off, s[0:3], s4 {_syntax(target, *n)}" for n in names)
    command = ["llvm-mc-22", "-triple=amdgcn", f"-mcpu={target.processor}", "-show-encoding"]
    shown = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    words = [
        int.from_bytes(bytes.fromhex(m.replace(",0x", "")), "little") for m in re.findall(r"encoding: \[0x([^\]]*)\]", shown)
    ]
    assert len(words) == len(names)
    if target.major == 9:
        return [(w >> 19 & 15) << 15 | (w >> 23 & 7) << 12 for w in words]
    return [(w >> (55 if target.major == 12 else 19) & 127) << 12 for w in words]


def _small_float(raw: np.ndarray, bits: int) -> np.ndarray:
    """Eleven or ten bits: five of exponent, no sign."""
    fraction = bits - 5
    e, f = raw >> fraction, raw & ((1 << fraction) - 1)
    return np.where(e == 0, f * 2.0 ** (-14 - fraction), (1 + f / 2.0**fraction) * 2.0 ** (e - 15.0))


def _meaning(raw: np.ndarray, bits: int, kind: str) -> np.ndarray:
    """Numbers, exactly; ``raw`` is int64."""
    signed = raw - (raw >> (bits - 1) << bits)
    if kind == "FLOAT":
        if bits == 32:
            return raw.astype(np.uint32).view(np.float32).astype(float)
        return raw.astype(np.uint16).view(np.float16).astype(float) if bits == 16 else _small_float(raw, bits)
    if kind == "UNORM":
        return raw / (2.0**bits - 1)
    if kind == "SNORM":
        return np.maximum(signed / (2.0 ** (bits - 1) - 1), -1)
    return (signed if kind in ("SSCALED", "SINT") else raw).astype(float)


def _register(values: np.ndarray, kind: str) -> np.ndarray:
    if kind in ("UINT", "SINT"):
        return (values.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)
    return values.astype(np.float32).view(np.uint32)


def _half(values: np.ndarray, bits: int, kind: str) -> np.ndarray:
    if kind in ("UINT", "SINT"):
        return (values.astype(np.int64) & 0xFFFF).astype(np.uint32)
    with np.errstate(over="ignore"):
        near = values.astype(np.float16)
        if bits == 32:  # f32 is cut off, everything else is rounded
            near = np.where(np.abs(near.astype(float)) > np.abs(values), np.nextafter(near, np.float16(0)), near)
    return near.astype(np.float16).view(np.uint16).astype(np.uint32)


def _raw(rng: np.random.Generator, bits: int, kind: str, count: int) -> np.ndarray:
    """Bits of a component: anything that is a number, and that 16 bits can hold where that is asked for."""
    if bits == 32:
        if kind == "FLOAT":
            return (
                (rng.standard_normal(count) * 2.0 ** rng.integers(-20, 12, count))
                .astype(np.float32)
                .view(np.uint32)
                .astype(np.int64)
            )
        return rng.integers(0, 1 << 15, count) if kind == "UINT" else rng.integers(-(1 << 15), 1 << 15, count) & 0xFFFFFFFF
    raw = rng.integers(0, 1 << bits, count)
    raw[:2] = 0, (1 << bits) - 1
    if kind == "FLOAT":
        top = 0x7BFF >> (15 - min(bits, 15))
        return np.where((raw & ((1 << min(bits, 15)) - 1)) > top, top, raw)
    if kind.endswith("SCALED") and bits == 16:  # f16 holds eleven bits
        return rng.integers(0, 2048, count) if kind == "USCALED" else rng.integers(-2048, 2048, count) & 0xFFFF
    # The most negative number means the same as the one after it.
    return np.where(raw == 1 << (bits - 1), 0, raw) if kind == "SNORM" else raw


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.processor)
def test_formats(target: Target) -> None:
    rng = np.random.default_rng(target.major)
    names, lanes = _formats(target), target.lanes
    d16 = "d16_format" if target.major >= 11 else "format_d16"
    select = 5 | 4 << 3 | 1 << 6 | 0 << 9  # Y, X, one, zero
    trials = []
    for (size, kind), code in zip(names, _codes(target, names)):
        two = len(_bits(size)) > 1
        resource = [
            f"s_mov_b64 s[52:53], s[{sgpr('S0')}:{sgpr('S0') + 1}]",
            f"s_mov_b32 s54, {ACROSS * lanes}",
            f"s_mov_b32 s55, {(0 if target.major == 9 else 3 << 28) | code | (select if two else 4 | 0 << 3 | 1 << 6):#x}",
        ]
        tail = f"v4, s[52:55], s{sgpr('S1')}"
        typed = _syntax(target, size, kind)
        lines = [
            f"tbuffer_load_format_xyzw v[8:11], {tail} {typed} offen",
            f"tbuffer_load_{d16}_xyzw v[12:13], {tail} {typed} offen",
            f"buffer_load_format_xyz v[14:16], {tail} offen",
            f"buffer_load_{d16}_x v17, {tail} offen",
            f"buffer_load_{'d16_hi_format' if target.major >= 11 else 'format_d16_hi'}_x v18, {tail} offen",
            "s_wait_loadcnt 0x0" if target.major == 12 else "s_waitcnt vmcnt(0)",
            f"tbuffer_store_format_xyzw v[8:11], {tail} {typed} offen offset:16",
            f"tbuffer_store_{d16}_xyzw v[12:13], {tail} {typed} offen offset:32",
        ]
        if len(set(_bits(size))) == 1:
            lines.append(f"tbuffer_store_format_x v8, {tail} {typed} offen offset:48")
        trials.append(Trial(f"{size} {kind}", lines, [4, *range(8, 19)], list(range(8, 19)), before=resource))
    batch = Batch(target, trials)
    for trial, (size, kind) in zip(trials, names):
        bits = _bits(size)
        raw = [_raw(rng, b, kind, lanes) for b in bits]
        whole = [sum(int(r[lane]) << sum(bits[:k]) for k, r in enumerate(raw)) for lane in range(lanes)]
        element = sum(bits) // 8
        memory = rng.integers(0, 256, (lanes, ACROSS), np.uint8)
        for lane in range(lanes):
            memory[lane, :element] = list(whole[lane].to_bytes(element, "little"))
        base = batch.buffer(memory)
        record = np.zeros((1, 16), np.uint32)
        record[0, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
        record[0, SCALARS["MODE"]] = 0x3F0
        record[0, SCALARS["S0"] : SCALARS["S0"] + 2] = np.array([base], np.uint64).view(np.uint32)
        place = np.arange(lanes) * ACROSS
        place[-1] = ACROSS * lanes + 64  # outside
        old = rng.integers(0, 1 << 32, (11, lanes), np.uint32)
        _, got = batch.run(trial, record, np.concatenate([place[None].astype(np.uint32), old])[None])
        after = np.frombuffer(batch.device.core.read(base, memory.size), np.uint8).reshape(memory.shape)
        zero = np.zeros(lanes)
        values = [_meaning(r, b, kind) for r, b in zip(raw, bits)] + [zero] * (4 - len(bits))
        wide = [_register(v, kind) for v in values]
        narrow = [_half(v, (bits + [8] * 4)[k], kind) for k, v in enumerate(values)]
        one = np.full(lanes, 1 if kind in ("UINT", "SINT") else 0x3F800000, np.uint32)
        first = 1 if len(bits) > 1 else 0
        want = [*wide, narrow[0] | narrow[1] << 16, narrow[2] | narrow[3] << 16]
        want += [wide[first], wide[0] if first else np.zeros(lanes, np.uint32), one]
        for row in want[:-1]:
            row[-1] = 0
        low = np.where(np.arange(lanes) < lanes - 1, narrow[first], 0)
        # CDNA2 clears the half that is not loaded.
        kept = 0 if target.major == 9 else 0xFFFFFFFF
        want += [old[9] & 0xFFFF0000 & kept | low, old[10] & 0xFFFF & kept | low << 16]
        np.testing.assert_array_equal(got[0], np.array(want, np.uint32), trial.name)
        # What was loaded is stored again, as it was; in half the bits if that loses nothing; X alone, or
        # for every component.
        stored = memory.copy()
        stored[:-1, 16 : 16 + element] = memory[:-1, :element]
        exact = kind in ("UINT", "SINT") or (kind == "FLOAT" and max(bits) < 32) or max(bits) <= 8
        columns = np.r_[0:32, 32 + element : 64] if not exact else np.r_[0:64]
        stored[:-1, 32 : 32 + element] = memory[:-1, :element]
        if len(set(bits)) == 1:
            for lane in range(lanes - 1):
                set_to_x = range(len(bits)) if target.processor.startswith("gfx12") else range(1)
                number = sum(int(raw[0][lane]) << sum(bits[:k]) for k in set_to_x)
                stored[lane, 48 : 48 + element] = list(number.to_bytes(element, "little"))
        np.testing.assert_array_equal(after[:, columns], stored[:, columns], trial.name)


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.processor)
def test_rounding_of_normalised_numbers(target: Target) -> None:
    """Floats are limited to what the format has, and rounded to the nearest; a NaN is zero."""
    rng = np.random.default_rng(3)
    kinds = [("8", "UNORM"), ("16", "SNORM"), ("8_8_8_8", "SNORM"), ("2_10_10_10", "UNORM")]
    resource = [
        f"s_mov_b64 s[52:53], s[{sgpr('S0')}:{sgpr('S0') + 1}]",
        f"s_mov_b32 s54, {8 * target.lanes}",
        f"s_mov_b32 s55, {0x27FAC if target.major == 9 else 3 << 28 | 0xFAC:#x}",
    ]
    trials = [
        Trial(
            f"{s} {k}",
            [f"tbuffer_store_format_xyzw v[8:11], v4, s[52:55], s{sgpr('S1')} {_syntax(target, s, k)} offen"],
            [4, 8, 9, 10, 11],
            before=resource,
        )
        for s, k in kinds
    ]
    batch = Batch(target, trials)
    for trial, (size, kind) in zip(trials, kinds):
        bits = _bits(size)
        numbers = (rng.standard_normal((4, target.lanes)) * 0.8).astype(np.float32)
        numbers[:, :4] = np.nan, np.inf, -np.inf, 0.5
        base = batch.buffer(np.zeros(8 * target.lanes, np.uint8))
        record = np.zeros((1, 16), np.uint32)
        record[0, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
        record[0, SCALARS["S0"] : SCALARS["S0"] + 2] = np.array([base], np.uint64).view(np.uint32)
        place = (np.arange(target.lanes) * 8).astype(np.uint32)
        batch.run(trial, record, np.concatenate([place[None], numbers.view(np.uint32)])[None])
        after = np.frombuffer(batch.device.core.read(base, 8 * target.lanes), np.uint64)
        want = np.zeros(target.lanes, np.uint64)
        for k, b in enumerate(bits):
            low, top = (0.0, 2**b - 1) if kind == "UNORM" else (-1.0, 2 ** (b - 1) - 1)
            scaled = np.rint(np.clip(np.nan_to_num(numbers[k].astype(float)), low, 1.0) * top).astype(np.int64)
            want |= (scaled & ((1 << b) - 1)).astype(np.uint64) << np.uint64(sum(bits[:k]))
        np.testing.assert_array_equal(after, want, trial.name)


@pytest.mark.parametrize("code", [0, 127])
def test_what_is_no_format_is_refused(code: int) -> None:
    target = TARGETS["gfx1100"]
    line = f"tbuffer_load_format_x v8, off, s[52:55], s{sgpr('S1')} format:{code}"
    trial = Trial("none", [line], [8], [8])
    with pytest.raises(Refused, match="typed buffers"):
        Batch(target, [trial]).run(trial, np.full((1, 16), 1, np.uint32), np.zeros((1, 1, 32), np.uint32))
