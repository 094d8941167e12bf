"""precision: how far the result of each float operation is from the same operation in 64 bits, and where digits cancel.

Looked at are additions, subtractions, multiplications, fused and unfused multiplications with addition, reciprocals and square
roots of f32, f16 and bf16, in dual instructions too. Each has the error that it adds itself: what its sources were off by
before is not in it, but what cancels in an addition shows where such errors become great.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import luthier as lt
from luthier.tools.extremes import raise_to
from luthier.tools.lanes import as_json, incomplete, line_of, place_of
from luthier.tools.results import MATRIX, float_kind

KINDS = {"f32": (23, -126), "f16": (10, -14), "bf16": (7, -126)}
_OPERATION = re.compile(r"v_(?:dual_)?(add|sub|subrev|mul|fma|fmac|fmaak|fmamk|mac|mad|rcp|sqrt|rsq)_(?:legacy_)?(f32|f16|bf16)")
#: Numbers of an instruction: values, those that are infinite or no numbers, errors in 1/1024 of the last digit added up and
#: the greatest, values that lost digits, the digits added up and the most.
_STATS = 7
_ONE = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}


@dataclass(frozen=True)
class Operation:
    """One operation of an instruction: what it gives, and what of ``a * b + c``, or which function of ``a``."""

    name: str
    kind: str
    result: Any
    sources: tuple[Any, ...]
    #: Of ``a``, ``b`` and ``c`` in turn: bit 0 the absolute value, bit 1 the negative.
    signs: tuple[int, int, int]


@lt.device
def number(bits: lt.u32, kind: lt.u32, sign: lt.u32) -> lt.f64:
    value: lt.f32 = lt.bitcast(lt.f32, bits)
    if kind == 1:
        value = lt.f32(lt.bitcast(lt.f16, lt.u16(bits & 0xFFFF)))
    if kind == 2:
        value = lt.bitcast(lt.f32, bits << 16)
    wide = lt.bitcast(lt.u64, lt.f64(value))
    if sign & 1 != 0:
        wide = wide & 0x7FFFFFFFFFFFFFFF
    if sign & 2 != 0:
        wide = wide ^ 0x8000000000000000
    return lt.bitcast(lt.f64, wide)


@lt.device
def exponent(value: lt.f64) -> lt.i32:
    return lt.i32(lt.u32(lt.bitcast(lt.u64, value) >> 52) & 0x7FF) - 1023


@lt.device
def compare(stats: lt.ptr[lt.u64], got: lt.f64, exact: lt.f64, digits: lt.i32, least: lt.i32):
    at = exponent(exact)
    lt.atomic_add(stats, 1)
    if at == 1024 or exponent(got) == 1024:
        lt.atomic_add(stats + 1, 1)
    else:
        # The last digit of a number of that size is 2 to the power of at - digits.
        scale = lt.u64(lt.u32(1023 + digits + 10 - lt.max(at, least))) << 52
        error = lt.u64(lt.min(lt.abs(got - exact) * lt.bitcast(lt.f64, scale), 1099511627776.0))
        if error != 0:
            lt.atomic_add(stats + 2, error)
        raise_to(stats + 3, error)


class Precision(lt.Tool):
    """``{"instructions": {address: {"operations", "values", "not finite", "mean", "worst", "lost", "digits", "most digits"}},
    "lines": {"file:line": {"values", "worst", "most digits"}}, "not seen": [address]}``. ``mean`` and ``worst`` are errors in units
    of the result's last digit (0.5 at most where an operation rounds to the nearest), in steps of 1/1024. ``lost`` counts sums
    that are smaller than what was added, ``digits`` how many binary digits that cost on average, ``most digits`` at most; sums
    of exactly 0 are left out."""

    one_code_object = True  # what it knows of a kernel goes by addresses

    def __init__(self) -> None:
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        self.watched: list[tuple[lt.Instruction, list[Operation], lt.DeviceArray, int]] = []
        self.unseen: list[lt.Instruction] = []

    @lt.hook
    def product(
        stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, b: lt.u32, c: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32,
        sign_a: lt.u32, sign_b: lt.u32, sign_c: lt.u32,
    ):  # fmt: skip
        left = number(a, kind, sign_a) * number(b, kind, sign_b)
        right = number(c, kind, sign_c)
        exact = left + right
        compare(stats, number(result, kind, 0), exact, digits, least)
        at = exponent(exact)
        greatest = lt.max(exponent(left), exponent(right))
        if at < greatest and greatest < 1024 and exact != 0.0:
            lt.atomic_add(stats + 4, 1)
            lt.atomic_add(stats + 5, lt.u64(lt.u32(greatest - at)))
            raise_to(stats + 6, lt.u64(lt.u32(greatest - at)))

    @lt.hook
    def reciprocal(stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32, sign: lt.u32):
        compare(stats, number(result, kind, 0), 1.0 / number(a, kind, sign), digits, least)

    @lt.hook
    def root(stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32, sign: lt.u32):
        compare(stats, number(result, kind, 0), lt.sqrt(number(a, kind, sign)), digits, least)

    @lt.hook
    def reciprocal_root(
        stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32, sign: lt.u32
    ):
        compare(stats, number(result, kind, 0), 1.0 / lt.sqrt(number(a, kind, sign)), digits, least)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        looked_at = []
        for instr in (i for f in functions for i in f.instructions if i.is_valu):
            found, complete = operations(instr)
            if found:
                looked_at.append((instr, found))
            if not complete:
                self.unseen.append(instr)
        if not looked_at:
            return
        stats = lt.DeviceArray(lt.u64, _STATS * len(looked_at), name=f"errors.{kernel.name}")
        hooks = {"rcp": self.reciprocal, "sqrt": self.root, "rsq": self.reciprocal_root}
        for n, (instr, found) in enumerate(looked_at):
            for operation in found:
                about = (list(KINDS).index(operation.kind), *KINDS[operation.kind])
                hook = hooks.get(operation.name, self.product)
                signs = operation.signs if hook is self.product else operation.signs[:1]
                kernel.insert_after(instr, hook, stats.at(_STATS * n), operation.result, *operation.sources, *about, *signs)
            self.watched.append((instr, found, stats, n))

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        found: dict[lt.Instruction, dict[str, Any]] = {}
        lines: dict[tuple[str, int], dict[str, Any]] = {}
        for instr, made, stats, n in self.watched:
            values, special, errors, worst, lost, digits, most = map(int, stats[_STATS * n : _STATS * n + _STATS])
            if not values:
                continue
            finite = values - special
            found[instr] = {
                "operations": [f"{o.name}_{o.kind}" for o in made], "values": values, "not finite": special,
                "mean": errors / finite / 1024 if finite else None, "worst": worst / 1024 if finite else None,
                "lost": lost, "digits": digits / lost if lost else 0.0, "most digits": most,
            }  # fmt: skip
            if (at := line_of(instr)) is not None:
                of = lines.setdefault(at, {"values": 0, "worst": 0.0, "most digits": 0})
                of["values"] += values
                of["worst"], of["most digits"] = max(of["worst"], worst / 1024), max(of["most digits"], most)
        report.result = {
            "instructions": as_json({i.address: told for i, told in found.items()}),
            "lines": {f"{file}:{line}": told for (file, line), told in lines.items()},
            "not seen": [f"{instr.address:#x}" for instr in self.unseen],
        }
        rows = [
            (
                f"{i.address:#x}",
                i.text,
                place_of(i),
                t["values"],
                _short(t["mean"]),
                _short(t["worst"]),
                t["lost"],
                t["most digits"],
            )
            for i, t in sorted(found.items(), key=lambda item: (-item[1]["most digits"], -(item[1]["worst"] or 0)))
        ]
        headers = (
            "address",
            "instruction",
            "line",
            "values",
            "mean (ulp)",
            "worst (ulp)",
            "cancelled",
            "most digits",
        )
        report.table("precision", rows, headers)
        told = [(f"{f.rpartition('/')[2]}:{n}", *t.values()) for (f, n), t in lines.items()]
        report.table(
            "by line", sorted(told, key=lambda row: (-row[3], -row[2])), ("line", "values", "worst (ulp)", "most digits")
        )
        if self.unseen:
            others = [(f"{i.address:#x}", i.text, place_of(i)) for i in self.unseen]
            report.table("float arithmetic that was not looked at", others, ("address", "instruction", "line"))
        about = "worst error, in units of the last digit"
        report.column("error", {i.address: t["worst"] or 0.0 for i, t in found.items()}, unit="ulp", combine="max", about=about)
        report.column("digits", {i.address: t["most digits"] for i, t in found.items()}, unit="bits", combine="max", about="binary digits that cancel, at most")  # fmt: skip


def operations(instr: lt.Instruction) -> tuple[list[Operation], bool]:
    """What of an instruction can be looked at, and whether that is all of its float arithmetic."""
    opcodes = instr.opcode.split(" :: ")
    found = []
    complete = True
    for opcode, suffix in zip(opcodes, ("x", "y") if len(opcodes) > 1 else ("",)):
        made = _operation(instr, opcode, suffix)
        if made is not None:
            found.append(made)
        elif float_kind(opcode) in KINDS and not re.match(r"v_(?:dual_)?(?:m(?:ax|in|ed)|cmp|mov|cndmask|frexp|ldexp)", opcode):
            complete = False
    return found, complete and not MATRIX.match(instr.opcode)


def _operation(instr: lt.Instruction, opcode: str, suffix: str) -> Operation | None:
    named = _OPERATION.fullmatch(opcode)
    is_plain = not any(flag in instr.flags for flag in ("dpp", "sdwa")) and not {"clamp", "omod", "op_sel"} & set(instr.modifiers)
    if named is None or not is_plain or "div:" in instr.text or " mul:" in instr.text:
        return None
    name, kind = named[1], named[2]
    uses_literal = name in ("fmaak", "fmamk")
    mine = [o for o in instr.operands if o.name.endswith(suffix) and o.name != "literal" or o.name == "literal" and uses_literal]
    if uses_literal:  # dual instructions have one for both operations
        order = ("src0", "literal", "vsrc1") if name == "fmamk" else ("src0", "vsrc1", "literal")
        mine.sort(key=lambda o: -1 if o.is_written else order.index(o.name.removesuffix(suffix) if suffix else o.name))
    results = [o for o in mine if o.is_written]
    sources = [o for o in mine if o.is_read and not o.is_written]
    if len(results) != 1 or results[0].register is None or results[0].register.width != 1:
        return None
    result = results[0]
    if name in ("fmac", "mac"):
        sources.append(result)
    wanted = {"add": 2, "sub": 2, "subrev": 2, "mul": 2, "rcp": 1, "sqrt": 1, "rsq": 1}.get(name, 3)
    is_half = any(o.place is not None and o.place[2] for o in mine)
    if len(sources) != wanted or is_half or any(o.kind == "special" or o.units > 1 for o in sources):
        return None
    given = [lt.Old(o) if o.register is not None else (o.bits or 0) for o in sources]
    signs = [("abs" in o.modifiers) | ("neg" in o.modifiers) << 1 for o in sources]
    one = _ONE[kind]
    if name in ("add", "sub", "subrev"):
        flipped = {"sub": (0, 2), "subrev": (2, 0)}.get(name, (0, 0))
        given, signs = [given[0], one, given[1]], [signs[0] ^ flipped[0], 0, signs[1] ^ flipped[1]]
    elif name == "mul":
        given, signs = [*given, 0], [*signs, 0]
    first, second, third = (*signs, 0, 0)[:3]
    return Operation(name, kind, result.register, tuple(given), (first, second, third))


def _short(value: float | None) -> float | str:
    return "" if value is None else round(value, 3)
