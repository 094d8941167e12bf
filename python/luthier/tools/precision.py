"""precision: how far the result of each float operation is from the same operation in 64 bits, and where digits cancel.

Looked at are additions, subtractions, multiplications, fused and unfused multiplications with addition, reciprocals and square
roots of f32, f16 and bf16, in packed and dual instructions too; sums of two or four products; conversions to narrower formats,
those of 8 bits among them. Of each matrix operation hooks keep the first ``matrix_samples=N`` (16) executions, and the host computes
them. An operation has the error that it adds itself: the errors of its sources are not in it, but what cancels in an addition shows
where such errors become great.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import luthier as lt
from luthier.tools.elements import elements
from luthier.tools.lanes import as_json, incomplete, line_of, place_of, wave_size
from luthier.tools.matrix_places import matrix_places
from luthier.tools.precision_matrices import Floats, MatrixSamples, SampledMatrix
from luthier.tools.precision_numbers import NUMBERS, STATS, cancels, compare, exponent, number
from luthier.tools.precision_operations import KINDS, Operation, operations


@dataclass(frozen=True)
class _Watched:
    """An instruction whose results hooks look at one by one."""

    instr: lt.Instruction
    operations: list[Operation]
    stats: lt.DeviceArray
    index: int


class Precision(MatrixSamples):
    """``{"instructions": {address: {"operations", "values", "not finite", "mean", "worst", "lost", "digits", "most digits",
    "executions", "kept"}}, "lines": {"file:line": {"values", "worst", "most digits"}}, "not seen": [address]}``. ``mean`` and
    ``worst`` are errors in units of the result's last digit (0.5 at most where an operation rounds to the nearest), in steps of
    1/1024. ``lost`` counts sums that are smaller than the greatest of what was added, ``digits`` how many binary digits that cost on
    average, ``most digits`` at most; sums of exactly 0 are left out. ``executions`` and ``kept`` are of matrix operations alone: how many
    there were, and of how many the numbers are."""

    one_code_object = True  # what it knows of a kernel goes by addresses

    def __init__(self, matrix_samples: int = 16) -> None:
        if not 0 <= matrix_samples <= 1 << 16:
            raise lt.ToolError(f"precision: matrix_samples={matrix_samples}: a number of executions, up to 65536; 0 for none")
        self.most = matrix_samples
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        self.watched: list[_Watched] = []
        self.sampled: list[SampledMatrix] = []
        self.unseen: list[lt.Instruction] = []

    @lt.hook
    def product(
        stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, b: lt.u32, c: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32,
        sign_a: lt.u32, sign_b: lt.u32, sign_c: lt.u32, shift: lt.u32, shift_a: lt.u32, shift_b: lt.u32, shift_c: lt.u32,
    ):  # fmt: skip
        left = number(a >> shift_a, kind, sign_a) * number(b >> shift_b, kind, sign_b)
        right = number(c >> shift_c, kind, sign_c)
        exact = left + right
        compare(stats, number(result >> shift, kind, 0), exact, digits, least)
        cancels(stats, exact, lt.max(exponent(left), exponent(right)))

    @lt.hook
    def dot(
        stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, b: lt.u32, c: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32,
        sign_c: lt.u32, shift: lt.u32, shift_c: lt.u32, kind_a: lt.u32, kind_b: lt.u32, bits: lt.u32,
    ):  # fmt: skip
        exact = number(c >> shift_c, kind, sign_c)
        greatest = exponent(exact)
        for n in range(4):
            if lt.u32(n) * bits < 32:
                product = number(a >> (lt.u32(n) * bits), kind_a, 0) * number(b >> (lt.u32(n) * bits), kind_b, 0)
                greatest = lt.max(greatest, exponent(product))
                exact = exact + product
        compare(stats, number(result >> shift, kind, 0), exact, digits, least)
        cancels(stats, exact, greatest)

    @lt.hook
    def narrowed(
        stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32, sign: lt.u32, shift: lt.u32,
        shift_a: lt.u32, kind_a: lt.u32,
    ):  # fmt: skip
        compare(stats, number(result >> shift, kind, 0), number(a >> shift_a, kind_a, sign), digits, least)

    @lt.hook
    def narrowed_double(
        stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u64, kind: lt.u32, digits: lt.i32, least: lt.i32, sign: lt.u32, shift: lt.u32,
    ):  # fmt: skip
        wide = a
        if sign & 1 != 0:
            wide = wide & 0x7FFFFFFFFFFFFFFF
        if sign & 2 != 0:
            wide = wide ^ 0x8000000000000000
        compare(stats, number(result >> shift, kind, 0), lt.bitcast(lt.f64, wide), digits, least)

    @lt.hook
    def reciprocal(
        stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32, sign: lt.u32, shift: lt.u32,
        shift_a: lt.u32,
    ):  # fmt: skip
        compare(stats, number(result >> shift, kind, 0), 1.0 / number(a >> shift_a, kind, sign), digits, least)

    @lt.hook
    def root(
        stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32, sign: lt.u32, shift: lt.u32,
        shift_a: lt.u32,
    ):  # fmt: skip
        compare(stats, number(result >> shift, kind, 0), lt.sqrt(number(a >> shift_a, kind, sign)), digits, least)

    @lt.hook
    def reciprocal_root(
        stats: lt.ptr[lt.u64], result: lt.u32, a: lt.u32, kind: lt.u32, digits: lt.i32, least: lt.i32, sign: lt.u32, shift: lt.u32,
        shift_a: lt.u32,
    ):  # fmt: skip
        compare(stats, number(result >> shift, kind, 0), 1.0 / lt.sqrt(number(a >> shift_a, kind, sign)), digits, least)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        processor = kernel.code_object.processor
        looked_at = []
        for instr in (i for f in functions for i in f.instructions if i.is_valu):
            if instr.is_matrix:
                self.look_at_matrix(kernel, instr)
                continue
            found, complete = operations(instr, processor)
            if found:
                looked_at.append((instr, found))
            if not complete:
                self.unseen.append(instr)
        if not looked_at:
            return
        stats = lt.DeviceArray(lt.u64, STATS * len(looked_at), name=f"errors.{kernel.name}")
        for n, (instr, found) in enumerate(looked_at):
            for operation in found:
                self.look_at(kernel, instr, operation, stats.at(STATS * n))
            self.watched.append(_Watched(instr, found, stats, n))

    def look_at(self, kernel: lt.Kernel, instr: lt.Instruction, operation: Operation, stats: Any) -> None:
        """Compares one result."""
        given, signs = operation.sources, operation.signs
        begin = (stats, operation.result, *(source.of for source in given), NUMBERS[operation.kind], *KINDS[operation.kind])
        shifts = (operation.shift, *(source.shift for source in given))
        kinds = [operation.taken_kind(n) for n in range(len(given))]
        if operation.name == "cvt" and kinds[0] == "f64":
            kernel.insert_after(instr, self.narrowed_double, *begin, signs[0], operation.shift)
        elif operation.name == "cvt":
            kernel.insert_after(instr, self.narrowed, *begin, signs[0], *shifts, NUMBERS[kinds[0]])
        elif operation.name.startswith("dot"):
            about = (signs[2], shifts[0], shifts[3], NUMBERS[kinds[0]], NUMBERS[kinds[1]], 32 // int(operation.name[3:]))
            kernel.insert_after(instr, self.dot, *begin, *about)
        elif len(given) == 1:
            hooks = {"rcp": self.reciprocal, "sqrt": self.root, "rsq": self.reciprocal_root}
            kernel.insert_after(instr, hooks[operation.name], *begin, signs[0], *shifts)
        else:
            kernel.insert_after(instr, self.product, *begin, *signs, *shifts)

    def look_at_matrix(self, kernel: lt.Kernel, instr: lt.Instruction) -> None:
        """Keeps the first executions of a matrix operation of floats."""
        processor, wave = kernel.code_object.processor, wave_size(kernel)
        found = elements(instr, processor)
        if found is None or found[0].kind not in KINDS:
            return  # of integers, or of 64 bits itself
        places = matrix_places(instr, processor, wave, len(found)) if self.most else None
        if places is None:
            self.unseen.append(instr)
        else:
            self.sampled.append(self.sample_matrix(kernel, instr, found, places, wave, self.most))

    def on_exit(self, report: lt.Report) -> None:
        # Where registers have no room for a matrix operation's samples, the others are told all the same.
        of_matrices = {point: one for one in self.sampled for point in one.points}
        if incomplete(self, report, besides=of_matrices):
            return
        silent = {id(of_matrices[one["point"]]) for one in self.rejected if one["point"] in of_matrices}
        unseen = self.unseen + [one.instr for one in self.sampled if id(one) in silent]
        found: dict[lt.Instruction, dict[str, Any]] = {}
        for one in self.watched:
            stats = [int(n) for n in one.stats[STATS * one.index : STATS * (one.index + 1)]]
            if stats[0]:
                found[one.instr] = {"operations": [operation.told for operation in one.operations], **_told(stats)}
        for matrix in self.sampled:
            executions = sum(matrix.executions())
            if executions and id(matrix) not in silent:
                got, exact, most = matrix.samples()
                name = f"{matrix.instr.opcode.split('_')[1]}_{matrix.elements[0].kind}"
                told = _told(_errors(matrix.elements[0].kind, got, exact, most))
                found[matrix.instr] = {"operations": [name], **told, "executions": executions, "kept": len(got)}
        lines: dict[tuple[str, int], dict[str, Any]] = {}
        for instr, told in found.items():
            if (at := line_of(instr)) is not None:
                of = lines.setdefault(at, {"values": 0, "worst": 0.0, "most digits": 0})
                of["values"] += told["values"]
                of["worst"] = max(of["worst"], told["worst"] or 0.0)
                of["most digits"] = max(of["most digits"], told["most digits"])
        report.result = {
            "instructions": as_json({i.address: told for i, told in found.items()}),
            "lines": {f"{file}:{line}": told for (file, line), told in lines.items()},
            "not seen": [f"{instr.address:#x}" for instr in unseen],
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
        by_line = [(f"{f.rpartition('/')[2]}:{n}", *t.values()) for (f, n), t in lines.items()]
        report.table(
            "by line", sorted(by_line, key=lambda row: (-row[3], -row[2])), ("line", "values", "worst (ulp)", "most digits")
        )
        partly = [
            (f"{i.address:#x}", i.text, place_of(i), t["executions"], t["kept"]) for i, t in found.items() if t.get("kept", 0) < t.get("executions", 0)
        ]  # fmt: skip
        if partly:
            title = f"of these matrix operations hooks kept the first {self.most} executions (matrix_samples={self.most})"
            report.table(title, partly, ("address", "instruction", "line", "executions", "looked at"))
        if unseen:
            others = [(f"{i.address:#x}", i.text, place_of(i)) for i in unseen]
            report.table("float arithmetic that was not looked at", others, ("address", "instruction", "line"))
        about = "worst error, in units of the last digit"
        report.column("error", {i.address: t["worst"] or 0.0 for i, t in found.items()}, unit="ulp", combine="max", about=about)
        report.column("digits", {i.address: t["most digits"] for i, t in found.items()}, unit="bits", combine="max", about="binary digits that cancel, at most")  # fmt: skip


def _short(value: float | None) -> float | str:
    return "" if value is None else round(value, 3)


def _told(stats: list[int]) -> dict[str, Any]:
    values, special, errors, worst, lost, digits, most = stats
    finite = values - special
    return {
        "values": values, "not finite": special, "mean": errors / finite / 1024 if finite else None,
        "worst": worst / 1024 if finite else None, "lost": lost, "digits": digits / lost if lost else 0.0, "most digits": most,
    }  # fmt: skip


def _errors(kind: str, got: Floats, exact: Floats, most: Floats) -> list[int]:
    """The numbers that hooks make of other instructions. ``most``: the greatest of what was added."""
    digits, least = KINDS[kind]
    with np.errstate(all="ignore"):
        is_finite = np.isfinite(got) & np.isfinite(exact)
        at, greatest = (np.where(x == 0, -1023, np.frexp(x)[1] - 1) for x in (exact, most))
        scaled = np.abs(got - exact) * 2.0 ** (digits + 10 - np.maximum(at, least))
        error = np.minimum(scaled[is_finite], 2.0**40).astype(np.uint64)
        loses = (at < greatest) & (exact != 0) & np.isfinite(most)
    lost = (greatest - at)[loses]
    return [
        got.size, int((~is_finite).sum()), int(error.sum()), int(error.max(initial=0)), len(lost), int(lost.sum()), int(lost.max(initial=0))
    ]  # fmt: skip
