"""Kernels over and over, of many processors, whose blocks change between micro-ops and native code at random moments: started
by tests/device/test_native_soak.py with ``LUTHIER_NATIVE=random:SEED``.

``python -m soak SECONDS SEED`` prints how many launches there were. A launch computes what NumPy says, and takes as many
instructions as it does in strict mode, which has no native code.
"""

from __future__ import annotations

import random
import sys
import time

import compiled
import kernel_cases

import luthier as lt

PROCESSORS = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"]
LEVELS = ["O1", "O3"]


class Case:
    """A kernel file for a processor."""

    def __init__(self, processor: str, name: str, level: str):
        self.name = name
        self.code = lt.CodeObject.open(compiled.code_object(name, level, target=processor))
        self.processor = processor
        self.wanted = self.launch(lt.Device(processor, threads=1), strict=True)

    def launch(self, device: lt.Device, **how) -> list[int]:
        """Instructions of each launch, whose results are right."""
        module, counts = device.load(self.code), []
        for one in kernel_cases.launches(self.name):
            counts.append(module.run(one.kernel, grid=one.grid, block=one.block, args=one.args, **how).instructions)
            one.check(one.args)
        return counts

    def again(self, numbers: random.Random) -> None:
        schedule = numbers.choice([None, None, "alternate", f"random:{numbers.randrange(1000)}"])
        device = lt.Device(self.processor, threads=numbers.choice([1, 2, 4]))
        counts = self.launch(device, schedule=schedule)
        assert counts == self.wanted, f"{self.name} of {self.processor}, {schedule}: {counts}, not {self.wanted} instructions"


def soak(seconds: float, seed: int) -> int:
    numbers = random.Random(seed)
    names = [(processor, name, level) for processor in PROCESSORS for name in kernel_cases.CASES for level in LEVELS]
    numbers.shuffle(names)
    end, cases, launches = time.monotonic() + seconds, [], 0
    while time.monotonic() < end or launches < 10:
        if names and numbers.random() < 0.1 or not cases:
            cases.append(Case(*names.pop()))
        numbers.choice(cases).again(numbers)
        launches += 1
    return launches


if __name__ == "__main__":
    print(soak(float(sys.argv[1]), int(sys.argv[2])))
