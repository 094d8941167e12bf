"""Programs of HIP's and HSA's on mock GPUs: what the GPUs are like, and how a program is started so that it finds them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import ArgumentError
from .argspec import parse_number
from .rocm import OF_LOADER, choose, find
from .surroundings import lead_to_files, prepend, stand_around_rocm7

DRIVER = Path(__file__).resolve().parent.parent / "driver"
# Programs that look for the kernel's driver themselves, before they ask the runtime.
_LOOK_FOR_DRIVER = ("rocminfo",)
_SCHEDULES = re.compile(r"fair|alternate|random:\d{1,19}")


@dataclass(frozen=True)
class MockGpus:
    """Mock GPUs as options of the command line have them; none without ``mock`` or ``card``."""

    #: ``TARGET`` or ``TARGET,N``, and the name of a card.
    mock: str | None = None
    card: str | None = None
    #: Of each GPU: memory, compute units. Workers of a launch.
    memory: str | None = None
    cus: str | None = None
    threads: str | None = None
    #: How the waves of a launch take turns.
    schedule: str | None = None
    #: Instructions of a workgroup after which a kernel is given up.
    watchdog: str | None = None
    #: Who does HIP's copies: ``driver`` or ``kernels``.
    copies: str | None = None
    #: The program looks for the kernel's driver itself.
    kfd: bool = False
    #: One device that shares the host's memory.
    apu: bool = False
    log: bool = False
    #: Launches are judged, by all usual kinds of findings or by these.
    strict: bool = False
    strict_kinds: str | None = None

    @classmethod
    def of(cls, args: Any) -> MockGpus:
        """Those of a command's options; a command need not have all."""
        return cls(**{field.name: getattr(args, field.name) for field in fields(cls) if hasattr(args, field.name)})

    def __bool__(self) -> bool:
        return self.mock is not None or self.card is not None

    @property
    def is_strict(self) -> bool:
        """Launches are judged."""
        return self.strict or self.strict_kinds is not None

    def check(self) -> None:
        """ArgumentError for what the GPUs cannot be."""
        if self.mock is not None:
            target, comma, count = self.mock.partition(",")
            if target not in _core.TARGETS:
                raise ArgumentError(
                    f"--mock {self.mock}: the mock driver cannot be {target}; it can be {', '.join(_core.TARGETS)}"
                )
            if comma and count not in map(str, range(1, 9)):
                raise ArgumentError(f"--mock {self.mock}: behind the comma is the number of GPUs, from 1 to 8")
        library = DRIVER / "libhsakmt.so.1"
        if self and not library.exists():
            raise ArgumentError(f"{library} is missing: `make driver` builds it, and wheels have it")
        sizes = {"--as": self.card, "--mock": self.mock, "--cus": self.cus, "--memory": self.memory}
        if self:
            _check_sizes({option: value for option, value in sizes.items() if value is not None})
        if self.schedule is not None and not _SCHEDULES.fullmatch(self.schedule):
            raise ArgumentError(f"--schedule {self.schedule}: programs run under fair, alternate or random:SEED")

    def variables(self, inherited: Mapping[str, str], program: str) -> dict[str, str]:
        """The environment in which a program of this name finds them."""
        made = dict(inherited)
        if not self:
            return made
        if self.mock is not None:
            made["LUTHIER_MOCK"] = self.mock
        if self.card is not None:
            made["LUTHIER_MOCK_AS"] = self.card
        prepend(made, "LD_LIBRARY_PATH", DRIVER, ":")
        # Newer runtimes have a thunk of their own inside and look for this one only if they are told to.
        made["HSA_ENABLE_DTIF"] = "1"
        named = {"LUTHIER_MOCK_MEMORY": self.memory, "LUTHIER_MOCK_CUS": self.cus, "LUTHIER_THREADS": self.threads}
        made |= {name: value for name, value in named.items() if value is not None}
        if self.schedule is not None:
            made["LUTHIER_SCHEDULE"] = self.schedule
        if self.watchdog is not None:
            made["LUTHIER_WATCHDOG"] = str(parse_number("--watchdog", self.watchdog, "instructions"))
        if self.copies is not None:
            if self.copies not in ("driver", "kernels"):
                raise ArgumentError(f"--copies {self.copies}: HIP's copies are done by driver or kernels")
            made["LUTHIER_MOCK_COPIES"] = self.copies
        if self.apu:
            made["LUTHIER_MOCK_APU"] = "1"
        if self.kfd or Path(program).name in _LOOK_FOR_DRIVER:
            lead_to_files(made)
        if self.log:
            made["LUTHIER_MOCK_LOG"] = "1"
        if self.strict_kinds is not None:
            from .run import parse_kinds

            parse_kinds(self.strict_kinds)
            made["LUTHIER_STRICT"] = self.strict_kinds
        elif self.strict:
            made["LUTHIER_STRICT"] = "1"
        if "LUTHIER_STRICT" in made:
            # The runtime gives out pieces of larger blocks; without that, every allocation has its own bounds.
            made.setdefault("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1")
            # As a tool of the runtime's, the driver hears the sizes that the program asks for.
            prepend(made, "HSA_TOOLS_LIB", DRIVER / "libhsakmt.so.1", " ")
        return made


@dataclass(frozen=True)
class Program:
    """What is started: the path, the words of its command line and its environment."""

    path: str
    words: list[str]
    environment: dict[str, str]

    @classmethod
    def on(
        cls,
        gpus: MockGpus,
        app: Sequence[str],
        environment: Mapping[str, str],
        *,
        rocm: str | None = None,
        preload: Sequence[str] = (),
        by_hand: bool = False,
    ) -> Program:
        """A program and its arguments, ``app``, on mock GPUs or, if there are none, the machine's; on the ROCm in a folder, if
        one is named; with libraries that are loaded before its own. ``by_hand``: a shell starts it, so that there is no path."""
        gpus.check()
        chosen = None if rocm is None else find(rocm, environment)
        path = ""
        if not by_hand:
            found = (chosen.which(app[0]) if chosen is not None else None) or shutil.which(app[0])
            if found is None:
                raise ArgumentError(f"{app[0]}: there is no such program")
            path = found
        # What `luthier trace` was itself started by is not for the program.
        inherited = {name: value for name, value in environment.items() if name not in OF_LOADER}
        made = gpus.variables(inherited, app[0] if app else "")
        for library in preload:
            if not os.path.isfile(library):
                raise ArgumentError(f"--preload {library}: there is no such file")
        preloaded = [Path(os.path.abspath(library)) for library in preload]
        chosen, polls = choose(rocm, path, made, bool(gpus))
        if by_hand and chosen is not None and chosen.loader is not None:
            raise ArgumentError(
                f"--serve: programs on {chosen.folder} are started by its own loader, which a shell cannot be told"
            )
        if polls and gpus.apu:
            raise ArgumentError("--apu: an APU is not modelled for ROCm 7, whose runtime wants memory that only GPUs have")
        if chosen is None or chosen.loader is None:
            for file in reversed(preloaded):
                prepend(made, "LD_PRELOAD", file, ":")
        if polls:
            stand_around_rocm7(made, chosen)
        words = list(app)
        if chosen is not None:
            path, words, made = chosen.start(path, words, made, DRIVER, preloaded)
        return cls(path, words, made)


def _check_sizes(options: Mapping[str, str]) -> None:
    """That the driver can have GPUs of these options and values: it knows the cards."""
    import ctypes

    library = ctypes.CDLL(str(DRIVER / "libhsakmt.so.1"))
    library.luthierCheckOptions.restype = ctypes.c_char_p
    wrong = library.luthierCheckOptions("\n".join(f"{option} {value}" for option, value in options.items()).encode())
    if wrong is not None:
        raise ArgumentError(wrong.decode())
