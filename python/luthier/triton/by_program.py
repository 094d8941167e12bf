"""A launch in Triton's terms: what each program did, to which tensors, at which line of Python, beside what the algorithm needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..device.observe import ACTIONS, Trace
from ..errors import ArgumentError
from ..reports.as_html import html_table
from ..reports.report import Report
from ..tools.lanes import line_of

if TYPE_CHECKING:
    import numpy as np

#: What can be compared with what the algorithm needs.
_NEEDS = ("flops", "loaded", "stored")
#: Events of a launch that are kept.
LIMIT = 1 << 24


class Programs:
    """What a launch's programs did. Bytes and flops are those of active lanes; bytes are what is asked of device memory, before
    caches. ``programs``, ``tensors`` and ``lines`` are dicts of dicts of numbers; docs/triton.md says what each number is."""

    def __init__(self, trace: Trace, needs: Mapping[str, float] | None = None):
        unknown = [name for name in needs or {} if name not in _NEEDS]
        if unknown:
            raise ArgumentError(f"needs={dict(needs or {})!r}: there is no {unknown[0]!r}, only {', '.join(_NEEDS)}")
        if trace.dropped:
            raise ArgumentError(f"{trace.dropped:,} events were not kept: launch fewer programs, or give a greater limit=")
        if not len(trace.instructions):
            raise ArgumentError("the launch was not watched for what its programs did: events=['instructions', 'memory']")
        self.result = trace.result
        self.needs = dict(needs or {})
        self._names = {place.index: place.what.split("'")[1] if "'" in place.what else place.what for place in trace.places}
        groups = [-(-g // b) for g, b in zip(self.result.grid, self.result.block)]
        cluster = self.result.cluster or (1, 1, 1)
        self._count = [g // c for g, c in zip(groups, cluster)]
        instrs = {i.address: i for i in self.result.module.code_object.kernel(self.result.kernel).instructions}
        self._lines = {address: _line(line_of(instr)) for address, instr in instrs.items()}
        self.flops: Counter[str] = Counter()
        #: By program id.
        self.programs: dict[tuple[int, int, int], dict[str, int]] = {}
        #: By the name of the argument; None is memory that is no argument's.
        self.tensors: dict[str | None, dict[str, int]] = {}
        #: By ``file:line`` of the kernel; "" where it is not known.
        self.lines: dict[str, dict[str, int]] = {}
        self._ids = _program_ids(groups, cluster)
        self._add_instructions(trace, instrs)
        self._add_memory(trace)

    def _add_instructions(self, trace: Trace, instrs: Mapping[int, Any]) -> None:
        import numpy as np

        events = trace.instructions
        keys, where = np.unique(events["pc"], return_inverse=True)
        lanes = _ones(events["exec"])
        of_wave = np.array([instrs[a].works_for == "wave" if a in instrs else True for a in keys.tolist()])
        flops = np.array([sum(instrs[a].flops.values()) if a in instrs else 0 for a in keys.tolist()])
        where = where.reshape(-1)
        done = flops[where] * np.where(of_wave[where], 1, lanes)
        program = self._ids[events["workgroup"].astype("i8")]
        for name, values in (("instructions", np.ones(len(events), "i8")), ("flops", done)):
            self._add(self.programs, self._count_of(program, values), name)
            self._add(self.lines, self._line_sums(keys, where, values), name)
        for address, n, total in zip(keys.tolist(), flops.tolist(), np.bincount(where, done, len(keys)).tolist()):
            for kind, share in (instrs[address].flops if address in instrs else {}).items():
                self.flops[kind] += int(total) * share // n if n else 0

    def _add_memory(self, trace: Trace) -> None:
        import numpy as np

        space = trace.memory["kind"] >> 4
        argument = trace.memory_arguments()["argument"]
        # Scalar loads of what is no tensor's are of the arguments themselves.
        wanted = (space == 0) | (argument >= 0)
        events, argument = trace.memory[wanted], argument[wanted]
        action, size = events["kind"] & 3, events["size"].astype("i8")
        program = self._ids[events["workgroup"].astype("i8")]
        keys, where = np.unique(events["pc"], return_inverse=True)
        where = where.reshape(-1)
        for name, which in (("loaded", action != ACTIONS.index("store")), ("stored", action != ACTIONS.index("load"))):
            moved = np.where(which, size, 0)
            self._add(self.programs, self._count_of(program, moved), name)
            self._add(self.lines, self._line_sums(keys, where, moved), name)
            for index in np.unique(argument).tolist():
                mine = argument == index
                told = self.tensors.setdefault(self._names.get(index), {})
                told[name] = int(moved[mine].sum())
                told[f"distinct {name}"] = _distinct(events["address"][mine & which], size[mine & which])
                own = np.bincount(program[mine], weights=which[mine], minlength=len(self.programs))
                told[f"programs that {'load' if name == 'loaded' else 'store'}"] = int(np.count_nonzero(own))

    def _count_of(self, program: np.ndarray, values: np.ndarray) -> Iterable[tuple[tuple[int, int, int], int]]:
        import numpy as np

        x, y, z = self._count
        for n, total in enumerate(np.bincount(program, values, x * y * z).tolist()):
            yield (n % x, n // x % y, n // x // y), int(total)

    def _line_sums(self, keys: np.ndarray, where: np.ndarray, values: np.ndarray) -> Iterable[tuple[str, int]]:
        import numpy as np

        for address, total in zip(keys.tolist(), np.bincount(where, values, len(keys)).tolist()):
            yield self._lines.get(address, ""), int(total)

    @staticmethod
    def _add(into: dict[Any, dict[str, int]], found: Iterable[tuple[Any, int]], name: str) -> None:
        for key, n in found:
            told = into.setdefault(key, {"instructions": 0, "flops": 0, "loaded": 0, "stored": 0})
            told[name] += n

    def against_needs(self) -> dict[str, dict[str, float]]:
        """Of flops and bytes: how much was ``done``, how much the algorithm ``needs``, and how many ``times`` as much that is. Without
        a number of the caller's, bytes need what a launch cannot do without that loads each byte once, and stores it once."""
        done = {
            "flops": self.flops.total(),
            "loaded": sum(t["loaded"] for t in self.tensors.values()),
            "stored": sum(t["stored"] for t in self.tensors.values()),
        }
        least = {name: sum(t[f"distinct {name}"] for t in self.tensors.values()) for name in ("loaded", "stored")}
        needs = {**least, **self.needs}
        return {
            name: {"done": done[name], "needs": needs[name], "times": done[name] / needs[name] if needs[name] else float("nan")}
            for name in _NEEDS
            if name in needs
        }

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "kernel": self.result.kernel,
            "target": self.result.module.code_object.target,
            "grid": list(self._count),
            "flops": dict(self.flops),
            "needs": {name: {k: v if v == v else None for k, v in told.items()} for name, told in self.against_needs().items()},
            "programs": [{"program": list(at), **told} for at, told in self.programs.items()],
            "tensors": [{"tensor": name, **told} for name, told in self.tensors.items()],
            "lines": [{"line": line, **told} for line, told in self.lines.items()],
        }

    def report(self) -> Report:
        """The same as tables: for :func:`luthier.triton.compare`'s kind of page, ``to_arrow()`` and ``luthier report``."""
        made = Report(self.result.kernel)
        made.result = self.to_dict()
        sums = [(name, told["done"], told["needs"], f"{told['times']:.2f}") for name, told in self.against_needs().items()]
        made.table("against what the algorithm needs", sums, ("", "done", "needs", "times"))
        made.table("tensors", *_rows(self.tensors, "tensor"))
        made.table("lines", *_rows({k: v for k, v in self.lines.items() if any(v.values())}, "line"))
        made.table("programs", *_rows({", ".join(map(str, at)): told for at, told in self.programs.items()}, "program"))
        return made

    def html(self) -> str:
        """One page that needs nothing else."""
        from ..views.report_page import page

        return page([self.report()], f"{self.result.kernel} on {self.result.module.device.processor}")

    def _repr_html_(self) -> str:
        return "".join(html_table(t.title, t.headers, t.rows[:40]) for t in self.report().tables)

    def __repr__(self) -> str:
        sums = ", ".join(f"{name} {told['done']:,}" for name, told in self.against_needs().items())
        return f"<Programs of {self.result.kernel}: {len(self.programs):,} of {len(self.lines)} lines, {sums}>"


def programs(
    launcher: Callable[..., Any],
    *args: Any,
    needs: Mapping[str, float] | None = None,
    limit: int = LIMIT,
    **constants: Any,
) -> Programs:
    """Launches a kernel and tells it in Triton's terms: ``luthier.triton.programs(kernel[grid], x, out, n, BLOCK=128,
    needs={"flops": n})``.

    :param launcher: ``kernel[grid]``.
    :param args: the kernel's arguments.
    :param needs: what the algorithm needs, any of ``flops``, and ``loaded`` and ``stored`` in bytes.
    :param limit: events of a kind that each of the device's threads keeps.
    :param constants: handed on to ``launcher``.
    :returns: flops and bytes by program, tensor and line.
    :raises ArgumentError: where nothing is launched, events were lost, and for other names in ``needs``.
    """
    from .setup import trace

    return Programs(trace(launcher, *args, events=["instructions", "memory"], limit=limit, **constants), needs)


def _program_ids(groups: list[int], cluster: tuple[int, int, int]) -> np.ndarray:
    """Of each workgroup, the number of its program, with x fastest."""
    import numpy as np

    count = [g // c for g, c in zip(groups, cluster)]
    n = np.arange(groups[0] * groups[1] * groups[2])
    x, y, z = n % groups[0] // cluster[0], n // groups[0] % groups[1] // cluster[1], n // groups[0] // groups[1] // cluster[2]
    return x + count[0] * (y + count[1] * z)


def _ones(masks: np.ndarray) -> np.ndarray:
    """How many bits of each are set."""
    import numpy as np

    return np.unpackbits(np.ascontiguousarray(masks).astype("<u8").view("u1")).reshape(len(masks), 64).sum(axis=1, dtype="i8")


def _distinct(addresses: np.ndarray, sizes: np.ndarray) -> int:
    """Bytes that some accesses touch, each counted once."""
    import numpy as np

    if not len(addresses):
        return 0
    begins = addresses.astype("i8")
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], (begins + sizes)[order]
    reached = np.maximum.accumulate(ends)
    before = np.concatenate([begins[:1], reached[:-1]])
    return int(np.maximum(ends - np.maximum(begins, before), 0).sum())


def _line(place: tuple[str, int] | None) -> str:
    return "" if place is None else f"{place[0].rpartition('/')[2]}:{place[1]}"


def _rows(of: Mapping[Any, Mapping[str, int]], what: str) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    names = list(dict.fromkeys(name for told in of.values() for name in told))
    return [("" if key is None else key, *(told.get(n, 0) for n in names)) for key, told in of.items()], (what, *names)
