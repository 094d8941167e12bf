"""What stands in for streams, events, graphs and generators of a GPU on which everything is done at once."""

from __future__ import annotations

import time
from typing import Any

import torch

from ..errors import ArgumentError
from .host import CUDA


class Quiet:
    """A stream, a graph, a device: everything that it is asked to do is done already."""

    cuda_stream = 0
    device = CUDA

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *args: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> Any:
        event = event or Event()
        event.record()
        return event

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False


class Philox:
    """The generator of a GPU for kernels that count what they use of it: a seed and an offset. (torch's own random numbers
    are the CPU's.)"""

    def __init__(self) -> None:
        self._state = [0, 0]

    def manual_seed(self, seed: int) -> Philox:
        self._state = [seed, 0]
        return self

    def initial_seed(self) -> int:
        return self._state[0]

    def get_state(self) -> Any:
        return torch.tensor(self._state, dtype=torch.int64).view(torch.uint8)

    def set_state(self, state: Any) -> None:
        self._state = state.view(torch.int64).tolist()


class NoGraph:
    """torch's own operators run at once and cannot be recorded, so that a graph would repeat only a part."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise ArgumentError("the mock device has no graphs (torch.cuda.CUDAGraph): run the kernels without capturing them")


class Event(Quiet):
    """An event, timed by the host's clock."""

    def record(self, stream: Any = None) -> None:
        self._at = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        return float((other._at - self._at) * 1e3)
