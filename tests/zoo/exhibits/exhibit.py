"""What an exhibit is, how its two kernels are built and launched, and which lines a finding may name."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kept_builds
import numpy as np

import luthier as lt
from luthier.replay import Compared, Way, compare, record
from luthier.reports.findings import Finding

FOLDER = Path(__file__).resolve().parents[1]
ROOT = FOLDER.parents[1]
KERNELS = FOLDER / "kernels"
#: Those with which kernels that suit every processor are tried.
ALL: tuple[str, ...] = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
#: Instructions of one workgroup: more than any exhibit needs that ends.
WATCHDOG = 100_000


@dataclass(frozen=True)
class Launch:
    """How an exhibit is launched, and what the mended kernel leaves."""

    args: list[Any]
    #: By the number of an argument: what is in that array afterwards. Of floats, within a few units in the last place.
    expected: dict[int, np.ndarray]
    blocks: int = 1
    block: int = 128
    #: What is compared of an array, if it is not the array itself.
    view: Callable[[np.ndarray], np.ndarray] = np.asarray
    #: Further keywords of the launch, and of the mended kernel's.
    more: dict[str, Any] = field(default_factory=dict)
    more_if_mended: dict[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """AssertionError where an array is not what it should be."""
        for number, values in self.expected.items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(self.view(self.args[number]), values, rtol=1e-5, atol=1e-4)
            else:
                np.testing.assert_array_equal(self.view(self.args[number]), values)


@dataclass(frozen=True)
class Exhibit:
    """A published bug, made again: a kernel with it and one without."""

    #: Of the kernel's file, and of the section in docs/bugs.md.
    name: str
    #: Where it was published, the place where it was mended last.
    sources: tuple[str, ...]
    #: What went wrong, where, and how it was mended, in a few sentences.
    story: str
    #: What other tools would have seen of it.
    others: str
    launch: Callable[[], Launch] = field(repr=False)
    targets: tuple[str, ...] = ALL
    #: What is looked for; True for strict mode's usual kinds.
    strict: Any = True
    #: Options of clang.
    flags: tuple[str, ...] = ()
    #: Strict mode does not see it, and why; None where it does.
    missed: str | None = None
    #: The kernel never ends: the watchdog stops it, under one of this many schedules at the latest. 0: it ends.
    stops_within: int = 0
    #: What the kernel does is allowed and wrong: it is found by running the mended code on the same launch.
    is_compared: bool = False

    @property
    def path(self) -> Path:
        """The kernel's source."""
        return KERNELS / f"{self.name}.hip"

    def marks(self) -> dict[int, set[str]]:
        """The kinds of findings that the kernel's lines may have, by line."""
        return marks(self.path)

    def run(self, target: str, mended: bool, **how: Any) -> tuple[Launch, list[Finding]]:
        """Launches one of the two kernels in strict mode, and gives what it was launched with, and the findings."""
        launch = self.launch()
        module = lt.Device(target, threads=1, watchdog=WATCHDOG).load(build(self.path, target, mended, self.flags))
        more = {"strict": self.strict, **launch.more, **(launch.more_if_mended if mended else {}), **how}
        result = module.run("exhibit", blocks=launch.blocks, block=launch.block, args=launch.args, **more)
        return launch, result.findings

    def compare(self, target: str) -> Compared:
        """Runs both kernels on one recorded launch of the one with the bug."""
        launch, (wrong, right) = self.launch(), (build(self.path, target, mended, self.flags) for mended in (False, True))
        module = lt.Device(target, threads=1).load(wrong)
        case = record(module, "exhibit", blocks=launch.blocks, block=launch.block, args=launch.args)
        return compare(case, lt.CodeObject.open(right), Way(threads=1))


def marks(path: Path) -> dict[int, set[str]]:
    """Of a source file: the kinds in comments `// found: KIND | KIND` by line."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if (mark := re.search(r"(?://|#) found: ([a-z |-]+)$", line)) is not None:
            found[number] = set(mark[1].split(" | "))
    return found


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="luthier-zoo-")


@functools.cache
def build(path: Path, target: str, mended: bool, flags: tuple[str, ...] = ()) -> Path:
    """The code object of a kernel, with line numbers."""
    out = Path(_folder().name) / f"{path.stem}{'-mended' if mended else ''}-{target}.hsaco"
    command = [
        "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={target}", "-O2", "-g",
        "--no-gpu-bundle-output", "-ffp-contract=off", *flags, *(["-DMENDED"] if mended else []),
        "-include", "tests/kernels/gpu.h", str(path.relative_to(ROOT)),
    ]  # fmt: skip
    kept_builds.make(command, out)
    return out


def line_of(frames: list[dict[str, Any]], path: Path) -> int:
    """The line of a file where an instruction is: of what is inlined there, the line of the call; 0 if it is elsewhere."""
    return next((frame["line"] for frame in frames if frame["file"].endswith(path.name)), 0)


def places(findings: list[Finding], path: Path) -> set[tuple[int, str]]:
    """The line and kind of each finding."""
    return {(line_of(finding["source"], path), finding["kind"]) for finding in findings}


def said(finding: Finding, path: Path) -> str:
    """A finding in one line, as it is whenever and wherever the exhibit is run."""
    text = f"{finding['kind']}: {finding['message']}: {finding['text']} at {path.name}:{line_of(finding['source'], path)}"
    if (other := finding["other"]) is not None:
        text += f"; the other is {other['text']} at {path.name}:{line_of(other['source'], path)}"
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)


def u32(*shape: int, start: int = 0) -> np.ndarray:
    """Numbers from ``start`` on."""
    return np.arange(start, start + int(np.prod(shape)), dtype=np.uint32).reshape(shape)


def zeros(*shape: int, of: Any = np.uint32) -> np.ndarray:
    """An array to write to."""
    return np.zeros(shape, of)
