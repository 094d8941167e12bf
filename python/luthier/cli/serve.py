"""``luthier trace --serve``: tools over programs that others start."""

from __future__ import annotations

import contextlib
import os
import shlex
from typing import TYPE_CHECKING

from ..agent.program_signals import Waiting
from ..base.signals import Terminated

if TYPE_CHECKING:
    from ..agent.controller import Controller


def serve(controller: Controller, path: str, environment: dict[str, str]) -> None:
    """Writes what a shell is to set into a file, ``-`` for standard output, and waits for an interrupt or for termination.
    The file is there when programs can be started, and gone at the end."""
    made = controller.variables(environment)
    lines = [f"export {n}={shlex.quote(v)}\n" for n, v in sorted(made.items()) if os.environ.get(n) != v]
    if path == "-":
        print("".join(lines), end="", flush=True)
    else:
        _write(path, "".join(lines))
    controller.allow_files()
    controller.warm_up()
    with contextlib.suppress(KeyboardInterrupt, Terminated):
        with Waiting() as waiting:
            while True:
                waiting.wait()
    if path != "-":
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    controller.settle(lambda: True)


def _write(path: str, text: str) -> None:
    from ..base.outputs import Outputs

    with Outputs() as outputs:
        outputs.open(path).write(text.encode())
        outputs.commit()
