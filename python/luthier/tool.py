"""The base of every tool."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .values import Variable

if TYPE_CHECKING:
    from .kernel import Kernel
    from .report import Report


class Tool:
    """What to insert, and what to make of the result.

    A subclass declares its device variables and hooks, places the hooks in :meth:`on_kernel`, and reads the variables
    back in :meth:`on_exit`. One instance serves one loaded code object, over all launches of its kernels: what it
    counts adds up.

    Arguments of ``__init__`` are the tool's options (``--tool NAME:option=value`` on the command line); they need
    defaults, and their annotations ``int``, ``float``, ``bool`` and ``str`` say how to read the text.
    """

    #: What the results go by; the class's name in lower case by default.
    name: str = "tool"

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def on_kernel(self, kernel: Kernel) -> None:
        """Called once for each kernel, before its first launch: insert hooks here."""

    def on_exit(self, report: Report) -> None:
        """Called when the results are wanted: set ``report.result``, add tables."""

    def variables(self) -> list[Variable]:
        """Every device variable that is an attribute of this instance or its class, in order of declaration."""
        names = {n: None for c in reversed(type(self).__mro__) for n, v in vars(c).items() if isinstance(v, Variable)}
        found = [getattr(self, n) for n in names]
        return found + [v for v in vars(self).values() if isinstance(v, Variable) and all(v is not f for f in found)]
