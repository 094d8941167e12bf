"""Memory, and registers by number: what the pseudocode says with ``MEM[]``, ``VGPR[][]`` and ``SGPR[]``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .syntax import Node, PcodeError
from .values import Value, make, signed, typed


class Storage:
    """The part of the machine that has addresses. ``memory`` is bytes, one row for each element; ``arrays`` are
    registers, one row for each element: lanes of a VGPR by the name that the entry gives it, or ``SGPR``."""

    count: int
    mask: np.ndarray
    memory: np.ndarray | None
    arrays: dict[str, np.ndarray]
    variables: dict[str, Any]

    def evaluate(self, node: Node) -> Value:
        raise NotImplementedError

    def write(self, target: Node, value: Value) -> None:
        raise NotImplementedError

    def memory_index(self, node: Node) -> Node | None:
        if node.kind == "index" and node.parts[0].kind == "name" and node.parts[0].parts[0] in ("MEM", "LDS"):
            return node.parts[1]
        return None

    def load(self, address: Node, width: int) -> Value:
        if self.memory is None:
            raise PcodeError("there is no memory")
        at = np.broadcast_to(signed(self.evaluate(address)), self.count)
        rows, total = np.arange(self.count), np.zeros(self.count, object if width > 64 else np.uint64)
        for k in range(width // 8):
            byte = self.memory[rows, np.where(self.mask, at + k, 0)]
            total = (
                total + byte.astype(object) * (1 << 8 * k) if width > 64 else total | byte.astype(np.uint64) << np.uint64(8 * k)
            )
        return make("B", width, list(total) if width > 64 else total)

    def store(self, address: Node, value: Value) -> None:
        if self.memory is None:
            raise PcodeError("there is no memory")
        at = np.broadcast_to(signed(self.evaluate(address)), self.count)
        rows = np.flatnonzero(self.mask)
        bits = np.broadcast_to(value.bits, self.count)
        for k in range(value.width // 8):
            byte = [int(b) >> 8 * k & 255 for b in bits[rows]]
            self.memory[rows, at[rows] + k] = byte

    def scalar_register(self, node: Node, type_: str) -> np.ndarray | None:
        """The numbers of the SGPRs in ``SGPR[number].b32``."""
        if typed(type_) and node.kind == "index" and node.parts[0] == Node("name", ("SGPR",)):
            return np.broadcast_to(signed(self.evaluate(node.parts[1])), self.count)
        return None

    def is_register(self, node: Node) -> bool:
        return node.parts[0].kind == "index" and node.parts[0].parts[0] == Node("name", ("VGPR",))

    def _register(self, base: Node, register: Node) -> tuple[np.ndarray, str]:
        lane = np.broadcast_to(signed(self.evaluate(base.parts[1])), self.count)
        while register.kind == "member":
            register = register.parts[0]
        return lane, register.parts[0]

    def read_register(self, base: Node, register: Node) -> Value:
        if base.parts[1] == Node("name", ("laneId",)):
            return self.evaluate(Node("name", ({"SRC0": "S0", "VDST": "D0"}[self._register(base, register)[1]],)))
        lane, name = self._register(base, register)
        return make("B", 32, self.arrays[name][np.arange(self.count), lane])

    def write_register(self, base: Node, register: Node, value: Value) -> None:
        if base.parts[1] == Node("name", ("laneId",)):
            self.write(Node("name", ({"SRC0": "S0", "VDST": "D0"}[self._register(base, register)[1]],)), value)
            return
        lane, name = self._register(base, register)
        rows = np.flatnonzero(self.mask)
        self.arrays[name][rows, lane[rows]] = np.broadcast_to(value.bits, self.count)[rows]
