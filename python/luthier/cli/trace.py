"""``luthier trace --mock``: a program that uses HIP or HSA, unchanged, on mock GPUs."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from .argspec import parse_number

_DRIVER = Path(__file__).resolve().parent.parent / "driver"
# Programs that look for the kernel's driver themselves, before they ask the runtime.
_LOOK_FOR_DRIVER = ("rocminfo",)


def main(args: Any) -> int:
    """Becomes the program: its exit status, signals and standard streams are its own."""
    if not args.app:
        raise ArgumentError("nothing to run: luthier trace --mock gfx90a -- APP ARGS")
    program = shutil.which(args.app[0])
    if program is None:
        raise ArgumentError(f"{args.app[0]}: there is no such program")
    _check_devices(args.mock)
    library = _DRIVER / "libhsakmt.so.1"
    if not library.exists():
        raise ArgumentError(f"{library} is missing: `make driver` builds it, and wheels have it")
    environment = variables(args, os.environ)
    sys.stdout.flush()
    sys.stderr.flush()
    # What Python ignores the program would ignore too.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execve(program, args.app, environment)


# What ROCr 5.2.3 and the mock device both know; the driver has the same list.
_TARGETS = (
    "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx90a", "gfx90c", "gfx1010", "gfx1011", "gfx1012", "gfx1013",
    "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035",
)  # fmt: skip


def _check_devices(text: str) -> None:
    target, comma, count = text.partition(",")
    if target not in _TARGETS:
        raise ArgumentError(f"--mock {text}: the mock driver cannot be {target}; it can be {', '.join(_TARGETS)}")
    if comma and count not in map(str, range(1, 9)):
        raise ArgumentError(f"--mock {text}: behind the comma is the number of GPUs, from 1 to 8")


def variables(args: Any, inherited: Any) -> dict[str, str]:
    """The environment in which a program finds the mock GPUs."""
    made = dict(inherited)
    made["LUTHIER_MOCK"] = args.mock
    _prepend(made, "LD_LIBRARY_PATH", _DRIVER, ":")
    # Newer runtimes have a thunk of their own inside and look for this one only if they are told to.
    made["HSA_ENABLE_DTIF"] = "1"
    if args.kfd or Path(args.app[0]).name in _LOOK_FOR_DRIVER:
        _prepend(made, "LD_PRELOAD", _DRIVER / "libluthier-kfd.so", ":")
    for option, name in (("memory", "LUTHIER_MOCK_MEMORY"), ("cus", "LUTHIER_MOCK_CUS"), ("threads", "LUTHIER_THREADS")):
        if (value := getattr(args, option)) is not None:
            made[name] = value
    if args.watchdog is not None:
        made["LUTHIER_WATCHDOG"] = str(parse_number("--watchdog", args.watchdog, "instructions"))
    if args.copies is not None:
        if args.copies not in ("driver", "kernels"):
            raise ArgumentError(f"--copies {args.copies}: HIP's copies are done by driver or kernels")
        made["LUTHIER_MOCK_COPIES"] = args.copies
    if args.apu:
        made["LUTHIER_MOCK_APU"] = "1"
    if args.log:
        made["LUTHIER_MOCK_LOG"] = "1"
    if args.strict_kinds is not None:
        from .run import parse_kinds

        parse_kinds(args.strict_kinds)
        made["LUTHIER_STRICT"] = args.strict_kinds
    elif args.strict:
        made["LUTHIER_STRICT"] = "1"
    if "LUTHIER_STRICT" in made:
        # The runtime gives out pieces of larger blocks; without that, every allocation has its own bounds.
        made.setdefault("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1")
    return made


def _prepend(variables: dict[str, str], name: str, value: Path, separator: str) -> None:
    old = variables.get(name)
    variables[name] = f"{value}{separator}{old}" if old else str(value)
