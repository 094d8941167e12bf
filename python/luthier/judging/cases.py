"""What is judged, and with which arguments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ..objects.code_object import CodeObject


@dataclass(frozen=True)
class Code:
    """A kernel of machine code: a code object or file with one for each target, or a dict of them by target."""

    source: str | os.PathLike[str] | CodeObject | dict[str, Any]
    kernel: str

    def of(self, target: str) -> Any:
        """What is loaded on a device."""
        return self.source[target] if isinstance(self.source, dict) else self.source


@dataclass(frozen=True)
class Case:
    """The arguments of one launch. NumPy arrays are buffers; those at ``outputs`` are what the kernel is to write, in full.

    ``grid``, ``blocks``, ``block`` and ``lds`` are those of a launch (:class:`luthier.LaunchKeywords`), of a :class:`Code`.
    """

    args: Sequence[Any]
    outputs: Sequence[int]
    blocks: int | Sequence[int] | None = None
    block: int | Sequence[int] | None = None
    grid: int | Sequence[int] | None = None
    lds: int = 0
    #: More keywords of the launch.
    launch: dict[str, Any] = field(default_factory=dict)


#: What makes a case: gets the size, the name of the type, and a NumPy random generator.
MakeCase: TypeAlias = "Any"
