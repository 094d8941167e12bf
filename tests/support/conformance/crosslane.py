"""Instructions in which lanes see each other's registers: an element is a wave, and registers are arrays of lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .assembly import RESULTS, SCALARS, Trial, check_lines, sgpr
from .device import Batch, Refused
from .memory import WAIT
from .outcome import Outcome
from .pcode.evaluate import Machine, constant
from .pcode.syntax import PcodeError
from .pcode.values import make
from .targets import Entry, Target, entries, library
from .valu import pairs

SOURCE, OTHER, RESULT, WINDOW = 16, 18, 20, 32


@dataclass(frozen=True)
class Way:
    """How an entry is written, and which registers it works on: ``loads`` maps the table's names to VGPRs."""

    text: str
    loads: dict[str, int]
    #: What is compared: a VGPR, ALL of them (with EXEC full: the table does not say what it does), D0 (an SGPR), or LDS.
    result: str
    offset: int = 0


CONSTANT = 17  # an instruction reads no more than one SGPR
WAYS: dict[str, Way] = {
    "V_READFIRSTLANE_B32": Way(f"v_readfirstlane_b32 s{sgpr('D0')}, v{SOURCE}", {"SRC0": SOURCE}, "D0"),
    "V_READLANE_B32": Way(f"v_readlane_b32 s{sgpr('D0')}, v{SOURCE}, s{sgpr('S1')}", {"SRC0": SOURCE}, "D0"),
    "V_WRITELANE_B32": Way(f"v_writelane_b32 v{RESULT}, {CONSTANT}, s{sgpr('S1')}", {"VDST": RESULT}, "VDST"),
    "V_PERMLANE16_SWAP_B32": Way(f"v_permlane16_swap_b32 v{RESULT}, v{SOURCE}", {"SRC0": SOURCE, "VDST": RESULT}, "ALL"),
    "V_PERMLANE32_SWAP_B32": Way(f"v_permlane32_swap_b32 v{RESULT}, v{SOURCE}", {"SRC0": SOURCE, "VDST": RESULT}, "ALL"),
    "DS_PERMUTE_B32": Way(
        f"ds_permute_b32 v{RESULT}, v{SOURCE}, v{OTHER} offset:20", {"ADDR": SOURCE, "DATA0": OTHER, "VDST": RESULT}, "VDST", 20
    ),
    "DS_BPERMUTE_B32": Way(
        f"ds_bpermute_b32 v{RESULT}, v{SOURCE}, v{OTHER} offset:20", {"ADDR": SOURCE, "DATA0": OTHER, "VDST": RESULT}, "VDST", 20
    ),
    # OP_SEL's first bit reads inactive lanes, as the entries do without asking.
    "V_PERMLANE16_B32": Way(
        f"v_permlane16_b32 v{RESULT}, v{SOURCE}, s{sgpr('S1')}, s{sgpr('D0')} op_sel:[1,0]",
        {"SRC0": SOURCE, "VDST": RESULT},
        "VDST",
    ),
    "V_PERMLANEX16_B32": Way(
        f"v_permlanex16_b32 v{RESULT}, v{SOURCE}, s{sgpr('S1')}, s{sgpr('D0')} op_sel:[1,0]",
        {"SRC0": SOURCE, "VDST": RESULT},
        "VDST",
    ),
    "V_PERMLANE16_VAR_B32": Way(
        f"v_permlane16_var_b32 v{RESULT}, v{SOURCE}, v{OTHER} op_sel:[1,0]",
        {"SRC0": SOURCE, "SRC1": OTHER, "VDST": RESULT},
        "VDST",
    ),
    "V_PERMLANEX16_VAR_B32": Way(
        f"v_permlanex16_var_b32 v{RESULT}, v{SOURCE}, v{OTHER} op_sel:[1,0]",
        {"SRC0": SOURCE, "SRC1": OTHER, "VDST": RESULT},
        "VDST",
    ),
    "DS_BPERMUTE_FI_B32": Way(
        f"ds_bpermute_fi_b32 v{RESULT}, v{SOURCE}, v{OTHER} offset:20",
        {"ADDR": SOURCE, "DATA0": OTHER, "VDST": RESULT},
        "VDST",
        20,
    ),
    "V_PERMLANE64_B32": Way(f"v_permlane64_b32 v{RESULT}, v{SOURCE}", {"SRC0": SOURCE, "VDST": RESULT}, "VDST"),
    "DS_LOAD_ADDTID_B32": Way(f"ds_load_addtid_b32 v{RESULT} offset:24", {"VDST": RESULT}, "LDS", 24),
    "DS_STORE_ADDTID_B32": Way(f"ds_store_addtid_b32 v{SOURCE} offset:24", {"DATA0": SOURCE}, "LDS", 24),
    "DS_READ_ADDTID_B32": Way(f"ds_read_addtid_b32 v{RESULT} offset:24", {"VDST": RESULT}, "LDS", 24),
    "DS_WRITE_ADDTID_B32": Way(f"ds_write_addtid_b32 v{SOURCE} offset:24", {"DATA0": SOURCE}, "LDS", 24),
}
LDS_WORDS = 8  # for each lane


def ways(target: Target) -> list[tuple[Entry, Way]]:
    found = []
    for entry in entries(target.table):
        if entry.name in WAYS:
            way = WAYS[entry.name]
            found.append((entry, replace(way, text=way.text.replace(entry.name.lower(), target.mnemonic(entry)))))
    good = check_lines(target, [way.text for _, way in found])
    return [pair for pair, complaint in zip(found, good) if complaint is None]


def trial_of(target: Target, entry: Entry, way: Way) -> Trial:
    loads = [*way.loads.values()]
    window = [WINDOW + k for k in range(LDS_WORDS)] if way.result == "LDS" else []
    put = ["v_lshlrev_b32_e32 v3, 3, v1", *(f"ds_write_b32 v3, v{r} offset:{4 * k}" for k, r in enumerate(window))]
    get = ["v_lshlrev_b32_e32 v3, 3, v1", *(f"ds_read_b32 v{r}, v3 offset:{4 * k}" for k, r in enumerate(window))]
    wait = [WAIT[target.major >= 12]]
    return Trial(
        entry.key,
        [way.text],
        loads + window,
        loads + window,
        lds=4096 if way.result == "LDS" or entry.family == "DS" else 0,
        before=[*put, *wait] if window else [],
        after=[*wait, *get, *wait] if window else wait,
    )


def compare(batch: Batch, entry: Entry, way: Way, waves: int, seed: int) -> Outcome:
    target, outcome = batch.target, Outcome(entry.key)
    rng = np.random.default_rng([seed, *entry.name.encode()])
    lanes = target.lanes
    trial = trial_of(target, entry, way)
    rows = rng.integers(0, 1 << 32, (waves, len(trial.loads), lanes), np.uint32, endpoint=False)
    scalars = rng.integers(0, 1 << 32, (waves, 16), np.uint32, endpoint=False)
    kind = rng.integers(0, 4, waves)
    if way.result == "ALL":
        kind[:] = 0
    scalars[kind == 0, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
    scalars[kind == 1, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0
    scalars[:, SCALARS["MODE"]] = 0x3F0
    if way.result == "LDS":
        scalars[:, SCALARS["M0"]] &= 0xFFFF00FC
    try:
        got_scalars, got_rows = batch.run(trial, scalars, rows)
    except Refused as error:
        outcome.reason = f"the device refuses: {error}"
        return outcome
    arrays = {name: rows[:, k].astype(np.uint64) for k, name in enumerate(way.loads)}
    exec_ = pairs(scalars, SCALARS["EXEC"]) & np.uint64((1 << lanes) - 1)
    try:
        if way.result == "LDS":
            want, got = _addressed_by_lane(target, entry, way, scalars, rows, exec_), got_rows
        else:
            want, got = _whole_waves(target, entry, way, scalars, arrays, exec_), None
    except PcodeError as error:
        outcome.reason = f"cannot be evaluated: {error}"
        return outcome
    if way.result == "D0":
        want, got = want.astype(np.uint32), got_scalars[:, RESULTS["D0"]]
    elif way.result == "ALL":
        want, got = want.astype(np.uint32), got_rows[:, : len(way.loads)]
    elif way.result != "LDS":
        want, got = want.astype(np.uint32), got_rows[:, list(way.loads).index(way.result)]
    outcome.compared = waves
    wrong = (want != got).reshape(waves, -1).any(axis=1)
    k = int(np.argmax(wrong))
    outcome.differ(int(wrong.sum()), lambda: f"{way.text} exec={int(exec_[k]):x}: {got[k]}, the table says {want[k]}")
    return outcome


def _variables(way: Way, scalars: np.ndarray, exec_: np.ndarray) -> dict:
    return {
        "EXEC": make("U", 64, exec_),
        "EXEC_LO": make("U", 32, exec_),
        "S0": constant("B", 32, CONSTANT),
        "S1": make("B", 32, scalars[:, SCALARS["S1"]].astype(np.uint64)),
        "S2": make("B", 32, scalars[:, SCALARS["D0"]].astype(np.uint64)),
        "M0": make("B", 32, scalars[:, SCALARS["M0"]].astype(np.uint64)),
        "D0": constant("B", 32, 0),
        "OFFSET": constant("U", 16, way.offset),
        "OFFSET0": constant("U", 8, way.offset),
        "OFFSET1": constant("U", 8, 0),
    }


def _whole_waves(
    target: Target, entry: Entry, way: Way, scalars: np.ndarray, arrays: dict[str, np.ndarray], exec_: np.ndarray
) -> np.ndarray:
    machine = Machine(len(scalars), _variables(way, scalars, exec_), arrays=arrays, library=library(target.table).get)
    machine.variables["WAVE64"] = constant("U", 1, int(target.lanes == 64))
    machine.variables["wave32"] = constant("U", 1, int(target.lanes == 32))
    machine.variables["WAVE32"] = constant("U", 1, int(target.lanes == 32))
    first: Callable[..., object] = lambda x: make(  # noqa: E731
        "I", 32, [(int(b) & -int(b)).bit_length() - 1 for b in x.bits]
    )
    machine.variables["s_ff1_i32_b64()"] = machine.variables["s_ff1_i32_b32()"] = first
    machine.variables["s_nop()"] = lambda *_: constant("U", 32, 0)
    machine.run(entry.pseudocode)
    if way.result == "D0":
        return np.broadcast_to(machine.variables["D0"].bits, len(scalars))
    if way.result == "ALL":
        return np.stack([machine.arrays[name] for name in way.loads], axis=1)
    return machine.arrays[way.result]


def _addressed_by_lane(
    target: Target, entry: Entry, way: Way, scalars: np.ndarray, rows: np.ndarray, exec_: np.ndarray
) -> np.ndarray:
    """Every lane gets a copy of its wave's LDS; what a lane changes is put back."""
    waves, lanes = len(scalars), target.lanes
    held = np.ascontiguousarray(rows[:, 1:].transpose(0, 2, 1)).view(np.uint8).reshape(waves, -1)
    memory = np.repeat(held, lanes, axis=0)
    start = memory.copy()
    spread = {name: np.repeat(scalars[:, SCALARS[name]], lanes).astype(np.uint64) for name in ("M0",)}
    lane = np.tile(np.arange(lanes, dtype=np.uint64), waves)
    machine = Machine(waves * lanes, _variables(way, scalars, exec_), memory=memory)
    v = machine.variables
    v["M0"] = make("B", 32, spread["M0"])
    v["laneID"] = v["laneId"] = make("U", 32, lane)
    own = np.ascontiguousarray(rows[:, 0]).reshape(-1).astype(np.uint64)
    v["DATA0"] = v["RETURN_DATA"] = make("U", 32, own)
    active = np.repeat(exec_, lanes) >> lane & np.uint64(1) != 0
    machine.mask = active
    machine.run(entry.pseudocode)
    changed = memory != start
    after = held.copy()
    for w in range(waves):
        part = slice(w * lanes, (w + 1) * lanes)
        for k, byte in zip(*np.nonzero(changed[part])):
            after[w, byte] = memory[w * lanes + k, byte]
    want = rows.copy()
    want[:, 1:] = after.view(np.uint32).reshape(waves, lanes, LDS_WORDS).transpose(0, 2, 1)
    if "READ" in entry.name or "LOAD" in entry.name:
        result = np.where(active, machine.variables["RETURN_DATA"].bits, own)
        want[:, 0] = result.reshape(waves, lanes).astype(np.uint32)
    return want
