"""What an operator's case is: tensors that a library's kernels made, and those that torch made of the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Operator:
    library: str
    name: str
    #: Gives what the library made, and what torch did.
    run: Callable[[], tuple[Any, Any]]
    #: Relative and absolute, as torch.testing.assert_close has them.
    tolerance: tuple[float, float]

    def check(self) -> None:
        torch.manual_seed(7)
        got, want = self.run()
        for one, other in zip(tensors(got), tensors(want), strict=True):
            rtol, atol = self.tolerance
            torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True, check_dtype=True)


def tensors(values: Any) -> Iterable[torch.Tensor]:
    """Those of a result, which is one, several, or a number."""
    if isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors(value)
    elif values is not None:
        yield torch.as_tensor(values)


OPERATORS: list[Operator] = []


def operator(library: str, name: str, run: Callable[[], tuple[Any, Any]], rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Registers a case."""
    OPERATORS.append(Operator(library, name, run, (rtol, atol)))
