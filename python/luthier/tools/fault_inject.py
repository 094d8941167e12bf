"""fault_inject: flips a bit of a vector register behind an instruction, once; and campaigns of many such runs.

luthier run app.hsaco --kernel scale ... --tool fault_inject:at=0x1954,x=2,wave=1,lane=7,bit=30

``at`` is the instruction, ``word`` which of the registers that it writes (from 0), ``x``, ``y``, ``z`` the workgroup, ``wave`` its
wave, ``lane`` the lane, ``time`` the how-manieth time (from 0) that the wave executes it with an active lane. :func:`campaign`
chooses places by chance, and says what became of each run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import luthier as lt
from luthier.device.module import Module
from luthier.errors import DeviceError
from luthier.reports.report import Report
from luthier.tools.lanes import place_of
from luthier.tools.waves import WaveTool

#: What becomes of a run: all arrays as without the fault; others; an instruction that could not go on; no end.
OUTCOMES = ("masked", "wrong", "fault", "hang")


@dataclass(frozen=True)
class Fault:
    """A bit that is flipped once."""

    at: int
    word: int = 0
    x: int = 0
    y: int = 0
    z: int = 0
    wave: int = 0
    lane: int = 0
    bit: int = 0
    time: int = 0


class FaultInject(WaveTool):
    """``{"fault": {...}, "flipped": N}``: the fault as it was asked for, and how often it was made: 0 where the wave has not come
    to the place in that lane, 1 for each launch in which it has."""

    def __init__(
        self, at: str = "", word: int = 0, x: int = 0, y: int = 0, z: int = 0, wave: int = 0, lane: int = 0, bit: int = 0, time: int = 0
    ) -> None:  # fmt: skip
        super().__init__()
        try:
            address = int(at, 0)
        except ValueError:
            raise lt.ToolError(f"fault_inject: at={at}: the address of an instruction, 0x1954 for example") from None
        if not 0 <= bit < 32 or not 0 <= lane < 64 or min(word, x, y, z, wave, time) < 0 or wave > 31 or max(y, z) > 0xFFFF:
            raise lt.ToolError("fault_inject: bit is from 0 to 31, lane from 0 to 63, wave from 0 to 31, others from 0")
        self.fault = Fault(address, word, x, y, z, wave, lane, bit, time)
        self.is_there = False

    #: How often the wave has been here.
    times = lt.WaveState(lt.u32)
    flipped = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def flip(
        flipped: lt.ptr[lt.u64], here: lt.inout[lt.u32, 3], times: lt.inout[lt.u32], register: lt.inout[lt.u32],
        x: lt.u32, yz: lt.u32, wave: lt.u32, lane: lt.u32, bit: lt.u32, time: lt.u32,
    ):  # fmt: skip
        # No branch that lanes take for themselves: a wave without lanes comes here, too.
        active = lt.exec_mask()
        is_wave = here[0] == x and here[1] == yz and here[2] == wave << 6
        is_now = is_wave and times == time and active != 0
        hit = is_now and lt.lane_id() == lane
        register = register ^ (lt.u32(hit) << bit)
        lt.wave_atomic_add(flipped, lt.u32(is_now) & lt.u32(active >> lt.u64(lane)))
        times += lt.u32(is_wave and active != 0)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        instr = next((i for i in kernel.instructions if i.address == self.fault.at), None)
        if instr is None:
            return
        words = registers(instr)
        if self.fault.word >= len(words):
            raise lt.ToolError(f"fault_inject: word={self.fault.word}: {instr.text} writes {len(words)} vector registers")
        fault = self.fault
        self.begin_waves(kernel)
        kernel.insert_after(
            instr, self.flip, self.flipped, self.here, self.times, words[fault.word], fault.x, fault.y | fault.z << 16,
            fault.wave, fault.lane, fault.bit, fault.time,
        )  # fmt: skip
        self.is_there = True

    def on_exit(self, report: lt.Report) -> None:
        told = {f.name: getattr(self.fault, f.name) for f in fields(self.fault)} | {"at": f"{self.fault.at:#x}"}
        why = self.rejected[0]["reason"] if self.rejected else "" if self.is_there else "no kernel here has the instruction"
        report.result = {"fault": told, "flipped": int(self.flipped[0]), **({"why not": why} if why else {})}
        report.table("fault_inject", [*told.items(), ("flipped", int(self.flipped[0])), *([("why not", why)] if why else [])])


def registers(instr: lt.Instruction) -> list[lt.Reg]:
    """The vector registers that an instruction writes whole, word by word; none behind which nothing can be inserted."""
    if not instr.falls_through or not (instr.is_valu or instr.is_load):
        return []
    found = []
    for operand in instr.operands:
        register = operand.register
        if operand.is_written and register and register.file in ("vgpr", "agpr") and not (operand.place and operand.place[2]):
            found += [lt.Reg(f"{register.file[0]}{(register.index or 0) + n}") for n in range(register.width)]
    return found


@dataclass(frozen=True)
class Trial:
    """One run of a campaign."""

    fault: Fault
    #: One of :data:`OUTCOMES`.
    outcome: str
    #: Bytes of arrays that differ, of a run that ended.
    bytes: int = 0
    #: What the device said, of one that did not.
    message: str = ""


class Campaign:
    """What became of many runs, each with a fault of its own: :attr:`trials`, and a :attr:`report` with tables of them."""

    def __init__(self, trials: Sequence[Trial], code_object: lt.CodeObject):
        self.trials = list(trials)
        counts = Counter(trial.outcome for trial in trials)
        #: How many there were of each of :data:`OUTCOMES`.
        self.outcomes = {name: counts[name] for name in OUTCOMES}
        self.report = Report("fault_inject")
        self.report.result = {"runs": len(self.trials), "outcomes": self.outcomes}
        self.report.table("outcomes", self.outcomes, ("outcome", "runs"))
        instrs = {i.address: i for i in code_object.instructions}
        places: dict[int, Counter[str]] = {}
        for trial in self.trials:
            places.setdefault(trial.fault.at, Counter())[trial.outcome] += 1
        rows = [
            (f"{a:#x}", instrs[a].text, place_of(instrs[a]), *(of[name] for name in OUTCOMES)) for a, of in sorted(places.items())
        ]
        self.report.table("by instruction", rows, ("address", "instruction", "line", *OUTCOMES))
        names = [f.name for f in fields(Fault)]
        columns = {name: [getattr(t.fault, name) for t in self.trials] for name in names}
        told = {
            "outcome": [t.outcome for t in self.trials],
            "bytes": [t.bytes for t in self.trials],
            "message": [t.message for t in self.trials],
        }
        self.report.records("runs", {**columns, **told})
        for name in OUTCOMES[1:]:
            self.report.column(
                name, {a: of[name] for a, of in places.items()}, unit="runs", about=f"faults here that end as {name}"
            )

    def to_dict(self) -> dict[str, Any]:
        """What ``luthier run --faults --json`` writes: the report, and each run."""
        runs = [{**asdict(t.fault), "outcome": t.outcome, "bytes": t.bytes, "message": t.message} for t in self.trials]
        return {"tools": {"fault_inject": self.report.result}, "reports": [self.report.to_dict()], "runs": runs}

    def __repr__(self) -> str:
        return f"<Campaign of {len(self.trials)} runs: {', '.join(f'{n} {name}' for name, n in self.outcomes.items())}>"

    def _repr_html_(self) -> str:
        """For notebooks: the outcomes."""
        return self.report._repr_html_()


def campaign(
    processor: str, code_object: Any, kernel: str, args: Callable[[], Sequence[Any]], *, runs: int = 100, seed: int = 0,
    only: Callable[[lt.Instruction], bool] | None = None, progress: Callable[[int, int], object] | None = None, **launch: Any,
) -> Campaign:  # fmt: skip
    """Runs a kernel on the mock device again and again, each time with one bit flipped, and compares its arrays with those of a
    run without.

    A fault is one of the results, each as likely as any other, that the kernel's active lanes write into vector registers: of all instructions, or of those that ``only`` chooses. A run is a ``hang`` when it takes ten times the instructions of the one without, or waits for what
    does not come.

    :param processor: of the mock device.
    :param code_object: a code object, the path of a file, or bytes.
    :param kernel: its name.
    :param args: makes the arguments anew for each run.
    :param runs: how many.
    :param seed: chooses the faults.
    :param only: says of an instruction whether its results are among those to choose from.
    :param progress: is called with the number of runs done, and of all.
    :param launch: the keywords of a launch.
    :returns: what became of the runs.
    :raises ArgumentError: for ``runs`` below 1, and where there is no result to choose.
    :raises DeviceError: where the kernel does not run without a fault.
    """
    import numpy as np

    code = lt.CodeObject.of(code_object)
    if runs < 1:
        raise lt.ArgumentError(f"campaign: runs={runs}: a number from 1")
    words = {i.address: len(registers(i)) for i in code.kernel(kernel).instructions if only is None or only(i)}
    words = {address: n for address, n in words.items() if n}
    kept = list(args())
    trace = lt.Device(processor).trace(code, kernel, args=kept, events=["instructions"], only=list(words), **launch)
    if trace.dropped:
        raise lt.ArgumentError(
            f"campaign: the kernel runs {trace.dropped:,} instructions more than can be kept: launch a smaller grid"
        )
    events = trace.instructions[trace.instructions["exec"] != 0]
    if not len(events):
        raise lt.ArgumentError("campaign: no lane writes a vector register there")
    golden = [_bytes(value) for value in kept]
    counts = [words[pc] * mask.bit_count() for pc, mask in events[["pc", "exec"]].tolist()]
    ends = np.cumsum(counts)
    random = np.random.default_rng(seed)
    groups = [-(-g // b) for g, b in zip(trace.result.grid, trace.result.block)]
    longest = int(trace.waves["instructions"].max()) * max(1, -(-int(np.prod(trace.result.block)) // 32))
    device = lt.Device(processor, watchdog=max(100_000, 10 * longest))
    trials = []
    for chosen in random.integers(0, int(ends[-1]), runs).tolist():
        n = int(np.searchsorted(ends, chosen, "right"))
        event = events[n]
        lanes = [lane for lane in range(64) if int(event["exec"]) >> lane & 1]
        lane, word = random.choice(lanes), random.integers(0, words[int(event["pc"])])
        same = (events["pc"] == event["pc"]) & (events["workgroup"] == event["workgroup"]) & (events["wave"] == event["wave"])
        group = int(event["workgroup"])
        fault = Fault(
            int(event["pc"]), int(word), group % groups[0], group // groups[0] % groups[1], group // groups[0] // groups[1],
            int(event["wave"]), int(lane), int(random.integers(0, 32)), int(same[:n].sum()),
        )  # fmt: skip
        trials.append(_run(device, code, kernel, list(args()), golden, fault, launch))
        if progress is not None:
            progress(len(trials), runs)
    return Campaign(trials, code)


def _run(
    device: Any, code: Any, kernel: str, args: list[Any], golden: list[bytes], fault: Fault, launch: dict[str, Any]
) -> Trial:
    told: dict[str, Any] = {f.name: getattr(fault, f.name) for f in fields(fault)} | {"at": hex(fault.at)}
    tool = FaultInject(**told)
    module: Module = device.load(code, tools=[tool], kernels=[kernel], on_rejected="raise")
    try:
        module.run(kernel, args=args, **launch)
    except DeviceError as error:
        # Of an instruction that cannot go on it is known where; of a launch that does not end there is no such place.
        return Trial(fault, "hang" if error.pc is None else "fault", message=str(error))
    if int(tool.flipped[0]) != 1:
        raise lt.InternalError(f"a fault was made {int(tool.flipped[0])} times, not once: {fault}")
    differ = 0
    for value, before in zip(args, golden):
        after = _bytes(value)
        differ += sum(a != b for a, b in zip(after, before)) if after != before else 0
    return Trial(fault, "wrong" if differ else "masked", differ)


def _bytes(value: Any) -> bytes:
    return value.tobytes() if hasattr(value, "tobytes") else b""
