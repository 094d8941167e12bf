"""What encodings add to an operation: source and output modifiers, SDWA's selections, DPP's permutations.

The tables do not have these; they follow the manual's chapters on vector ALU operands. ``Form.modifiers`` says which:
``neg`` and ``abs`` (a bit for each source; of packed operations ``neg`` is the low half's, ``neg_hi`` the other's),
``op_sel``, ``op_sel_hi``, ``clamp``, ``omod``, ``sdwa`` and ``dpp``.
"""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .assembly import tuple_of
from .modes import Mode
from .pcode import floats
from .pcode.values import FLOATS
from .samples import element
from .targets import Target

if TYPE_CHECKING:
    from .forms import Form
    from .readings import Reading
    from .valu import Lanes

SELECTIONS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_FIELDS = {f"BYTE_{k}": (8 * k, 8) for k in range(4)} | {"WORD_0": (0, 16), "WORD_1": (16, 16), "DWORD": (0, 32)}
#: Destination, what happens to the rest of it, the sources' selections, and a modifier of each source.
SDWA_WAYS = (
    ("WORD_1", "UNUSED_PRESERVE", ("BYTE_1", "WORD_1"), ("", "")),
    ("BYTE_2", "UNUSED_SEXT", ("WORD_1", "BYTE_3"), ("sext", "sext")),
    ("WORD_0", "UNUSED_PAD", ("DWORD", "WORD_0"), ("neg", "abs")),
    ("DWORD", "UNUSED_PAD", ("BYTE_3", "WORD_1"), ("abs", "sext")),
    ("BYTE_3", "UNUSED_PAD", ("WORD_0", "DWORD"), ("neg abs", "neg")),
    ("WORD_1", "UNUSED_SEXT", ("WORD_1", "BYTE_0"), ("sext", "")),
)
DPP_WAYS = (
    ("quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf", ("quad", (3, 0, 2, 1)), 15, 15, False),
    ("row_shl:1 row_mask:0xf bank_mask:0xf", ("row_shl", 1), 15, 15, False),
    ("row_shr:3 row_mask:0xa bank_mask:0xf bound_ctrl:0", ("row_shr", 3), 10, 15, True),
    ("row_ror:5 row_mask:0xf bank_mask:0x6", ("row_ror", 5), 15, 6, False),
    ("row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:0", ("mirror", 15), 15, 15, True),
    ("row_half_mirror row_mask:0xf bank_mask:0xf", ("mirror", 7), 15, 15, False),
)
DPP_WAYS_GFX9 = (
    ("wave_shl:1 row_mask:0xf bank_mask:0xf", ("wave_shl", 1), 15, 15, False),
    ("wave_ror:1 row_mask:0xf bank_mask:0xf", ("wave_ror", 1), 15, 15, False),
    ("row_bcast:15 row_mask:0xf bank_mask:0xf", ("bcast", 15), 15, 15, False),
    ("row_bcast:31 row_mask:0xc bank_mask:0xf", ("bcast", 31), 12, 15, False),
    ("row_newbcast:6 row_mask:0xf bank_mask:0xf", ("newbcast", 6), 15, 15, False),
)


#: RDNA's; the last but one of each kind reads inactive lanes. (Without fi, DPP8 has zeros of them: LLVM's "Syntax of AMDGPU
#: Instruction Modifiers".)
DPP_WAYS_RDNA = (
    ("row_share:6 row_mask:0xf bank_mask:0xf", ("newbcast", 6), 15, 15, False),
    ("row_xmask:5 row_mask:0xf bank_mask:0xd bound_ctrl:1", ("xmask", 5), 15, 13, True),
    ("row_shl:2 row_mask:0xf bank_mask:0xf fi:1", ("row_shl", 2), 15, 15, False),
    ("dpp8:[6,0,3,3,1,7,2,5] fi:1", ("eight", (6, 0, 3, 3, 1, 7, 2, 5)), 15, 15, False),
    ("dpp8:[6,0,3,3,1,7,2,5]", ("eight", (6, 0, 3, 3, 1, 7, 2, 5)), 15, 15, True),
)


def _is_float(form: Form, index: int) -> bool:
    return element(form.sources[index][1])[1] in ("F", "BF")


def _with_sources(form: Form, texts: list[str]) -> str:
    text = form.text
    for (_, operand, _, register), new in zip(form.sources, texts):
        old = tuple_of("v", register, operand.words)
        text = re.sub(rf"(?<![\w\[]){re.escape(old)}(?![\w\]])", new, text, count=1)
    return text


def variants(target: Target, form: Form) -> list[Form]:
    """The form with modifiers, for the assembler to accept or not."""
    made: list[Form] = []
    registers = [tuple_of("v", r, o.words) for _, o, _, r in form.sources]

    def add(kind: str, text: str, **modifiers: object) -> None:
        other = copy.copy(form)
        other.kind, other.text, other.modifiers = f"{form.kind} {kind}", text, modifiers
        made.append(other)

    number = len(registers)
    if any(element(operand)[0] > 1 for _, operand, _, _ in form.sources) and form.kind == "e64":
        return made  # what VOP3's modifiers do to packed sources is not documented
    if form.kind == "e64":
        flags = [_is_float(form, k) for k in range(number)]
        if any(flags):
            some = [f"-{r}" if f and k != 1 else f"|{r}|" if f else r for k, (r, f) in enumerate(zip(registers, flags))]
            neg = sum(1 << k for k, f in enumerate(flags) if f and k != 1)
            every = sum(1 << k for k, f in enumerate(flags) if f)
            if form.entry.family == "VOP3SD":  # the encoding has no place for absolute values
                add("neg", _with_sources(form, [f"-{r}" if f else r for r, f in zip(registers, flags)]), neg=every)
            else:
                add("neg, abs", _with_sources(form, some), neg=neg, abs=2 if flags[1:2] == [True] else 0)
                both = [f"-|{r}|" if f else r for r, f in zip(registers, flags)]
                add("-abs", _with_sources(form, both), neg=every, abs=every)
        # On gfx1250 the clamp bit of a conversion from or to fp8 chooses another format (tests/device/test_gfx1250_conversions.py).
        chooses = target.processor == "gfx1250" and "_FP8" in form.entry.name
        if form.result is not None and element(form.result)[1] == "F" and not chooses:
            add("clamp", f"{form.text} clamp", clamp=True)
            for text, omod in (("mul:2", 1), ("mul:4", 2), ("div:2", 3)):
                add(text, f"{form.text} {text}", omod=omod)
            add("clamp div:2", f"{form.text} clamp div:2", clamp=True, omod=3)
        halves = [1, 0, 1][:number] + [1]
        add(
            "op_sel",
            f"{form.text} op_sel:[{','.join(map(str, halves))}]",
            op_sel=_number(halves) if target.major == 9 and _stores_byte(form) else _number(halves[:-1]) | 8,
        )
    elif form.kind == "vop3p":
        for low, high in (((1, 0, 1), (0, 1, 0)), ((1, 1, 1), (0, 0, 1)), ((0, 1, 0), (1, 1, 0))):
            low, high = low[:number], high[:number]
            if "DOT" in form.entry.name:  # what they do to the addend, which is not packed, is not documented
                low, high = (*low[:2], 0), (*high[:2], 1)
            text = f"{form.text} op_sel:[{','.join(map(str, low))}] op_sel_hi:[{','.join(map(str, high))}]"
            bits = {"op_sel": _number(low), "op_sel_hi": _number(high)}
            add(f"op_sel {low}{high}", text, **bits)
            if "_IU" in form.entry.name:
                made.pop()
                add(f"neg {low[:2]}", f"{form.text} neg_lo:[{low[0]},{low[1]},0]", neg=_number(low[:2]))
                continue
            if _is_float(form, 0) or "MIX" in form.entry.name:
                neg, neg_hi = (1, 0, 1)[:number], (0, 1, 1)[:number]
                if "DOT" in form.entry.name:
                    neg, neg_hi = (1, 0, 0), (0, 1, 0)
                extra = f" neg_lo:[{','.join(map(str, neg))}] neg_hi:[{','.join(map(str, neg_hi))}]"
                add(f"op_sel, neg {low}{high}", text + extra, **bits, neg=_number(neg), neg_hi=_number(neg_hi))
        # On gfx1250 the clamp bit of a conversion from or to fp8 chooses another format (tests/device/test_gfx1250_conversions.py).
        chooses = target.processor == "gfx1250" and "_FP8" in form.entry.name
        if form.result is not None and element(form.result)[1] == "F" and not chooses:
            add("clamp", f"{form.text} clamp", clamp=True)
    return made


def _number(bits: tuple[int, ...]) -> int:
    return sum(b << k for k, b in enumerate(bits))


def sdwa_variants(target: Target, form: Form) -> list[Form]:
    """Of an e32 form, on targets that have SDWA."""
    made = []
    number = len(form.sources)
    inexact = re.match(r"V_(EXP|LOG|SIN|COS|RCP|RSQ|SQRT)_", form.entry.name)
    if any(element(operand)[0] > 1 for _, operand, _, _ in form.sources):
        return made  # as for VOP3
    for index, (to, unused, selections, changes) in enumerate(SDWA_WAYS):
        if inexact and to != "DWORD":
            continue  # a part of a result that may be one off
        other = copy.copy(form)
        texts, kept = [], []
        for k, (_, operand, _, register) in enumerate(form.sources):
            text, change = f"v{register}", changes[k]
            is_float = element(operand)[1] in ("F", "BF")
            if is_float and change != "sext":
                text = f"|{text}|" if "abs" in change else text
                text = f"-{text}" if "neg" in change else text
            elif not is_float and change == "sext":
                text = f"sext({text})"
            else:
                change = ""
            texts.append(text)
            kept.append(change)
        text = _with_sources(form, texts).replace("_e32", "_sdwa")
        if not form.mask_only:
            text += f" dst_sel:{to} dst_unused:{unused}"
        text += "".join(f" src{k}_sel:{selections[k]}" for k in range(number))
        other.kind, other.text = f"sdwa {index}", text
        other.modifiers = {"sdwa": (to, unused, selections[:number], tuple(kept))}
        made.append(other)
    return made


def dpp_variants(target: Target, form: Form) -> list[Form]:
    """Of an e32 form."""
    made = []
    own = DPP_WAYS_GFX9 if target.major == 9 else DPP_WAYS_RDNA
    for index, (text, control, rows, banks, bound) in enumerate(DPP_WAYS + own):
        other = copy.copy(form)
        if target.major >= 11:  # what zero means has changed
            text = text.replace("bound_ctrl:0", "bound_ctrl:1")
        kind = "dpp" if form.kind == "e32" else f"{form.kind}_dpp"
        name = form.text.replace("_e32", "_dpp").replace("_e64", "_e64_dpp")
        other.kind, other.text = f"{kind} {index}", f"{name} {text}"
        other.modifiers = {"dpp": (control, rows, banks, bound, "fi:1" in text)}
        made.append(other)
    return made


def half_variants(form: Form) -> list[Form]:
    """Upper halves, named by the registers of an e32 form; ``op_sel`` says which, as elsewhere."""
    made = []
    narrow = [operand.bits == 16 for _, operand, _, _ in form.sources]
    result = form.result is not None and form.result.bits == 16
    if not any(narrow) and not result or "SWAP" in form.entry.name:
        return made
    for index, chosen in enumerate(((1, 0, 1), (0, 1, 0))):
        halves = [bool(n and c) for n, c in zip(narrow, chosen)]
        high = result and index == 0
        other = copy.copy(form)
        bare = form.text.replace(".l", "")
        texts = [f"v{r}.{'h' if h else 'l'}" if n else f"v{r}" for (_, _, _, r), h, n in zip(form.sources, halves, narrow)]
        other.text = _with_sources(replace(form, text=bare), texts)
        if result:
            other.text = other.text.replace(f"v{form.result_vgpr},", f"v{form.result_vgpr}.{'h' if high else 'l'},", 1)
        other.kind = f"{form.kind} half {index}"
        other.modifiers = {"op_sel": sum(h << k for k, h in enumerate(halves)) | 8 * high}
        made.append(other)
    return made


# The model.


def prepare(form: Form, lanes: Lanes, how: Reading) -> tuple[Lanes, np.ndarray]:
    """Lanes with their sources as the operation sees them, and which lanes are written at all."""
    active = lanes.exec >> lanes.lane & np.uint64(1) != 0
    m = form.modifiers
    if not m:
        return lanes, active
    sources = dict(lanes.sources)
    exec_ = lanes.exec
    if "dpp" in m:
        name = form.sources[0][0]
        sources[name], written = _permuted(m["dpp"], sources[name], lanes, active)
        active = active & written
        width = lanes.target.lanes
        bits = np.where(active, np.uint64(1) << lanes.lane, np.uint64(0)).reshape(-1, width)
        exec_ = np.repeat(np.bitwise_or.reduce(bits, axis=1), width)
    for k, (name, operand, _, _) in enumerate(form.sources):
        operand = how.retyped.get(name, operand)
        words = sources[name]
        if "sdwa" in m:
            words = _selected(m["sdwa"][2][k], m["sdwa"][3][k], words, operand)
        pieces, kind, width = element(operand)
        if "_IU" in form.entry.name:
            continue  # NEG says whether they are signed
        packed = form.kind.startswith("vop3p") and "MIX" not in form.entry.name
        if "OPSEL" in form.entry.pseudocode and "MIX" not in form.entry.name and form.entry.family == "VOP3P":
            continue  # the text itself selects
        if packed:
            words = _packed(m, k, words, width)
        elif "op_sel" in m and form.entry.family != "VOP3P" and m["op_sel"] >> k & 1 and "OPSEL" not in form.entry.pseudocode:
            words = words >> 16
        if "MIX" in form.entry.name:  # neg_hi is abs; the half is the text's choice
            neg, magnitude = m.get("neg", 0) >> k & 1, m.get("neg_hi", 0) >> k & 1
            signs = np.uint32(0x80008000 if m.get("op_sel_hi", 0) >> k & 1 else 0x80000000)
            words = words & ~signs if magnitude else words
            words = words ^ signs if neg else words
        elif kind in ("F", "BF") and not packed:
            sign = np.zeros(operand.words, np.uint32)
            sign[-1] = 1 << (width - 1) % 32
            words = words & ~sign if m.get("abs", 0) >> k & 1 else words
            words = words ^ sign if m.get("neg", 0) >> k & 1 else words
        sources[name] = words
    return replace(lanes, sources=sources, exec=exec_), active


def _packed(m: dict, k: int, words: np.ndarray, width: int) -> np.ndarray:
    low_sel, high_sel = m.get("op_sel", 0) >> k & 1, m.get("op_sel_hi", 7) >> k & 1
    neg_low, neg_high = m.get("neg", 0) >> k & 1, m.get("neg_hi", 0) >> k & 1
    if words.shape[1] == 2 and width == 32:
        low, high = words[:, low_sel], words[:, high_sel]
        return np.stack([low ^ np.uint32(neg_low << 31), high ^ np.uint32(neg_high << 31)], axis=1)
    if words.shape[1] == 1 and width == 32:  # the addend of a dot product
        return words ^ np.uint32(neg_low << 31)
    if words.shape[1] != 1 or width != 16:
        return words
    low = words >> np.uint32(16 * low_sel) & np.uint32(0xFFFF)
    high = words >> np.uint32(16 * high_sel) & np.uint32(0xFFFF)
    return (low ^ np.uint32(neg_low << 15)) | (high ^ np.uint32(neg_high << 15)) << np.uint32(16)


def _selected(selection: str, change: str, words: np.ndarray, operand: object) -> np.ndarray:
    """A byte or word, zero- or sign-extended; then the float modifiers, on the operation's type."""
    start, width = _FIELDS[selection]
    value = words[:, :1] >> np.uint32(start) & np.uint32((1 << width) - 1)
    if change == "sext" and width < 32:
        half = np.uint32(1 << (width - 1))
        value = (value ^ half) - half
    sign = np.uint32(1 << element(operand)[2] - 1) if element(operand)[2] in (16, 32) else np.uint32(0)
    value = value & ~sign if "abs" in change else value
    return value ^ sign if "neg" in change else value


def _permuted(dpp: tuple, words: np.ndarray, lanes: Lanes, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (kind, how), rows, banks, bound, fetches = dpp
    width = lanes.target.lanes
    lane = lanes.lane.astype(np.int64)
    row, place = lane // 16 * 16, lane % 16
    if kind == "quad":
        source = lane // 4 * 4 + np.array(how)[lane % 4]
        valid = np.ones(len(lane), bool)
    elif kind in ("row_shl", "row_shr"):
        moved = place + how if kind == "row_shl" else place - how
        source, valid = row + moved, (moved >= 0) & (moved < 16)
    elif kind == "row_ror":
        source, valid = row + (place - how) % 16, np.ones(len(lane), bool)
    elif kind == "mirror":
        source, valid = lane // (how + 1) * (how + 1) + how - lane % (how + 1), np.ones(len(lane), bool)
    elif kind == "wave_shl":
        source, valid = lane + how, lane + how < width
    elif kind == "wave_ror":
        source, valid = (lane - how) % width, np.ones(len(lane), bool)
    elif kind == "bcast":  # the last lane of a row (of the first half) to the next row (the second half); others read themselves
        source = np.where(lane >= how + 1, row - 1 if how == 15 else 31, lane)
        valid = np.ones(len(lane), bool)
    elif kind == "xmask":
        source, valid = lane ^ how, np.ones(len(lane), bool)
    elif kind == "eight":
        source, valid = lane // 8 * 8 + np.array(how)[lane % 8], np.ones(len(lane), bool)
    else:
        source, valid = row + how, np.ones(len(lane), bool)
    source = np.clip(source, 0, width - 1)
    wave = np.arange(len(lane)) // width * width
    taken = words[wave + source]
    valid = valid & (fetches | active[wave + source])
    enabled = (rows >> lane // 16 & 1 != 0) & (banks >> lane // 4 % 4 & 1 != 0)
    taken = np.where(valid[:, None], taken, np.uint32(0))
    return taken, enabled & (valid | bound)


def _stores_byte(form: Form) -> bool:
    """One of four, which bits 2 and 3 of op_sel choose."""
    return "OPSEL[3 : 2]" in form.entry.pseudocode


def place(form: Form) -> int:
    """The bit of its register at which the result begins."""
    op_sel = form.modifiers.get("op_sel", 0)
    if "MIXHI" in form.entry.name:
        return 16
    pieces, _, width = element(form.result)
    if form.entry.family == "VOP3P" or pieces * width > 16:
        return 0
    return (op_sel >> 2 & 3) * 8 if _stores_byte(form) else (op_sel >> 3 & 1) * 16


def finish(target: Target, form: Form, mode: Mode, result: np.ndarray, old: np.ndarray, how: Reading) -> np.ndarray:
    """Output modifiers, then what becomes of the destination's other bits."""
    m = form.modifiers
    if not m or form.result is None:
        return result
    pieces, kind, width = element(form.result)
    # On gfx1201 these do nothing to it (bjacob/goc's captures).
    ignored = target.major >= 12 and form.entry.name == "V_CVT_PK_RTZ_F16_F32"
    if (m.get("omod") or m.get("clamp")) and kind in ("F", "BF") and not ignored:
        result = _scaled(target, form, mode, result, m.get("omod", 0), bool(m.get("clamp")))
    if m.get("op_sel", 0) & 8 and form.entry.family != "VOP3P" and "OPSEL" not in form.entry.pseudocode:
        return result << np.uint32(16) | old & np.uint32(0xFFFF)
    if "sdwa" in m:
        to, unused, _, _ = m["sdwa"]
        start, size = _FIELDS[to]
        hole = np.uint32((1 << size) - 1 << start)
        field = result << np.uint32(start) & hole
        if unused == "UNUSED_PRESERVE":
            return field | old & ~hole
        if unused == "UNUSED_SEXT":
            above = np.uint32(0xFFFFFFFF << (start + size) & 0xFFFFFFFF)
            return np.where(field >> np.uint32(start + size - 1) & 1, field | above, field)
        return field
    return result


def _by_exponent(f: floats.Format, rounding: int, x: int, steps: int) -> int:
    """RDNA's factor: see the device's fp/factor.rs."""
    top = f.infinity >> f.fraction
    exponent = (x & (f.sign - 1)) >> f.fraction
    if exponent in (0, top):
        return x if exponent else 0
    if exponent + steps <= 0:
        return x & f.sign
    if exponent + steps >= top:
        up = {floats.NEAREST: True, floats.UP: not x & f.sign, floats.DOWN: bool(x & f.sign), floats.ZERO: False}[rounding]
        return x & f.sign | f.infinity - (not up)
    return x + (steps << f.fraction)


def _scaled(target: Target, form: Form, mode: Mode, result: np.ndarray, omod: int, clamp: bool) -> np.ndarray:
    pieces, kind, width = element(form.result)
    f = FLOATS[kind, width]
    parts = np.ascontiguousarray(result).view(f"u{width // 8}").copy()
    start = 1 if "MIXHI" in form.entry.name else 0
    # LLVM's SIFoldOperands: ignored where MODE keeps IEEE or denormals; a negative zero becomes positive.
    # RDNA4: never (rocjitsu's captures of gfx1201).
    if omod and (target.major >= 12 or not mode.ieee and not mode.keeps(width, True)):
        power, rounding = {1: 1, 2: 2, 3: -1}[omod], mode.round32 if width == 32 else mode.round64
        if re.match(r"V_(S_)?(EXP|LOG|RCP|RSQ|SQRT|SIN|COS)_(?!.*F64)", form.entry.name):
            rounding = floats.NEAREST
        for at in range(start, start + pieces) if target.major > 9 else ():
            parts[:, at] = [_by_exponent(f, rounding, int(x), power) for x in parts[:, at]]
        for at in range(start, start + pieces) if target.major == 9 else ():
            made = [floats.ldexp(f, rounding, int(x), power) for x in parts[:, at]]
            made = [x & f.sign if x & (f.sign - 1) < 1 << f.fraction else x for x in made]
            parts[:, at] = [0 if x == f.sign else x for x in made]
    if clamp:
        for at in range(start, start + pieces):
            parts[:, at] = [_clamped(f, mode, int(x)) for x in parts[:, at]]
    return parts.view(np.uint32)


def _clamped(f: floats.Format, mode: Mode, x: int) -> int:
    if f.is_nan(x):
        return 0 if mode.dx10_clamp else x
    return 0 if x & f.sign else min(x, floats.one(f))
