"""What is done with a code object; this runs in the worker processes."""

from __future__ import annotations

import fnmatch
import functools
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from ..base.outputs import Outputs
from ..errors import ArgumentError
from ..instrumenting.planning import instrument
from ..objects.code_object import CodeObject
from ..objects.kernel import Kernel
from ..objects.missing_hazards import missing_hazards
from ..objects.missing_waits import missing_waits
from .jobs import Job, Work, content

if TYPE_CHECKING:
    from .._core import Function

#: An object's row, and those of its kernels.
Result = tuple[dict[str, Any], list[dict[str, Any]]]


def run(job: Job, work: Work) -> Any:
    """Does the work; of a job without an entry gives the entries: number, target and size of each that the work is for."""
    container = _container(job.path, job.member)
    if job.entry < 0:
        entries = container.entries
        if not entries:
            raise ArgumentError(f"{job}: there is no code object in it")
        return [
            (entry["index"], entry["target"], entry["size"])
            for entry in entries
            if entry["target"] is not None and fnmatch.fnmatchcase(entry["target"].partition(":")[0], work.target)
        ]
    code_object = CodeObject(container.code_object(job.entry), job.path)
    if work.action == "map":
        return pickle.loads(work.function or b"")(code_object)
    names = [row for row in code_object.core.kernel_table() if _fits(row, work.kernel)]
    begun = time.perf_counter()
    totals, kernels = _ACTIONS[work.action](job, work, code_object, names)
    about = {"target": code_object.target, "size": len(code_object.data), "kernels": len(names)}
    return {**about, **totals, "seconds": time.perf_counter() - begun}, kernels


def _fits(row: dict[str, Any], pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in (row["name"], row["demangled"]))


@functools.lru_cache(maxsize=1)
def _container(path: str, member: str) -> _core.Container:
    """The last file that was asked for: its entries come one after the other."""
    found = content(Job(path, member))
    return _core.Container.from_bytes(found) if isinstance(found, bytes) else _core.Container.open(found)


def _about(row: dict[str, Any]) -> dict[str, Any]:
    return {"kernel": row["name"], "demangled": row["demangled"]}


def _count(_job: Job, _work: Work, code_object: CodeObject, names: list[dict[str, Any]]) -> Result:
    """Instructions of each kernel and of the functions that it reaches, by operation and by kind."""
    import numpy

    program, bits, kernels = code_object.program, _core.flag_bits(), []
    operations = program.opcodes
    for row in names:
        columns = Kernel(code_object, row["name"]).columns("opcode_id", "flags")
        numbers, counts = numpy.unique(columns["opcode_id"], return_counts=True)
        by_operation: dict[str, int] = {}
        for number, count in zip(numbers, counts):
            name = operations[number]
            by_operation[name] = by_operation.get(name, 0) + int(count)
        made = {name.removeprefix("is_"): int(numpy.count_nonzero(columns["flags"] & bit)) for name, bit in bits.items()}
        sizes = {name: row[name] for name in ("code_size", "sgprs", "vgprs", "agprs", "lds", "scratch", "arguments")}
        kernels.append({**_about(row), **sizes, "instructions": len(columns["flags"]), **made, "operations": by_operation})
    return {"instructions": sum(kernel["instructions"] for kernel in kernels)}, kernels


def _lift(_job: Job, _work: Work, code_object: CodeObject, names: list[dict[str, Any]]) -> Result:
    """Functions, blocks, loops and calls of each kernel, and what could not be settled."""
    kernels = []
    for row in names:
        functions = Kernel(code_object, row["name"]).functions
        blocks = code_object.program.blocks_of(functions)
        kernels.append(
            {
                **_about(row),
                "functions": len(functions),
                "blocks": len(blocks),
                "loops": sum(len(function.loops) for function in functions),
                "calls": sum(len(function.calls) for function in functions),
                "unresolved": sum(function.has_unresolved_calls for function in functions),
                "refusals": "; ".join(sorted({f.refusal for f in functions if f.refusal is not None})),
            }
        )
    remarks = code_object.program.remarks()
    return {"remarks": len(remarks), "first_remark": remarks[0] if remarks else None}, kernels


def _instrument(job: Job, work: Work, code_object: CodeObject, names: list[dict[str, Any]], check: bool | None = None) -> Result:
    """What the tools have placed, and the registers of each kernel before and after."""
    from ..tools import load

    tools = [load(text) for text in work.tools]
    wanted = [row["name"] for row in names]
    result = instrument(code_object, tools, kernels=wanted, check=check, on_rejected="report")
    did = result.instrumentation or {}
    if work.out is not None:
        _write(work.out, job, result.data)
    reasons = sorted({one["reason"] for one in did["rejected"]})
    totals = {
        "points": did["points"],
        "rejected": len(did["rejected"]),
        "reasons": "; ".join(reasons),
        "inserted_instructions": did["inserted_instructions"],
        "copied_instructions": did["copied_instructions"],
    }
    return totals, [{**_about(row), **_registers(did["registers"].get(row["name"]))} for row in names]


def _registers(changed: dict[str, Any] | None) -> dict[str, Any]:
    """``sgprs_before``, ``sgprs_after`` and so on; None of a kernel that stays as it is."""
    made: dict[str, Any] = {}
    for name in ("sgprs", "vgprs", "occupancy", "scratch"):
        before, after = (changed or {}).get(name) or (None, None)
        made |= {f"{name}_before": before, f"{name}_after": after}
    return made


def _write(folder: str, job: Job, data: bytes) -> None:
    name = "_".join(part for part in (*Path(job.path).parts[1:], *Path(job.member).parts, str(job.entry)) if part)
    os.makedirs(folder, exist_ok=True)
    with Outputs() as outputs:
        outputs.open(os.path.join(folder, f"{name}.hsaco")).write(data)
        outputs.commit()


def _check(job: Job, work: Work, code_object: CodeObject, names: list[dict[str, Any]]) -> Result:
    """Everything that can be proven without running: that all code is decoded and lifted, that each load is waited for and hazards
    are kept away from on all paths, and that every insertion of the tools is invisible to the application."""
    lifted, kernels = _lift(job, work, code_object, names)
    placed, registers = _instrument(job, work, code_object, names, check=True)
    waits, hazards = _of_functions(code_object, names, _waits), _of_functions(code_object, names, _hazards)
    told = [_told("wait", of) | _told("hazard", other) for of, other in zip(waits, hazards)]
    totals = {
        f"missing_{what}": len({text for of in every for text in of}) for what, every in (("waits", waits), ("hazards", hazards))
    }
    return {**lifted, **placed, **totals}, [{**row, **of, **missing} for row, of, missing in zip(kernels, registers, told)]


def _told(what: str, found: list[str]) -> dict[str, Any]:
    return {f"missing_{what}s": len(found), f"first_missing_{what}": found[0] if found else None}


def _of_functions(
    code_object: CodeObject, names: list[dict[str, Any]], judge: Callable[[CodeObject, Function], list[str]]
) -> list[list[str]]:
    """What is wrong with each kernel and the functions that it reaches; each function is judged once."""
    found: dict[int, list[str]] = {}
    kernels = []
    for row in names:
        functions = Kernel(code_object, row["name"]).functions
        found |= {f.address: judge(code_object, f) for f in functions if f.address not in found}
        kernels.append([text for function in functions for text in found[function.address]])
    return kernels


def _waits(code_object: CodeObject, function: Function) -> list[str]:
    """What touches a register before a load has come back."""
    return [
        f"{missing.instruction.text} at {missing.instruction.address:#x} touches {missing.register} before the load at "
        f"{missing.load:#x} has come back ({missing.counter})"
        for missing in missing_waits(code_object.processor, [function])
    ]


def _hazards(_code_object: CodeObject, function: Function) -> list[str]:
    """What comes too early behind another instruction."""
    return list(map(str, missing_hazards([function])))


def _run(_job: Job, work: Work, code_object: CodeObject, names: list[dict[str, Any]]) -> Result:
    """Runs the kernels for which ``launch(kernel)`` gives keywords, in strict mode unless they say otherwise."""
    from ..device.mock_device import Device
    from ..errors import DeviceError
    from ..tools import load

    launch = _launches(work.launches or "")
    target = next(iter(code_object.devices), None)
    if target is None:
        raise ArgumentError(f"there is no mock device for {code_object.target}")
    device, kernels = Device(target, threads=1), []
    for row in names:
        told = launch(Kernel(code_object, row["name"]))
        made = {**_about(row), "ran": told is not None, "instructions": None, "findings": None, "kinds": None, "error": None}
        if told is not None:
            keywords: dict[str, Any] = {"strict": True, **told}
            try:
                result = device.run(code_object, row["name"], tools=[load(text) for text in work.tools], **keywords)
                kinds = ",".join(sorted({finding["kind"] for finding in result.findings}))
                made |= {"instructions": result.app_instructions, "findings": len(result.findings), "kinds": kinds}
            except DeviceError as error:
                made["error"] = str(error)
        kernels.append(made)
    return {"ran": sum(kernel["ran"] for kernel in kernels)}, kernels


def _launches(path: str) -> Callable[[Kernel], Any]:
    """The function ``launch`` of a file."""
    space: dict[str, Any] = {"__file__": path, "__name__": "launches"}
    exec(compile(Path(path).read_bytes(), path, "exec"), space)
    if not callable(space.get("launch")):
        raise ArgumentError(f"{path}: there is no function launch(kernel)")
    found: Callable[[Kernel], Any] = space["launch"]
    return found


_ACTIONS: dict[str, Callable[[Job, Work, CodeObject, list[dict[str, Any]]], Result]] = {
    "count": _count,
    "lift": _lift,
    "instrument": _instrument,
    "check": _check,
    "run": _run,
}
