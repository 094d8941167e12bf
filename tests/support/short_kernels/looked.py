"""Launches that are looked at, between others of the same kernel that are not: breakpoints and watches of the debugger,
snapshots of registers, and events."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np

import luthier as lt

from .area import Area
from .values import BEFORE, BEHIND, contents, geometry

#: Stops of a launch that are waited for.
STOPS = 30
#: Scalar registers that hold addresses of the arguments, which are others in each process.
HIDDEN = (0, 1, 50, 51)


class Look:
    """One kernel, one grid, and memory that is the same before each launch."""

    def __init__(self, module: lt.Module, device: lt.Device, area: Area, kernel: str, dimensions: int, of: random.Random):
        self.module, self.kernel, self.random = module, kernel, of
        grid, block = geometry(of, dimensions)
        # Some six workgroups in a dimension, so that stops are not all of the first ones.
        self.grid, self.block = [min(n, 6 * size) for n, size in zip(grid, block)], block
        self.items = int(np.prod(self.grid))
        area.begin()
        whole = BEFORE + 4 * self.items + BEHIND
        self.buffers = [area.take(whole, of.choice((256, 4096))) for _ in range(3)]
        self.contents = [contents(of, whole // 4) for _ in range(3)]
        many = of.choice((self.items, self.items - of.randrange(min(70, self.items))))
        self.args = [np.uint64(device.share(buffer) + BEFORE) for buffer in self.buffers]
        self.args += [np.uint32(n) for n in (of.choice((0, 4, 64)), many, *[*block, 1, 1][:3], *[*self.grid, 1][:2])]
        found = next(k for k in module.code_object.kernels if k.name == kernel)
        self.places = [inst.address for part in found.blocks for inst in part.instructions]

    def again(self) -> dict[str, Any]:
        """The keywords of the next launch."""
        for buffer, numbers in zip(self.buffers, self.contents):
            buffer[: 4 * len(numbers)].view(np.uint32)[:] = numbers
        return {"grid": tuple(self.grid), "block": tuple(self.block), "args": self.args}

    def left(self) -> str:
        return " ".join(hashlib.md5(buffer.tobytes()).hexdigest()[:6] for buffer in self.buffers)

    def run(self) -> str:
        try:
            done = self.module.run(self.kernel, **self.again())
        except lt.DeviceError as error:
            return f"run: {self.left()} {error}"
        return f"run: {self.left()} {done.instructions} instructions, "

    def stops(self) -> str:
        """At breakpoints, some of them with conditions, and at accesses to words that lanes load or store."""
        of, told = self.random, list[str]()
        with self.module.debug(self.kernel, **self.again()) as stage:
            for place in of.sample(self.places, min(len(self.places), of.randrange(1, 4))):
                stage.break_at(place, of.choice([None, None, "group % 2 == 1", "exec & 6 == 6", "v[3][1] > 40"]))
            for _ in range(of.randrange(3)):
                at = int(self.args[of.choice((0, 1, 1, 2))]) + 4 * of.randrange(self.items)
                stage.watch(address=at, size=of.choice((4, 4, 1, 8)), on=of.choice(("read", "write", "access", "change")))
            for _ in range(STOPS):
                stop = stage.resume()
                told.append(f"{stop.why} {stop.event} {stop.pc} {stop.access} {stop.error or ''}")
                if stop.wave is not None:
                    told[-1] += f" {stop.wave.workgroup} {stop.wave.number} {stop.wave.pc:#x}"
                    told[-1] += f" {registers(stop.wave.registers)}" if stop.why != "failed" else ""
                if stop.why in ("over", "failed"):
                    break
            else:
                stage.goto(stage.event // 2)
                told.append(" ".join(f"{wave.id} {wave.pc:#x} {registers(wave.registers)}" for wave in stage.waves[:3]))
        return f"stops: {self.left()} " + "; ".join(told)

    def watched(self) -> str:
        """With snapshots and events."""
        of = self.random
        some = of.sample(self.places, min(len(self.places), of.randrange(3)))
        events = of.choice([["memory"], ["blocks"], ["memory", "instructions"], []])
        try:
            trace = self.module.trace(self.kernel, snapshots=some, events=events, **self.again())
        except lt.DeviceError as error:
            return f"trace: {self.left()} {error}"
        taken = [f"{s.workgroup} {s.wave} {s.pc:#x} {registers(s.registers)}" for s in trace.snapshots]
        kept = [hashlib.md5(getattr(trace, kind).tobytes()).hexdigest()[:6] for kind in events]
        return f"trace: {self.left()} {sorted(trace.counts.items())} {kept} {'; '.join(taken)}"


def registers(held: Any) -> str:
    """All that a wave holds, but for addresses of the process."""
    scalars = np.delete(held.sgprs[:96], HIDDEN)
    known = [scalars.tobytes(), held.vgprs.tobytes(), f"{held.exec} {held.vcc} {held.m0} {held.scc} {held.mode}".encode()]
    return " ".join(hashlib.md5(some).hexdigest()[:6] for some in known)


def launch(module: lt.Module, device: lt.Device, area: Area, kernel: str, dimensions: int, of: random.Random) -> str:
    look = Look(module, device, area, kernel, dimensions, of)
    ways = of.sample([look.stops, look.watched], 2)
    told = [look.run(), ways[0](), look.run(), ways[1](), look.run()]
    return f"{kernel}, {look.grid} of {look.block}: " + " | ".join(told)
