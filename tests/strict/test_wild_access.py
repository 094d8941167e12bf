"""Wild accesses of every kind: an error, or a finding of strict mode, and never a crash of the process that runs the
device. Each processor's turn is a process of its own, which has to end well."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
import timed
from conformance.assembly import SCALARS, Trial, check_lines, sgpr
from conformance.device import Batch
from conformance.memory import SCALAR_BASE, resource
from conformance.targets import TARGETS, Target
from places import TESTS

from luthier.device.launching import Launch

PROCESSORS = {"gfx906": 9, "gfx90a": 9, "gfx950": 9, "gfx1010": 10, "gfx1030": 10, "gfx1100": 11, "gfx1201": 12, "gfx1250": 12}
ADDRESS, SCALAR = "v[4:5]", f"s[{sgpr('S0')}:{sgpr('S0') + 1}]"
BUFFER = f"s[{SCALAR_BASE}:{SCALAR_BASE + 3}], 0"
#: What reaches global memory through an address, in v4 and v5 and in S0.
GLOBAL = [
    *(
        f"{space}_load_{size}"
        for space in ("global", "flat")
        for size in ("ubyte v8", "sshort v8", "dword v8", "dwordx4 v[8:11]")
    ),
    *(f"{space}_store_{size}" for space in ("global", "flat") for size in ("byte", "short", "dword", "dwordx4")),
    *(f"{space}_atomic_{name}" for space in ("global", "flat") for name in ("add", "cmpswap_x2", "swap")),
]


def _lines() -> list[str]:
    lines = []
    for name in GLOBAL:
        end = ", off" if name.startswith("global") else ""
        data = "v[12:15]" if "x4" in name or "cmpswap" in name else "v12"
        lines.append(f"{name}, {ADDRESS}{end}" if "load" in name else f"{name} {ADDRESS}, {data}{end}")
    lines += [f"s_load_dword s64, {SCALAR}, 0x0", f"s_load_dwordx16 s[64:79], {SCALAR}, 0x40"]
    lines += [f"s_store_dwordx4 s[64:67], {SCALAR}, 0x0", f"s_atomic_add s64, {SCALAR}, 0x0", f"s_setpc_b64 {SCALAR}"]
    lines += [f"s_scratch_load_dword s64, {SCALAR}, s{sgpr('S1')}", f"s_swappc_b64 s[64:65], {SCALAR}"]
    lines += [f"buffer_load_dwordx4 v[8:11], v4, {BUFFER} offen", f"buffer_store_byte v12, v4, {BUFFER} offen"]
    lines += [f"buffer_atomic_add v12, v4, {BUFFER} offen", f"buffer_load_dword v4, {BUFFER} offen lds"]
    lines += ["global_load_lds_dword v[4:5], off", "global_load_async_to_lds_b128 v4, v[4:5], off"]
    # The same numbers as addresses in LDS and in scratch.
    lines += [
        "ds_read_b32 v8, v4",
        "ds_read_b128 v[8:11], v4",
        "ds_write_b64 v4, v[12:13]",
        "ds_write2_b32 v4, v12, v13 offset1:9",
    ]
    lines += ["ds_add_u32 v4, v12", "ds_cmpst_rtn_b64 v[8:9], v4, v[12:13], v[14:15]", "ds_append v8", "ds_add_src2_u32 v4"]
    lines += ["ds_read_addtid_b32 v8", "ds_read_b64_tr_b16 v[8:9], v4", "ds_load_tr16_b128 v[8:11], v4"]
    lines += ["scratch_load_dword v8, v4, off", "scratch_store_dwordx3 v4, v[12:14], off", "scratch_load_dword v8, off, s20"]
    return lines


def _addresses(core_address: int) -> list[int]:
    kept = np.zeros(64, np.uint32)  # the host's own memory, of which the device has not been told
    wild = [0, 1, 3, 4095, 1 << 32, (1 << 47) - 4, 1 << 47, 1 << 63, (1 << 64) - 1, (1 << 64) - 4, id(kept), kept.ctypes.data]
    wild += [base + offset for base in (1 << 48, 2 << 48, 1 << 58) for offset in (0, 4092, 1 << 16, (1 << 32) - 2)]
    wild += [core_address - 1, core_address - 4, core_address + 4093, core_address + 4096, core_address + (1 << 31)]
    return wild


def go(processor: str) -> None:
    """Every instruction at every wild address, in a run of its own, without and with strict mode."""
    target = TARGETS.get(processor) or Target(processor, "", 64 if PROCESSORS[processor] == 9 else 32, PROCESSORS[processor])
    lines = _lines()
    lines = [line for line, complaint in zip(lines, check_lines(target, lines)) if complaint is None]
    trials = [
        Trial(f"{k} {line}", [line], [4, 5], [8], 256, 64, sgprs=96, before=resource(target, 0x7FFFFF80))
        for k, line in enumerate(lines)
    ]
    batch = Batch(target, trials)
    core = batch.device.core
    memory = core.alloc(4096)
    outcomes: dict[str, list[int]] = {}
    for trial in trials:
        for address in _addresses(memory):
            scalars = np.zeros((1, 16), np.uint32)
            scalars[:, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
            words = np.array([address], np.uint64).view(np.uint32)
            scalars[0, SCALARS["S0"] : SCALARS["S0"] + 2] = words
            scalars[0, SCALARS["D0"]] = scalars[0, SCALARS["M0"]] = words[0]
            rows = np.repeat(words[:, None], target.lanes, axis=1)[None]
            buffers = [batch.buffer(np.ascontiguousarray(a)) for a in (scalars, rows)] + [core.alloc(4096), core.alloc(4096)]
            kernarg = np.array(buffers, np.uint64).tobytes()
            for strict in (False, ["out-of-bounds", "misaligned", "use-after-free", "lds-bounds"]):
                counts = outcomes.setdefault(trial.name, [0, 0, 0])
                try:
                    told = Launch(trial.symbol, (target.lanes, 1, 1), (target.lanes, 1, 1), strict=strict)
                    result = core.launch(batch.module, told, kernarg)
                    counts[1 if result["findings"] else 2] += 1
                except Exception as error:
                    if type(error).__name__ != "DeviceError" or "implement" in str(error) or "modelled" in str(error):
                        raise
                    counts[0] += 1
            for buffer in buffers:
                core.free(buffer)
    for name, (errors, findings, fine) in outcomes.items():
        print(errors, findings, fine, name)


WITH_SUPPORT = os.environ | {"PYTHONPATH": str(TESTS / "support")}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_wild_accesses_are_reports(processor: str) -> None:
    done = timed.run([sys.executable, __file__, processor], 300, env=WITH_SUPPORT)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) >= 30
    for line in lines:
        errors, findings, fine, name = line.split(" ", 3)
        # LDS and scratch have a few of these addresses; of the others nearly all are in no allocation.
        assert int(errors) + int(findings) > int(fine) or "ds_" in name or "scratch" in name or "buffer" in name, line
        # Beyond LDS, reads are zero and writes are dropped.
        assert int(errors) > 0 or "ds_" in name and int(findings) > 0, line


if __name__ == "__main__":
    go(sys.argv[1])
