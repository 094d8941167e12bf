"""Random programs on the host and on the mock device, compiled by clang for both, and compared bit for bit."""

from __future__ import annotations

import ctypes
import hashlib
import os
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import kept_builds
import numpy as np

import luthier as lt

from .model import Program, source

FOLDER = Path(__file__).parent
TARGETS = [
    "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx1250",
]  # fmt: skip
LEVELS = ["O0", "O1", "O2", "O3"]
COMMON = ["-std=c++20", "-w", "-fno-strict-aliasing", "-ffp-contract=off", f"-I{FOLDER}"]
#: What only the host is told: each operation on f16 is rounded to it, also inside of an expression, as on every GPU.
HOST = ("-fexcess-precision=16",)
#: How the host computes: as the source says, for the optimiser is among what is tried.
REFERENCE = ("-O0",)
INPUTS, ROW, OUTPUTS = 8, 8, 24
ROWS = 300


@dataclass(frozen=True)
class Build:
    """What a source is compiled for. f32 and f64 have denormals, division and roots are IEEE's: HIP's defaults."""

    target: str
    level: str
    wave: int
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.target, self.level, f"wave{self.wave}", *self.flags])


def build(target: str, level: str, seed: int) -> Build:
    """A build with what else may be chosen there: the waves' size, the instruction selector, a shortage of registers."""
    rng = random.Random(f"build {target} {level} {seed}")
    rdna = target.startswith(("gfx10", "gfx11", "gfx120"))
    wave = rng.choice([32, 64]) if rdna else 32 if target == "gfx1250" else 64
    flags = ["-mwavefrontsize64"] if rdna and wave == 64 else []
    if level != "O0" and rng.random() < 0.4:
        flags.append("-DSPILL")
    if rng.random() < 0.25:
        flags.append("-fglobal-isel")
    if rdna and rng.random() < 0.4:
        flags.append("-mcumode")
    return Build(target, level, wave, tuple(flags))


class CompilerError(Exception):
    """clang has not compiled a program that the host's clang does compile."""


@dataclass
class Difference:
    program: str
    item: int
    where: str
    host: int
    device: int
    #: How many work-items differ.
    items: int
    error: str = ""

    def __str__(self) -> str:
        if self.error:
            return f"{self.program}: {self.error}"
        return f"{self.program}: item {self.item}, {self.where}: host {self.host:#x}, device {self.device:#x} ({self.items} items differ)"


@dataclass
class Outcome:
    elements: int = 0
    differences: list[Difference] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)


def rows_of(seed: int, count: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of the work-items, and their rows of memory: integers of all sizes, floats of all types, some alike."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(0, 1 << 64, (count, INPUTS), dtype=np.uint64)
    inputs[:, 1] >>= rng.integers(0, 64, count, dtype=np.uint64)
    inputs[:, 2] = rng.choice(np.array([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 255, 0x7FFFFFFF80000000], np.uint64), count)
    inputs[:, 3] = rng.integers(-20, 20, count).astype(np.int64).view(np.uint64)
    inputs[:, 4] = (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 7, count)).view(np.uint64)
    inputs[:, 5] = rng.standard_normal((count, 2)).astype(np.float32).view(np.uint64)[:, 0]
    inputs[:, 6] = (rng.standard_normal((count, 4)) * 30).astype(np.float16).view(np.uint64)[:, 0]
    inputs[:, 7] = np.repeat(rng.integers(0, 1 << 64, count // 64 + 1, dtype=np.uint64), 64)[:count]
    return inputs, rng.integers(0, 1 << 64, (count, ROW), dtype=np.uint64)


class Sources:
    """The programs of a seed as one source text, and what they compute on the host."""

    def __init__(self, folder: Path, seed: int, programs: list[Program]):
        self.folder = folder
        self.seed = seed
        self.programs = programs
        text = source(programs)
        self.name = f"seed{seed}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        self.path = folder / f"{self.name}.cpp"
        self.path.write_text(text)
        self.inputs, self.memory = rows_of(seed)
        self.uniform = random.Random(seed).getrandbits(64)
        self._host: dict[tuple[str, ...], ctypes.CDLL] = {}
        self._results: dict[tuple[str, int], tuple[np.ndarray, np.ndarray]] = {}

    def apart(self) -> list[Sources]:
        """Each program alone, where there are several: what clang cannot compile may be one of them."""
        return [Sources(self.folder, self.seed, [one]) for one in self.programs] if len(self.programs) > 1 else []

    def groups(self, program: Program) -> int:
        return -(-min(ROWS, 4 * program.block + 40) // program.block)

    def count(self, program: Program) -> int:
        """How many work-items have a row: the last workgroup is left partly without."""
        return max(1, min(ROWS, self.groups(program) * program.block) - 13)

    def host(self, flags: tuple[str, ...] = REFERENCE) -> ctypes.CDLL:
        if flags not in self._host:
            out = self.folder / f"{self.name}{''.join(flags)}.so"
            command = ["clang-22", "-x", "c++", "-shared", "-fPIC", *COMMON, *HOST, *flags, str(self.path), "-lm"]
            kept_builds.make(command, out)
            self._host[flags] = ctypes.CDLL(str(out))
        return self._host[flags]

    def _buffers(self, program: Program) -> tuple[np.ndarray, np.ndarray]:
        items = max(ROWS, self.groups(program) * program.block)
        memory = np.zeros((items, ROW), np.uint64)
        memory[:ROWS] = self.memory
        return memory, np.zeros((items, OUTPUTS), np.uint64)

    def expected(self, program: Program, wave: int, flags: tuple[str, ...] = REFERENCE) -> tuple[np.ndarray, np.ndarray]:
        key = (program.name, wave)
        if flags != REFERENCE or key not in self._results:
            memory, out = self._buffers(program)
            pointers = [ctypes.c_void_p(a.ctypes.data) for a in (self.inputs, memory, out)]
            function = getattr(self.host(flags), program.name)
            function(*pointers, ctypes.c_uint64(self.uniform), self.count(program), self.groups(program), wave)
            if flags != REFERENCE:
                return memory, out
            self._results[key] = memory, out
        return self._results[key]

    def well_defined(self, program: Program) -> bool:
        """Whether the host's clang computes the same whatever it does, and finds nothing undefined on the way."""
        trapping = ("-O0", "-fsanitize=undefined", "-fsanitize-trap=undefined")
        want = self.expected(program, 32)
        for flags in (trapping, ("-O1",), ("-O3", "-march=x86-64-v3")):
            self.host(flags)
            child = os.fork()
            if not child:
                got = self.expected(program, 32, flags)
                os._exit(0 if all(np.array_equal(a, b) for a, b in zip(want, got, strict=True)) else 1)
            if os.waitpid(child, 0)[1]:
                return False
        return True

    def compile(self, what: Build) -> Path:
        out = self.folder / f"{self.name}_{str(what).replace(' ', '')}.hsaco"
        command = [
            "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={what.target}",
            "--no-gpu-bundle-output", *COMMON, f"-{what.level}", f"-DWAVE={what.wave}", *what.flags, str(self.path),
        ]  # fmt: skip
        try:
            kept_builds.make(command, out, timeout=300)
        except subprocess.TimeoutExpired as error:
            raise CompilerError("no end after 300 seconds") from error
        except subprocess.CalledProcessError as error:
            raise CompilerError(first_error(error.stderr)) from error
        return out

    def run(self, what: Build, path: Path, strict: bool | Sequence[str] = False, threads: int = 1) -> Outcome:
        """All programs on the device."""
        module = lt.Device(what.target, threads=threads).load(path)
        outcome = Outcome()
        for program in self.programs:
            want = self.expected(program, what.wave)
            got = self._buffers(program)
            args = [self.inputs, *got, np.uint64(self.uniform), np.uint32(self.count(program))]
            grid = self.groups(program) * program.block
            try:
                result = module.run(program.name, grid=grid, block=program.block, args=args, strict=strict)
            except lt.LuthierError as error:
                outcome.differences.append(Difference(program.name, 0, "", 0, 0, 0, str(error)))
                continue
            outcome.findings += [f"{program.name}: {finding}" for finding in result.findings]
            outcome.elements += sum(self.count(program) * a.shape[1] for a in want)
            outcome.differences += [
                one for k, name in enumerate(("row", "out")) for one in compare(program.name, name, want[k], got[k])
            ]
        return outcome


def compare(program: str, name: str, want: np.ndarray, got: np.ndarray) -> list[Difference]:
    items, columns = np.nonzero(want != got)
    if not len(items):
        return []
    at = items[0], columns[0]
    return [Difference(program, int(at[0]), f"{name}[{at[1]}]", int(want[at]), int(got[at]), len(set(items.tolist())))]


def first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    telling = [line for line in lines if "error:" in line or "LLVM ERROR" in line or "Assertion" in line or "UNREACHABLE" in line]
    return (telling or lines or ["clang failed without a word"])[0][:300]
