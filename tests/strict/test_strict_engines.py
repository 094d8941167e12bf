"""Strict mode on what moves bytes beside a wave: every wait of good kernels is missed when it is gone, on gfx1250 (its
asynchronous copies, its tensor data mover and its barriers in LDS) and where loads go straight into LDS."""

from __future__ import annotations

import numpy as np
import pytest
from hazard_oracle import assemble

import luthier as lt

#: s[0:1] points at the kernarg segment, which holds the address of the one buffer; v0 is the work-item.
START = ["s_load_b64 s[4:5], s[0:1], 0x0", "s_wait_kmcnt 0x0", "v_lshlrev_b32 v1, 2, v0", "v_xor_b32 v2, 4, v1"]
BARRIER = ["s_barrier_signal -1", "s_barrier_wait -1"]
#: A descriptor in s[8:11] and s[12:19]: a tile of one row of `words` dwords at the buffer's start, in LDS from 0 on.
DESCRIPTOR = [
    "s_mov_b32 s8, 1", "s_mov_b32 s9, 0", "s_mov_b32 s10, s4", "s_or_b32 s11, s5, 0x80000000",
    "s_mov_b32 s12, {first:#x}", "s_mov_b32 s13, {second:#x}", "s_mov_b32 s14, 0", "s_mov_b32 s15, {tile:#x}",
    "s_mov_b32 s16, 0", "s_mov_b32 s17, 0", "s_mov_b32 s18, 0", "s_mov_b32 s19, 0",
]  # fmt: skip


def _descriptor(words: int, barrier: int | None = None) -> list[str]:
    first = 2 << 16 | (1 << 18 if barrier is not None else 0)
    second = words << 16 | (barrier or 0) // 8
    return [line.format(first=first, second=second, tile=words << 16) for line in DESCRIPTOR]


#: The second half of the buffer gets what the first one has, the lanes of each pair exchanged.
COPY = [
    *START, "global_load_async_to_lds_b32 v1, v1, s[4:5]", "s_wait_asynccnt 0x0",
    "ds_load_b32 v3, v2", "s_wait_dscnt 0x0", "global_store_b32 v1, v3, s[4:5] offset:512",
]  # fmt: skip
#: The same by waves that read what another one has copied.
ACROSS = [*START[:-1], "v_xor_b32 v2, 0x84, v1"]
CROSS = [*ACROSS, *COPY[len(START) :]]
COPY_WAVES = [*CROSS[: CROSS.index("ds_load_b32 v3, v2")], *BARRIER, *CROSS[CROSS.index("ds_load_b32 v3, v2") :]]
#: Out of LDS: what is written there has to be there, and has to stay until it is gone.
STORE = [
    *START, "v_add_nc_u32 v3, 7, v1", "ds_store_b32 v1, v3", "s_wait_dscnt 0x0",
    "v_add_nc_u32 v4, 0x200, v1", "global_store_async_from_lds_b32 v4, v1, s[4:5]", "s_wait_asynccnt 0x0",
    "v_mov_b32 v3, 0", "ds_store_b32 v1, v3",
]  # fmt: skip
#: What goes out of LDS is read again from memory.
BACK = [*STORE[:-2], "global_load_b32 v3, v1, s[4:5] offset:512", "s_wait_loadcnt 0x0", "global_store_b32 v1, v3, s[4:5]"]
#: What is stored to memory is fetched from there.
FETCH = [
    *START, "v_add_nc_u32 v3, 9, v1", "global_store_b32 v1, v3, s[4:5]", "s_wait_storecnt 0x0",
    "global_load_async_to_lds_b32 v1, v1, s[4:5]", "s_wait_asynccnt 0x0", "ds_load_b32 v3, v2", "s_wait_dscnt 0x0",
    "global_store_b32 v1, v3, s[4:5] offset:512",
]  # fmt: skip
TENSOR = [
    *START, *_descriptor(32), "tensor_load_to_lds s[8:11], s[12:19]", "s_wait_tensorcnt 0x0",
    "ds_load_b32 v3, v2", "s_wait_dscnt 0x0", "global_store_b32 v1, v3, s[4:5] offset:512",
]  # fmt: skip
#: The last of two waves moves, and the first one reads.
LAST = ["s_cmp_eq_u32 s20, 0", "s_cbranch_scc1 .L{name}"]
NUMBER = ["v_readfirstlane_b32 s20, v0", "s_nop 0"]
TENSOR_WAVES = [
    *START, *NUMBER, *_descriptor(64), *LAST, "tensor_load_to_lds s[8:11], s[12:19]", "s_wait_tensorcnt 0x0", ".L{name}:",
    *BARRIER, "ds_load_b32 v3, v2", "s_wait_dscnt 0x0", "global_store_b32 v1, v3, s[4:5] offset:512",
]  # fmt: skip
TENSOR_STORE = [
    *START, *_descriptor(32), "s_add_co_u32 s10, s10, 0x200", "v_add_nc_u32 v3, 7, v1", "ds_store_b32 v1, v3",
    "s_wait_dscnt 0x0", "tensor_store_from_lds s[8:11], s[12:19]", "s_wait_tensorcnt 0x0", "v_mov_b32 v3, 0",
    "ds_store_b32 v1, v3",
]  # fmt: skip
#: Two tiles on their way: the first has come when one is left, the second when none is.
TWO = [
    *START, *_descriptor(32), "tensor_load_to_lds s[8:11], s[12:19]", "s_add_co_u32 s10, s10, 0x80", "s_movk_i32 s9, 0x80",
    "tensor_load_to_lds s[8:11], s[12:19]", "s_wait_tensorcnt 0x1", "ds_load_b32 v3, v2", "s_wait_tensorcnt 0x0",
    "ds_load_b32 v4, v2 offset:128", "s_wait_dscnt 0x0", "v_add_nc_u32 v3, v3, v4",
    "global_store_b32 v1, v3, s[4:5] offset:512",
]  # fmt: skip
#: A wave looks at the barrier in LDS, at 1024, until its phase is over.
LOOK = [
    "v_mov_b32 v5, 0x400", ".Llook_{name}:", "ds_load_b32 v6, v5", "s_wait_dscnt 0x0", "v_readfirstlane_b32 s20, v6",
    "s_bitcmp1_b32 s20, 29", "s_cbranch_scc0 .Llook_{name}",
]  # fmt: skip
#: One lane makes a barrier of {count} + 1 arrivals.
INIT = [
    "v_mov_b32 v5, 0x400", "v_mov_b32 v6, {count}", "v_mov_b32 v7, {count}", "v_cmp_eq_u32 vcc_lo, 0, v0",
    "s_and_saveexec_b32 s22, vcc_lo", "ds_store_b64 v5, v[6:7]", "s_mov_b32 exec_lo, s22", "s_wait_dscnt 0x0", *BARRIER,
]  # fmt: skip
RESULT = ["ds_load_b32 v3, v2", "s_wait_dscnt 0x0", "global_store_b32 v1, v3, s[4:5] offset:512"]


def _init(count: int) -> list[str]:
    return [line.format(count=count) for line in INIT]


#: No wait for the tensor: the barrier in LDS tells all waves that it has come.
TENSOR_BARRIER = [
    *START, *NUMBER, *_descriptor(64, barrier=1024), *_init(0), *LAST, "tensor_load_to_lds s[8:11], s[12:19]", ".L{name}:",
    *LOOK, *RESULT,
]  # fmt: skip
#: Asynchronous loads of both waves, and an arrival behind them for each lane.
COPY_BARRIER = [
    *ACROSS, *_init(63), "global_load_async_to_lds_b32 v1, v1, s[4:5]", "ds_atomic_async_barrier_arrive_b64 v5",
    *LOOK, *RESULT,
]  # fmt: skip
#: Each lane says that it has stored.
HAND_OVER = [
    *ACROSS, *_init(63), "ds_store_b32 v1, v1", "v_mov_b32 v8, 1", "v_mov_b32 v9, 0",
    "ds_atomic_barrier_arrive_rtn_b64 v[10:11], v5, v[8:9]", *LOOK, *RESULT,
]  # fmt: skip
DIRECT = [
    "s_load_dwordx2 s[4:5], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 2, v0",
    "v_xor_b32 v2, 4, v1", "s_mov_b32 m0, 0", "s_nop 0", "global_load_lds_dword v1, s[4:5]", "s_waitcnt vmcnt(0)",
    "ds_read_b32 v3, v2", "s_waitcnt lgkmcnt(0)", "global_store_dword v1, v3, s[4:5] offset:512",
]  # fmt: skip
BUFFER = [
    line if "load_lds" not in line else "buffer_load_dword v1, s[4:7], 0 offen lds" for line in DIRECT
]  # fmt: skip
BUFFER[BUFFER.index("s_mov_b32 m0, 0")] = "s_mov_b32 s6, 0x200\ns_mov_b32 s7, 0x20000\ns_mov_b32 m0, 0"

#: The kernel and its work-items.
CASES = {
    "copy": (COPY, 32), "copy_waves": (COPY_WAVES, 64), "store": (STORE, 32), "back": (BACK, 32), "fetch": (FETCH, 32),
    "tensor": (TENSOR, 32), "tensor_waves": (TENSOR_WAVES, 64), "tensor_store": (TENSOR_STORE, 32), "two": (TWO, 32),
    "tensor_barrier": (TENSOR_BARRIER, 64), "copy_barrier": (COPY_BARRIER, 64), "hand_over": (HAND_OVER, 64),
}  # fmt: skip
DIRECT_CASES = {"direct": DIRECT, "buffer": BUFFER}
#: A barrier that is taken away leaves a race, or what was begun and not waited for.
NEEDED = ("s_wait", "s_barrier_wait", "s_cbranch_scc0")


def _variants(lines: list[str]) -> dict[str, list[str]]:
    """The kernel as it is, and without each of its waits."""
    made = {"whole": lines}
    for k, line in enumerate(lines):
        if line.startswith(NEEDED):
            made[f"without_{k}"] = lines[:k] + lines[k + 1 :]
        if line == "s_barrier_wait -1":
            made[f"without_{k}"] = lines[: k - 1] + lines[k + 1 :]
    return made


def _run(path, name: str, target: str, threads: int) -> tuple[list, np.ndarray]:
    data = np.zeros(256, np.uint32)
    data[:128] = np.arange(100, 228)
    module = lt.Device(target, watchdog=10_000_000).load(lt.CodeObject.open(path))
    result = module.run(name, grid=threads, block=threads, args=[data], lds=2048, strict=True)
    return result.findings, data


def _assemble(cases: dict[str, list[str]], target: str, wave: int, folder):
    kernels = {name: [line.format(name=name) for line in lines] for name, lines in cases.items()}
    return assemble(kernels, target, wave, folder)


@pytest.mark.parametrize("case", CASES)
def test_every_wait_is_missed(case: str, tmp_path) -> None:
    lines, threads = CASES[case]
    variants = {f"{case}_{name}": made for name, made in _variants(lines).items()}
    path = _assemble(variants, "gfx1250", 32, tmp_path)
    findings, good = _run(path, f"{case}_whole", "gfx1250", threads)
    assert findings == [] and good[128:160].any()
    for name in variants:
        if name.endswith("whole"):
            continue
        gone = lines[int(name.rsplit("_", 1)[1])]
        try:
            findings, data = _run(path, name, "gfx1250", threads)
        except lt.DeviceError:
            continue  # it went astray, which is hard to miss
        kinds = {f["kind"] for f in findings}
        wanted = {"missing-wait"} if gone.startswith("s_wait") else {"missing-wait", "lds-race"}
        assert kinds & wanted, (name, gone, findings)
        if gone.startswith(("s_wait_asynccnt", "s_wait_tensorcnt")):
            # What was not waited for has not come.
            assert not np.array_equal(data, good), (name, gone)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("case", DIRECT_CASES)
def test_loads_straight_into_lds(target: str, case: str, tmp_path) -> None:
    if (target, case) == ("gfx90a", "direct"):
        return  # it has no such instruction
    lines = DIRECT_CASES[case]
    variants = {f"{case}_{name}": made for name, made in _variants(lines).items()}
    path = _assemble(variants, target, 64, tmp_path)
    findings, good = _run(path, f"{case}_whole", target, 64)
    assert findings == [] and good[128:192].any()
    for name in variants:
        if not name.endswith("whole"):
            gone = lines[int(name.rsplit("_", 1)[1])]
            try:
                findings, data = _run(path, name, target, 64)
            except lt.DeviceError:
                continue
            assert "missing-wait" in {f["kind"] for f in findings}, (name, gone, findings)
            if "vmcnt" in gone:
                assert not np.array_equal(data, good)


def test_a_finding_names_both_parties(tmp_path) -> None:
    at = COPY.index("s_wait_asynccnt 0x0")
    path = _assemble({"early": COPY[:at] + COPY[at + 1 :]}, "gfx1250", 32, tmp_path)
    findings, _ = _run(path, "early", "gfx1250", 32)
    (finding,) = [f for f in findings if f["kind"] == "missing-wait"]
    assert finding["text"].startswith("ds_load_b32") and finding["kernel"] == "early"
    assert finding["workgroup"] == [0, 0, 0] and finding["wave"] == 0 and finding["lane"] == 0
    assert finding["address"] == 4 and "itself" in finding["message"]
    assert finding["other"]["text"].startswith("global_load_async_to_lds_b32") and finding["other"]["wave"] == 0
