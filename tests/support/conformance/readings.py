"""How an entry of the tables has to be read to be compared: what the text leaves to the manual's other chapters, and,
with :mod:`.faults`, where the text is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from dot_sums import BF8, BF16, F16, F32, FP8, dot

from .faults import FAULTS, Fault, source, write
from .pcode import floats
from .pcode.evaluate import Machine, constant, real
from .pcode.values import make
from .targets import Entry, Operand, Target

if TYPE_CHECKING:
    from .forms import Form
    from .modes import Mode


@dataclass(frozen=True)
class Reading:
    #: Why it is not compared.
    listed: str = ""
    #: Denormal sources and results are flushed as MODE says.
    flushes: bool = True
    #: ... but not the results.
    keeps_results: bool = False
    #: ... always.
    flushes_always: bool = False
    #: ... but not those of halves.
    keeps_halves: bool = False
    #: ... and of the product of an unfused multiply-add.
    flushes_between: bool = False
    #: Rounds to nearest whatever MODE says: what the text compares with is no result.
    nearest: bool = False
    #: The destination is a source too.
    accumulates: bool = False
    #: A 16-bit result leaves the other half of its register as it was.
    keeps_high: bool = False
    writes_sources: bool = False
    #: Units in the last place that a result may be off, or how much in absolute terms.
    ulps: float = 0
    error: float = 0
    #: Values for names that the table does not define.
    variables: dict[str, Any] = field(default_factory=dict)
    fault: Fault | None = None
    #: Another type for a source than the machine-readable specification has.
    retyped: dict[str, Operand] = field(default_factory=dict)
    instead: Callable[[Machine, Entry], None] | None = None

    def pseudocode(self, text: str) -> str:
        for name, register in (("D0", "VDST"), ("S0", "SRC0")):  # this lane's registers, under another name
            text = text.replace(f"VGPR[laneId][{register}.u32][", f"{name}[")
        for old, new in self.fault.edits if self.fault else ():
            text = text.replace(old, new)
        return text


def _scaled(m: Machine, a: Any, b: Any, c: Any, power: Any) -> Any:
    """``fma`` times a power of two, rounded once."""
    f, mode = a.format, m.rounding(a)
    rows = zip(*np.broadcast_arrays(a.bits, b.bits, c.bits, power.bits))
    exponents = {64: 64, 128: 128, 0xFFFFFFC0: -64, 0xFFFFFF80: -128}
    return m.watched(
        make(a.kind, a.width, [floats.fma(f, mode, int(x), int(y), int(z), exponents[int(p)]) for x, y, z, p in rows])
    )


def _byte(m: Machine, x: Any) -> Any:
    return make("U", 8, [floats.to_integer(x.format, int(b), 0, 255, m.round32) for b in x.bits])


def _short(x: Any, low: int, high: int) -> Any:
    return make("B", 16, [floats.to_integer(x.format, int(b), low, high, floats.ZERO) & 0xFFFF for b in x.bits])


def _transcendental(function: Callable[[float], float]) -> Callable[[Machine, Entry], None]:
    """Through f64, whose own error is far below the bound."""

    def instead(m: Machine, entry: Entry) -> None:
        x = source(m, entry)
        f = x.format
        made = []
        for bits in x.bits:
            value = function(floats.to_python(f, int(bits)))
            whole = int(np.array([value], np.float64).view(np.uint64)[0])
            made.append(floats.convert(floats.F64, f, floats.NEAREST, whole))
        write(m, m.watched(make(x.kind, x.width, made)).bits, x.kind, x.width)

    return instead


_DOT = re.compile(r"V_DOT[24](?P<accumulates>ACC|C)?_(?P<result>F32|B?F16)_(?P<a>B?F16|FP8|BF8)(_(?P<b>\w+))?")


def _sum_of_products(generation: int) -> Callable[[Machine, Entry], None]:
    """As `dot_sums` has it, lane by lane."""

    def instead(m: Machine, entry: Entry) -> None:
        match = _DOT.fullmatch(entry.name)
        assert match
        formats = {"F32": F32, "F16": F16, "BF16": BF16, "FP8": FP8, "BF8": BF8}
        result, a = formats[match["result"]], formats[match["a"]]
        b = formats[match["b"] or match["a"]] if a.fraction < 4 else a
        bits = 1 + a.exponent + a.fraction
        addend = m.variables["D0" if match["accumulates"] else "S2"].bits

        def codes(word: int) -> list[int]:
            return [word >> bits * k & (1 << bits) - 1 for k in range(32 // bits)]

        made = [
            dot(generation, (a, b), result, codes(int(x)), codes(int(y)), int(c) & 2 * result.sign - 1, group=32 // bits)
            for x, y, c in zip(m.variables["S0"].bits, m.variables["S1"].bits, addend, strict=True)
        ]
        write(m, made, "BF" if result is BF16 else "F", 32 if result is F32 else 16)

    return instead


def _exp2(x: float) -> float:
    return math.nan if math.isnan(x) else math.inf if x > 1023 else 0.0 if x < -1074 else 2.0**x


def _log2(x: float) -> float:
    if math.isnan(x) or x < 0:
        return math.nan
    return -math.inf if x == 0 else math.log2(x) if x < math.inf else math.inf


def _turns(function: Callable[[float], float], limit: float = 256) -> Callable[[float], float]:
    def of(x: float) -> float:
        if not math.isfinite(x):
            return math.nan
        if abs(x) > limit:  # the manual's note: the domain is [-256, 256], beyond it the result is 0.0 (of the cosine, 1.0)
            return 0.0 if function is math.sin else 1.0
        part = math.fmod(x, 1.0)  # exact
        if (part * 4).is_integer():  # the quarters are exact
            quarter = int(part * 4) % 4
            value = (0.0, 1.0, 0.0, -1.0)[quarter] if function is math.sin else (1.0, 0.0, -1.0, 0.0)[quarter]
            return math.copysign(value, x) if value == 0 and part == 0 and function is math.sin else value
        return function(part * math.tau)

    return of


_FUNCTIONS = {"EXP": _exp2, "LOG": _log2, "SIN": _turns(math.sin), "COS": _turns(math.cos)}
#: 16-bit results of gfx9 that leave the upper half alone: LLVM's SITargetLowering::zeroesHigh16BitsOfDest has the others.
_KEEPS_HIGH_GFX9 = re.compile(
    r"V_(MIN3|MAX3|MED3)_[FIU]16|V_(MAD|FMA|DIV_FIXUP)_[FIU]16|V_(ADD|SUB)_I16|V_MAD_MIX(LO|HI)_F16|V_CVT_PK_[FB]8_F32"
)


def _limits(mode: Mode, name: str) -> dict[str, Any]:
    """What a quotient too small or too large becomes."""
    f, width, rounding = (floats.F64, 64, mode.round64) if name.endswith("64") else (floats.F32, 32, mode.round32)
    tiny, huge = -4000, 4000
    return {
        "UNDERFLOW": constant("F", width, floats.pack(f, rounding, 0, 1, tiny)),
        "NEGATIVE_UNDERFLOW": constant("F", width, floats.pack(f, rounding, 1, 1, tiny)),
        "OVERFLOW": constant("F", width, floats.pack(f, rounding, 0, 1, huge)),
        "NEGATIVE_OVERFLOW": constant("F", width, floats.pack(f, rounding, 1, 1, huge)),
    }


def reading(target: Target, form: Form, mode: Mode | None = None) -> Reading:
    name, text = form.entry.name, form.entry.pseudocode
    variables: dict[str, Any] = {
        "CVT_OFF_TABLE": [real((k - 16 if k > 7 else k) / 16, 32) for k in range(16)],
        "fma_scaled()": None,
    }
    how = Reading(accumulates="D0" in re.sub(r"D0(\.\w+)?(\[[^]]*\])?(\.\w+)? =", "", text))
    fault = next((f for f in FAULTS if re.fullmatch(f.names, name) and f.since <= target.major), None)
    how = replace(how, fault=fault, instead=fault.instead if fault else None)
    if mode is not None and "DIV_FIXUP" in name:
        variables |= _limits(mode, name)
    how = replace(how, variables=variables)
    if re.match(r"V_(MOVREL|SWAPREL)", name):
        return replace(how, listed="M0 says which registers: compared by the device's own tests")
    if re.match(r"V_PERMLANE", name):
        return replace(how, listed="moves data between lanes: compared by crosslane.py")
    if "SWAP" in name:
        how = replace(how, writes_sources=True)
    if "VGPR[laneId][VDST.u32]" in text or re.fullmatch(r"V_CVT_SCALEF32_F16_\w+|V_ASHR_PK_\w+|V_BITOP3_B16", name):
        # Bits of the destination, by name; and what CDNA4 has added of 16 bits (LLVM clears the upper half itself).
        how = replace(how, keeps_high=True)
    if re.fullmatch(r"V_CVT_(SCALEF32_\w+|SR_\w+|PK_B?F16_F32|F32_BF16)", name):
        # LLVM's ReadsModeReg = 0 for the packed ones; AMD's model of the others (HIP's amd_hip_ocp_host.hpp) keeps denormals.
        how = replace(how, flushes=False)
    if re.fullmatch(r"V_(CMPX?_CLASS|MOV|CNDMASK|SWAP|READ\w*|WRITE\w*|PERM\w*)_[BF]\d+", name):
        how = replace(how, flushes=False)
    if name.startswith("V_LDEXP_F16"):
        how = replace(how, retyped={"S1": Operand("NUM_I16", 16, "SRC")})
    if target.major == 9 and _KEEPS_HIGH_GFX9.fullmatch(name) or target.major > 9:
        how = replace(how, keeps_high=True)
    match = re.fullmatch(r"V_(EXP|LOG|SIN|COS|RCP|RSQ|SQRT|RCP_IFLAG)_(F16|F32|F64)", name)
    if match:
        # f32 versions do not know denormals (LLVM scales their arguments where denormals matter).
        how = replace(how, ulps=4 if match[2] == "F64" else 1 + (match[1] == "RSQ"), flushes_always=match[2] == "F32")
        if match[1] in _FUNCTIONS:
            how = replace(how, instead=_transcendental(_FUNCTIONS[match[1]]))
        if match[1] in ("SIN", "COS") and target.major in (11, 12) and target.processor != "gfx1250":
            # As captured on gfx1100 and gfx1201 (crates/emulator/src/fp/unit.rs): any argument, and denormals as MODE says.
            anywhere = math.sin if match[1] == "SIN" else math.cos
            how = replace(how, instead=_transcendental(_turns(anywhere, math.inf)), flushes_always=False, error=1.3e-7)
    if re.fullmatch(r"V_(MAC|MAD_LEGACY|MAD|MADAK|MADMK)_F(16|32)", name):
        # LLVM's isFMADLegal: only where denormals are flushed.
        how = replace(how, flushes_always=True, flushes_between=True)
    if "_MIX" in name:  # a source is an f32 or, by op_sel_hi, a half
        halves = form.modifiers.get("op_sel_hi", 0)
        types = (Operand("NUM_F32", 32, "SRC"), Operand("NUM_PK2_F16", 32, "SRC"))
        how = replace(how, retyped={f"S{k}": types[halves >> k & 1] for k in range(3)})
    if name == "V_PACK_B32_F16":
        how = replace(how, retyped={"D0": Operand("NUM_PK2_F16", 32, "VGPR")})
    if "DIV_SCALE" in name:
        how = replace(how, nearest=target.major < 11)
    if target.major >= 12 and re.fullmatch(r"V_(PK_)?(MIN|MAX|MED3)\w*_F\d+", name):
        how = replace(how, keeps_results=True)
    if target.major >= 12 and name == "V_FMA_DX9_ZERO_F32":
        how = replace(how, flushes_always=True)
    if "DOT2" in name and re.search("F32_B?F16" if target.major == 9 else "F32_F16", name):
        # Measured: llvm/llvm-project#205101.
        how = replace(how, flushes_always=True, keeps_halves=target.processor != "gfx90a" and "_F16" in name)
    if target.major in (11, 12) and target.processor != "gfx1250" and _DOT.fullmatch(name):
        # Measured: not the entry's steps, and without regard for MODE (crates/emulator/src/fp/dot says by whom).
        how = replace(how, instead=_sum_of_products(target.major), flushes=False)
    return how


def functions(machine: Machine) -> dict[str, Any]:
    """What the edited texts call."""
    return {
        "fma_scaled()": lambda *inside: _scaled(machine, *inside),
        "f32_to_u8_by_mode()": lambda x: _byte(machine, x),
        "f32_to_i16_saturating()": lambda x: _short(x, -0x8000, 0x7FFF),
        "f32_to_u16_saturating()": lambda x: _short(x, 0, 0xFFFF),
    }


_FLOW = "changes where the wave goes on: there is no state to compare; the kernels of the other tests run it"
#: Scalar entries that are not a function from operands to results.
SCALAR_LISTED = {
    "S_GETPC_B64": _FLOW,
    "S_SETPC_B64": _FLOW,
    "S_SWAPPC_B64": _FLOW,
    "S_CALL_B64": _FLOW,
    "S_RFE_B64": "returns from a trap handler",
    "S_CBRANCH_JOIN": _FLOW,
    "S_CBRANCH_G_FORK": _FLOW,
    "S_CBRANCH_I_FORK": _FLOW,
    "S_SETVSKIP": "skips the vector instructions after it",
    "S_SET_GPR_IDX_ON": "changes how the vector instructions after it address their registers",
    **{
        f"S_BARRIER_{what}": "barriers: the kernels of the other tests run the workgroup's"
        for what in ("SIGNAL", "SIGNAL_ISFIRST", "INIT", "JOIN")
    },
    "S_GET_BARRIER_STATE": "barriers: the kernels of the other tests run the workgroup's",
    "S_SLEEP_VAR": "waits",
    **{f"S_WAITCNT_{what}CNT": "waits" for what in ("VS", "VM", "EXP", "LGKM")},
    "S_VERSION": "does nothing",
    "S_ALLOC_VGPR": "how many registers there are is the processor's matter: run by test_control.py",
    "S_GETREG_B32": "which bits hardware registers have is in another chapter",
    "S_SETREG_B32": "which bits hardware registers have is in another chapter; every trial sets MODE with it",
    "S_SETREG_IMM32_B32": "which bits hardware registers have is in another chapter",
}

#: Processors that clear the other half of a register of which a load writes one, where the tables keep it. LLVM's D112635
#: found so on gfx90a and later ones; gfx906 and gfx1250 do with SRAM-ECC on, which is how code for any setting runs here.
#: tests/device/test_half_loads.py has all settings.
_CLEARING = ("gfx906", "gfx90a", "gfx942", "gfx950", "gfx1250")


def clears_other_half(target: Target, entry: Entry) -> bool:
    return target.processor in _CLEARING and re.search(r"(LOAD|READ)(_\w+)?_D16", entry.name) is not None


#: Memory entries that are not compared.
MEMORY_LISTED = (
    (r".*_FORMAT_.*", "ConvertFromFormat() and ConvertToFormat() are in another chapter: compared by test_typed_buffers.py"),
    (r"DS_(ADD|SUB)_GS_REG_RTN", "streamout's registers, which the device does not have"),
    (r"GLOBAL_(LOAD|STORE)_ADDTID_B32", "AMD's specification has no operands for it: compared by test_addressing_rdna.py"),
    (r"(GLOBAL|SCRATCH)_(LOAD|STORE)_BLOCK", "32 registers of each lane, by M0: compared by test_addressing_rdna.py"),
    (r"GLOBAL_LOAD_TR_B(64|128)", "has no pseudocode: compared by test_rdna4.py"),
    (r"DS_(APPEND|CONSUME)", "the entry is a formula: compared by test_conformance_addressing.py"),
    (r"DS_SWIZZLE_B32", "the entry is a picture of two of the patterns"),
    (r"DS_B?PERMUTE\w*", "moves data between lanes: compared by crosslane.py"),
    (r"DS_(READ|WRITE|LOAD|STORE)_ADDTID_B32", "every lane's address comes from M0 and its number: compared by crosslane.py"),
)


#: A fault of these entries: plain comparison leaves a NaN in memory for ever. LLVM selects them for atomicrmw fmin and
#: fmax, which are llvm.minnum and llvm.maxnum: a number wins.
ATOMIC_MINMAX = re.compile(r"_(MIN|MAX)(_RTN)?_F(32|64)$")


def flush_of_atomic(target: Target, entry: Entry) -> str:
    """Whether floating-point atomics flush denormals: as MODE says (``mode``), ``always``, ``never``. The table is silent.

    LLVM (SITargetLowering::shouldExpandAtomicRMWInIR, and FeatureMemoryAtomicFAddF32DenormalSupport): LDS atomics respect
    the denormal mode; global f32 additions of targets without that feature flush, whatever MODE says (llc uses them for
    gfx90a only where denormals may be ignored, for gfx942 and gfx1100 always); other formats keep denormals. All round to nearest.
    """
    if "ADD" not in entry.name or entry.family == "SMEM":
        return "never"
    if entry.family == "DS":
        return "mode"
    if entry.name.endswith("ADD_F32"):
        return "always" if target.processor == "gfx90a" else "never"
    return "never"


def memory_text(entry: Entry, flushed: bool) -> str:
    """The pseudocode, with the sum taken of the flushed operands."""
    text = entry.pseudocode
    if re.match(r"addr =", text):  # which some write in capitals
        text = text.replace("MEM[ADDR]", "MEM[addr]")
    match = ATOMIC_MINMAX.search(entry.name)
    if match:
        for relation in "<>":
            text = text.replace(f"src {relation} tmp ?", f"((src {relation} tmp) || (isNAN(tmp) && !isNAN(src))) ?")
    if flushed:
        text = re.sub(r"(MEM\[\w+\]\.(f\d+)) \+= DATA\.\2", r"\1 = FLUSHED.\2 + DATA.\2", text)
        text = re.sub(r"tmp(\[[^]]*\]\.b?f16) \+ src", r"FLUSHED\1 + src", text)
        text = re.sub(r"(src\[[^]]*\]\.b?f16) \+ tmp", r"\1 + FLUSHED", text)
    return text
