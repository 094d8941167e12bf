"""Memory instructions: each lane has a window of memory of its own, whose bytes are compared afterwards.

LDS and scratch windows are filled by the kernel before the instruction and read by it afterwards; those in global
memory are the host's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from . import modes, samples
from .assembly import SCALARS, Trial, check_lines, sgpr, tuple_of
from .device import Batch, Refused
from .modes import Mode
from .outcome import Outcome
from .pcode import floats
from .pcode.evaluate import Machine, constant
from .pcode.syntax import PcodeError
from .pcode.values import FLOATS, make
from .readings import MEMORY_LISTED, clears_other_half, flush_of_atomic, memory_text
from .targets import Entry, Operand, Target, entries, library, operands
from .valu import narrow, wide

FAMILIES = ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "VFLAT", "VGLOBAL", "VSCRATCH", "VBUFFER")
ADDRESS, DATA, DATA2, RESULT, WINDOW = 4, 8, 12, 20, 32
SECOND = 1024  # where the other half of a two-address access with a stride of 64 goes
SCALAR_BASE = 52  # s[52:55]: a buffer resource


@dataclass
class Access:
    """One way of writing a memory instruction."""

    entry: Entry
    kind: str
    text: str
    fields: dict[str, Operand]
    immediate: int = 0
    units: tuple[int, int] = (0, 0)
    far: bool = False  # the second address is SECOND bytes on
    returns: bool = True
    before: tuple[str, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.entry.key} {self.kind}"

    @property
    def in_lds(self) -> bool:
        return self.entry.family == "DS"

    @property
    def in_scratch(self) -> bool:
        return "SCRATCH" in self.entry.family

    @property
    def window(self) -> int:
        """Words of memory that belong to a lane and that the kernel itself fills."""
        return (8 if self.far else 16) if self.in_lds or self.in_scratch else 0

    @property
    def data(self) -> Operand | None:
        name = next((n for n in ("data0", "data", "vdata", "vsrc") if n in self.fields), None)
        if name is None or (name == "vdata" and "LOAD" in self.entry.name):
            return None
        return self.fields[name]

    @property
    def data2(self) -> Operand | None:
        return self.fields.get("data1")

    @property
    def result(self) -> Operand | None:
        if not self.returns:
            return None
        if "vdst" in self.fields:
            return self.fields["vdst"]
        vdata = self.fields.get("vdata")
        if vdata is None or "STORE" in self.entry.name:
            return None
        if "CMPSWAP" in self.entry.name:
            return Operand("ANY", vdata.bits // 2, "VGPR")
        return vdata

    @property
    def result_vgpr(self) -> int:
        """Buffer atomics return in place of their data."""
        return RESULT if "vdst" in self.fields or self.data is None else DATA


def _cache(target: Target) -> str:
    if target.major >= 12:
        return "th:TH_ATOMIC_RETURN"
    return "sc0" if target.processor in ("gfx942", "gfx950") else "glc"


def accesses(target: Target) -> tuple[list[Access], dict[str, str]]:
    """As :func:`forms.vector_forms`."""
    known, without = operands(target.table), {}
    candidates: list[Access] = []
    for entry in entries(target.table):
        if entry.family not in FAMILIES:
            continue
        fields = known.get(entry.key)
        listed = next((why for names, why in MEMORY_LISTED if re.fullmatch(names, entry.name)), None)
        if listed:
            without[entry.key] = listed
            continue
        if fields is None:
            without[entry.key] = "the machine-readable specification has no operands for it"
            continue
        candidates += _ways(target, entry, fields)
    complaints = check_lines(target, [a.text for a in candidates])
    bare = check_lines(target, [a.text.split()[0] for a in candidates])
    good, refused = [], {}
    for access, complaint, existence in zip(candidates, complaints, bare):
        if complaint is None:
            good.append(access)
        elif existence in ("invalid instruction", "instruction not supported on this GPU"):
            refused[access.entry.key] = "the target does not have it"
        else:
            refused[access.entry.key] = f"the assembler refuses {access.text}: {complaint}"
    has = {a.entry.key for a in good}
    return good, {**without, **{k: v for k, v in refused.items() if k not in has}}


def _ways(target: Target, entry: Entry, fields: dict[str, Operand]) -> list[Access]:
    name, family = target.mnemonic(entry), entry.family
    atomic = "ATOMIC" in entry.name

    def vector(first: int, operand: Operand | None) -> str:
        return tuple_of("v", first, operand.words if operand else 1)

    made = []
    if family == "DS":
        access = Access(entry, "", "", fields)
        access.far = "ST64" in entry.name or "STRIDE64" in entry.name
        two = re.search(r"[DEG]2(ST64)?_(RTN_)?B(32|64)|2ADDR_", entry.name)
        unit = 8 if entry.name.endswith("B64") else 4
        if access.far:
            access.units = (0, SECOND // (unit * 64))
        elif two:
            access.units = (1, 3)
        else:
            access.immediate = 8
        parts = [vector(RESULT, fields["vdst"])] if "vdst" in fields else []
        parts += [f"v{ADDRESS}"] if "addr" in fields else []
        parts += [vector(first, fields[n]) for n, first in (("data0", DATA), ("data1", DATA2)) if n in fields]
        offset = f"offset0:{access.units[0]} offset1:{access.units[1]}" if two else f"offset:{access.immediate}"
        access.text = f"{name} {', '.join(parts)} {offset}"
        return [access]
    if family in ("MUBUF", "VBUFFER"):
        for returns in (True, False) if atomic else (True,):
            text = (
                f"{name} {vector(DATA if atomic or 'STORE' in entry.name else RESULT, fields['vdata'])}, v{ADDRESS}, "
                f"s[{SCALAR_BASE}:{SCALAR_BASE + 3}], s{sgpr('S1')} offen offset:8"
            )
            text += f" {_cache(target)}" if atomic and returns else ""
            made.append(Access(entry, "returning" if atomic and returns else "", text, fields, 8, returns=returns))
        return made
    addressings = {"FLAT": ("flat",), "VFLAT": ("flat",)}.get(family, ("off", "saddr"))
    for addressing in addressings:
        for returns in (True, False) if atomic else (True,):
            scratch = "SCRATCH" in family
            address = tuple_of("v", ADDRESS, 2 if addressing in ("flat", "off") and not scratch else 1)
            data_name = next((n for n in ("data", "vdata", "vsrc") if n in fields), None)
            parts = [address]
            if data_name:
                parts.append(vector(DATA, fields[data_name]))
            if "vdst" in fields and returns:
                parts.insert(0, vector(RESULT, fields["vdst"]))
            if addressing == "off":
                parts.append("off")
            elif addressing == "saddr":
                if scratch:
                    parts[parts.index(address)] = "off" if target.major == 9 else address
                parts.append(tuple_of("s", sgpr("S0"), 1 if scratch else 2))
            if scratch and addressing == "saddr":
                continue  # on gfx9 a scratch address is a VGPR or an SGPR: one for all lanes
            text = f"{name} {', '.join(parts)} offset:8"
            text += f" {_cache(target)}" if atomic and returns else ""
            kind = f"{addressing}{' returning' if atomic and returns else ''}"
            made.append(Access(entry, kind, text, fields, 8, returns=returns, facts={"addressing": addressing}))
    return made


def trial_of(target: Target, access: Access) -> Trial:
    loads = [ADDRESS, ADDRESS + 1]
    for operand, first in ((access.data, DATA), (access.data2, DATA2)):
        loads += [first + k for k in range(operand.words)] if operand else []
    stores = []
    if access.result:
        stores = [access.result_vgpr + k for k in range(access.result.words)]
        if access.result_vgpr == RESULT:
            loads += stores
    window = [WINDOW + k for k in range(access.window)]
    before: list[str] = []
    after: list[str] = []
    if window:
        lines = [f"v_lshlrev_b32_e32 v3, {2 if access.far else 4}, v1"]
        places = [4 * k if not access.far or k < 4 else SECOND + 4 * (k - 4) for k in range(len(window))]
        if access.in_lds:
            put, get = "ds_write_b32 v3, v{r} offset:{p}", "ds_read_b32 v{r}, v3 offset:{p}"
        else:
            put, get = "scratch_store_dword v3, v{r}, off offset:{p}", "scratch_load_dword v{r}, v3, off offset:{p}"
        before = lines + [put.format(r=r, p=p) for r, p in zip(window, places)] + [WAIT[target.major >= 12]]
        after = lines + [get.format(r=r, p=p) for r, p in zip(window, places)] + [WAIT[target.major >= 12]]
    if access.entry.family in ("MUBUF", "VBUFFER"):
        # base and size from the record; no stride, no swizzling
        before = resource(target, 64 * target.lanes)
    loads += window
    stores += window
    return Trial(
        access.name,
        [access.text],
        loads,
        stores,
        lds=8192 if access.in_lds else 0,
        scratch=8192 if access.in_scratch else 0,
        before=before,
        after=after,
    )


WAIT = ("s_waitcnt vmcnt(0) lgkmcnt(0)", "s_wait_idle")
#: The last word of a buffer resource: DST_SEL and a 32-bit format.
RESOURCE = {9: 0x00027FAC, 10: 0x31014FAC, 11: 0x31014FAC, 12: 0x31014FAC}


def resource(target: Target, size: int) -> list[str]:
    """Makes a buffer resource of ``size`` bytes, a multiple of 128, at the address in S0."""
    # gfx1250 has 57 bits of base, then 45 of size, and no flags that these instructions need.
    words = (size >> 7, 0) if target.processor == "gfx1250" else (size, RESOURCE[target.major])
    return [
        f"s_mov_b64 s[{SCALAR_BASE}:{SCALAR_BASE + 1}], s[{sgpr('S0')}:{sgpr('S0') + 1}]",
        *(f"s_mov_b32 s{SCALAR_BASE + 2 + k}, {word:#x}" for k, word in enumerate(words)),
    ]


def types(access: Access) -> tuple[Operand, Operand]:
    """What memory holds, and what the data is, for the choice of operands."""
    name = access.entry.name
    match = re.search(r"PK_ADD(_RTN)?_(B?F16)|_(F32|F64)(_X2)?$", name)
    bits = 64 if re.search(r"64$|_X2$|_DWORDX2$", name) else 32
    if "DWORDX" in name or re.search(r"B(96|128)$", name) or re.search(r"2ST64|2ADDR|(READ|WRITE|XCHG)2_", name):
        match = None
    form = f"NUM_U{bits}"
    if match:
        form = f"NUM_PK2_{match[2]}" if match[2] else f"NUM_{match[3]}"
        bits = int(match[3][1:]) if match[3] else 32
    return Operand(form, bits, "VGPR"), Operand(form, bits, "VGPR")


def compare(batch: Batch, access: Access, waves: int, seed: int, mode_list: tuple[Mode, ...]) -> Outcome:
    target, outcome = batch.target, Outcome(access.name)
    rng = np.random.default_rng([seed, *access.name.encode()])
    kind = samples.element(types(access)[0])[1]
    mode_list = mode_list if kind in ("F", "BF") else mode_list[:1]
    waves = max(waves, 1)
    for mode in mode_list:
        try:
            _compare(batch, target, access, waves, rng, mode, outcome)
        except Refused as error:
            outcome.reason = f"the device refuses: {error}"
            return outcome
        except PcodeError as error:
            outcome.reason = f"cannot be evaluated: {error}"
            return outcome
    return outcome


def _compare(
    batch: Batch, target: Target, access: Access, waves: int, rng: np.random.Generator, mode: Mode, outcome: Outcome
) -> None:
    lanes, count = target.lanes, waves * target.lanes
    in_memory, in_data = types(access)
    memory_words, data_words, more = samples.fill(rng, [in_memory, in_data, in_data], count)

    def words(operand: Operand | None, first: list[np.ndarray]) -> np.ndarray:
        """Data of any width: the sampled parts, then random."""
        if operand is None:
            return np.zeros((count, 0), np.uint32)
        rest = rng.integers(0, 1 << 32, (count, operand.words), np.uint32, endpoint=False)
        if first:
            sampled = np.concatenate(first, axis=1)[:, : operand.words]
            rest[:, : sampled.shape[1]] = sampled
        return rest

    data = words(access.data, [data_words, more])
    if access.data and "CMPSWAP" in access.entry.name:  # equal in half of the cases
        size = access.data.words // 2
        same = rng.integers(0, 2, count) == 0
        data[same, size:] = memory_words[same, :size]
    elif "CMPST" in access.entry.name or "CMPSTORE" in access.entry.name:
        same = rng.integers(0, 2, count) == 0
        data[same] = memory_words[same, : data.shape[1]]
    data2 = words(access.data2, [more])
    old = words(access.result, []) if access.result and access.result_vgpr == RESULT else data
    row = SECOND + 16 if access.far else 64
    memory = rng.integers(0, 256, (count, row), np.uint8, endpoint=False)
    step = 16 if access.far else 8 if re.search(r"64$|X2$", access.entry.name) else 4
    wide_ = re.search(r"B96|B128|X3$|X4$|XYZ", access.entry.name)
    place = (
        np.full(count, 16 if wide_ else 0)
        if access.units != (0, 0) or wide_ or access.far
        else rng.integers(0, 48 // step, count) * step
    )
    if access.units != (0, 0) or access.far:
        place[:] = 0
    elif not wide_:
        place = np.maximum(place, 8)
    at = place[:, None] + np.arange(4 * memory_words.shape[1])
    unit = (8 if access.entry.name.endswith("B64") else 4) if access.units != (0, 0) else 0
    memory[np.arange(count)[:, None], at + access.units[0] * unit] = memory_words.view(np.uint8).reshape(count, -1)
    start = memory.copy()
    # Addresses.
    lane = np.tile(np.arange(lanes), waves)
    wave = np.repeat(np.arange(waves), lanes)
    stride = 16 if access.far else 64
    scalars = rng.integers(0, 1 << 32, (waves, 16), np.uint32, endpoint=False)
    addressing = access.facts.get("addressing")
    base = 0
    if not access.window:
        base = batch.buffer(memory[:, :64])
    buffer_like = access.entry.family in ("MUBUF", "VBUFFER")
    soffset = 16
    absolute = base + wave * lanes * 64 * (not access.window) + lane * stride + place - access.immediate
    if buffer_like:
        register = lane * 64 + place - access.immediate - soffset
        register = np.where(register < 0, 0, register)
        place = np.where(lane * 64 + place - access.immediate - soffset < 0, access.immediate + soffset - lane * 64, place)
        scalars[:, SCALARS["S0"] : SCALARS["S0"] + 2] = _split(base + np.arange(waves) * lanes * 64)
        scalars[:, SCALARS["S1"]] = soffset
    elif addressing == "saddr":
        register = lane * 64 + place
        scalars[:, SCALARS["S0"] : SCALARS["S0"] + 2] = _split(base + np.arange(waves) * lanes * 64 - access.immediate)
    else:
        register = absolute
    if access.window:
        register = np.maximum(register, 0)
        place = np.where(absolute < 0, access.immediate, place)
    addresses = _split(register.astype(np.int64))
    scalars[:, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] |= np.where(rng.integers(0, 3, waves) > 0, 0xFFFFFFFF, 0).astype(np.uint32)[
        :, None
    ]
    scalars[:, SCALARS["MODE"]] = mode.bits
    scalars[:, SCALARS["M0"]] = 0xFFFFFFFF
    columns = [addresses, data, data2]
    if access.result and access.result_vgpr == RESULT:
        columns.append(old)
    if access.window:
        held = np.concatenate([memory[:, :16], memory[:, SECOND:]], axis=1) if access.far else memory
        columns.append(np.ascontiguousarray(held).view(np.uint32))
    rows = np.concatenate(columns, axis=1).reshape(waves, lanes, -1).transpose(0, 2, 1)
    try:
        _, got_rows = batch.run(trial_of(target, access), scalars, rows)
        if base:
            got_memory = np.frombuffer(batch.device.core.read(base, count * 64), np.uint8).reshape(count, 64)
    finally:
        if base:
            batch.device.core.free(base)
    got = got_rows.transpose(0, 2, 1).reshape(count, -1)
    result_words = access.result.words if access.result else 0
    if access.window:
        held = np.ascontiguousarray(got[:, result_words : result_words + access.window]).view(np.uint8)
        got_memory = start.copy()
        if access.far:
            got_memory[:, :16], got_memory[:, SECOND:] = held[:, :16], held[:, 16:]
        else:
            got_memory = held
    # The table.
    limit = (1 << lanes) - 1
    exec_ = np.repeat(
        scalars[:, SCALARS["EXEC"]].astype(np.uint64) | scalars[:, SCALARS["EXEC"] + 1].astype(np.uint64) << np.uint64(32), lanes
    )
    active = exec_ & np.uint64(limit) >> np.uint64(0) & (np.uint64(1) << lane.astype(np.uint64)) != 0
    policy = flush_of_atomic(target, access.entry)
    effective = {"mode": mode, "always": Mode("", 0), "never": modes.DEFAULT}[policy]
    is_float = samples.element(in_memory)[1] in ("F", "BF")
    machine = Machine(count, {}, memory=memory, library=library(target.table).get, round32=floats.NEAREST)
    machine.mask = active.copy()
    clears = clears_other_half(target, access.entry)
    _bind(machine, access, place, data, data2, np.zeros_like(old) if clears else old, count)
    if is_float and policy != "never":
        size = 4 * in_memory.words
        spot = place[:, None] + np.arange(size)
        part = np.ascontiguousarray(memory[np.arange(count)[:, None], spot]).view(np.uint32)
        machine.variables["FLUSHED"] = wide(modes.flush(effective, in_memory, part, result=False))
        machine.variables["DATA"] = wide(modes.flush(effective, in_data, data, result=False))
    machine.run(memory_text(access.entry, is_float and policy != "never"))
    if is_float and policy != "never":
        size = 4 * in_memory.words
        spot = place[:, None] + np.arange(size)
        part = np.ascontiguousarray(memory[np.arange(count)[:, None], spot]).view(np.uint32)
        flushed = modes.flush(effective, in_memory, part, result=True).view(np.uint8)
        memory[np.flatnonzero(active)[:, None], spot[active]] = flushed[active]
    outcome.compared += int(active.sum())
    wrong = (memory[:, :row] != got_memory[:, :row]).any(axis=1)
    if is_float:
        wrong &= ~(_nan_at(memory, place, in_memory) & _nan_at(got_memory, place, in_memory) & machine.made_nan)

    def describe(k: int, what: str, want: np.ndarray, found: np.ndarray) -> str:
        inside = "_".join(f"{int(w):08x}" for w in start[k, place[k] : place[k] + 8].view(np.uint32)[::-1])
        return (
            f"{access.text} [{mode.name}] memory={inside} data={_hex(data[k])} data2={_hex(data2[k])} at={place[k]} "
            f"active={bool(active[k])}: {what} {_hex(found)}, the table says {_hex(want)}"
        )

    k = int(np.argmax(wrong))
    near = slice(int(place[k]), int(place[k]) + 8)
    outcome.differ(
        int(wrong.sum()), lambda: describe(k, "memory is", memory[k, near].view(np.uint32), got_memory[k, near].view(np.uint32))
    )
    if access.result:
        v = machine.variables
        name = "RETURN_DATA" if "RETURN_DATA" in access.entry.pseudocode else "VDATA"
        if isinstance(v[name], list):
            want = np.concatenate([narrow(part, 1, count) for part in v[name]], axis=1)
        else:
            want = narrow(v[name], result_words, count)
        before = old[:, :result_words] if access.result_vgpr == RESULT else data[:, :result_words]
        want = np.where(active[:, None], want, before)
        wrong_result = (want != got[:, :result_words]).any(axis=1)
        j = int(np.argmax(wrong_result))
        outcome.differ(int(wrong_result.sum()), lambda: describe(j, "the result is", want[j], got[j, :result_words]))


def _hex(words: np.ndarray) -> str:
    return "_".join(f"{int(w):08x}" for w in words[::-1])


def _split(addresses: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(addresses.astype(np.int64)).view(np.uint32).reshape(-1, 2)


def _nan_at(memory: np.ndarray, place: np.ndarray, operand: Operand) -> np.ndarray:
    pieces, kind, width = samples.element(operand)
    f = FLOATS[kind, width]
    at = place[:, None] + np.arange(4 * operand.words)
    parts = np.ascontiguousarray(memory[np.arange(len(memory))[:, None], at]).view(f"u{width // 8}")
    return ((parts & np.array(f.sign - 1, parts.dtype)) > np.array(f.infinity, parts.dtype)).any(axis=1)


def _bind(
    machine: Machine, access: Access, place: np.ndarray, data: np.ndarray, data2: np.ndarray, old: np.ndarray, count: int
) -> None:
    """The names that the tables have for addresses and data."""
    v = machine.variables
    where = make("U", 32, place.astype(np.uint64))
    start = make("U", 32, (place - access.immediate).astype(np.uint64))
    text = access.entry.pseudocode
    for name in ("ADDR", "ADDR_BASE", "VADDR", "vgpr_a", "v_addr", "v_addr_off"):
        v[name] = start if "Calc" in text or "OFFSET.u32" in text else where
    for name in ("SADDR", "SRSRC", "SOFFSET", "s_saddr", "s_saddr_off", "sgpr_o", "flat_scratch"):
        v[name] = constant("U", 32, 0)
    v["OFFSET"] = v["offset"] = constant("U", 32, access.immediate)
    v["OFFSET0"], v["OFFSET1"] = (constant("U", 32, u) for u in access.units)
    for name in ("CalcFlatAddr", "CalcGlobalAddr", "CalcBufferAddr", "CalcScratchAddr"):
        v[f"{name}()"] = lambda *_: where
    explicit = "OFFSET" in text.replace("OFFSET0.b32, OFFSET1.b32", "")
    v["CalcDsAddr()"] = lambda *inside: start if explicit else where
    if data.shape[1]:
        v["DATA"] = v["DATA0"] = wide(data)
        if "STORE" in access.entry.name or access.result is None or access.result_vgpr != DATA:
            v["VDATA"] = v["DATA"]
    if data2.shape[1]:
        v["DATA2"] = v["DATA1"] = wide(data2)
    v["S0"] = start  # in the one entry that is written in terms of sources
    if data.shape[1]:
        v["S1"] = wide(data)
    if access.entry.name == "DS_CONDXCHG32_RTN_B64":
        v["OFFSET0"] = constant("U", 8, access.immediate)
    elif access.result:
        before = wide(old[:, : access.result.words])
        v["RETURN_DATA"] = before
        if access.data is None:
            v["VDATA"] = before
    width = 64 if re.search(r"64$|X2$", access.entry.name) else 32
    v["MEM_WIDTH"] = constant("U", 32, width)
