"""The arrays among a kernel's arguments: what they are called, where they are, and what is in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...objects.parameters import Declared, declared
from ..arguments import Place
from .lines import Lines

if TYPE_CHECKING:
    import numpy

#: What a recorded launch calls the memory of an argument.
_ARGUMENT = re.compile(r"argument (\d+)(?: '(\w+)')?")


def _index(place: Place) -> int | None:
    """Which argument's array a place is; in a recorded launch the name of it says so."""
    recorded = _ARGUMENT.match(place.what)
    return place.index if place.index >= 0 else int(recorded[1]) if recorded is not None else None


def dtype_of(given: Any) -> numpy.dtype | None:
    """NumPy's type of an array's or a tensor's elements, their bits where NumPy has none; None for what is neither."""
    import numpy

    whole = getattr(given, "__luthier_array__", given)
    dtype = getattr(whole, "dtype", None)
    if dtype is None or isinstance(dtype, numpy.dtype):
        return dtype
    try:
        return numpy.dtype(str(dtype).rpartition(".")[2])
    except TypeError:
        return numpy.dtype(f"u{dtype.itemsize}")


class Arrays:
    """Those of a launch: ``places`` are where memory is, ``given`` the arguments as the caller has them."""

    def __init__(self, lines: Lines, kernel: str, places: Sequence[Place], given: Sequence[Any]):
        self._lines, self._kernel, self._places, self._given = lines, kernel, places, list(given)

    @cached_property
    def _args(self) -> list[Any]:
        facts = self._lines.code_object.core.kernel(self._kernel) or {}
        return [arg for arg in facts.get("args") or () if not arg["hidden"]]

    @cached_property
    def _declared(self) -> list[Declared | None]:
        """What DWARF or the metadata say of the arguments."""
        return declared(self._lines.code_object.core, self._kernel, [dict(arg) for arg in self._args])

    @property
    def places(self) -> dict[str, Place]:
        """Where each is, by name: of the metadata, of DWARF, or of the record."""
        found = {}
        for place in self._places:
            index = _index(place)
            if index is not None:
                known = self._declared[index] if index < len(self._declared) else None
                name = self._args[index].get("name") if index < len(self._args) else None
                recorded = _ARGUMENT.match(place.what)
                name = name or (known.called if known is not None else None) or (recorded and recorded[2])
                found[name if name and name.isidentifier() else f"arg{index}"] = place
        return found

    def read(self, name: str | int, memory: Callable[[int, int], bytes]) -> numpy.ndarray:
        """A copy of one, by name or number, from the bytes that ``memory`` has at an address.
        ArgumentError for an argument that is no array."""
        import numpy

        known = self.places
        place = known.get(name) if isinstance(name, str) else next((p for p in known.values() if _index(p) == name), None)
        if place is None:
            raise ArgumentError(f"kernel {self._kernel} has no array {name!r}, only {', '.join(known) or 'none'}")
        index = _index(place) or 0
        data = numpy.frombuffer(memory(place.address, place.size), "uint8")
        given = self._given[index] if index < len(self._given) else None
        if isinstance(whole := getattr(given, "__luthier_array__", None), numpy.ndarray):
            return whole.copy()  # the kernel works on it
        kind, shape = dtype_of(given), getattr(given, "shape", None)
        if kind is None:
            told = self._declared[index] if index < len(self._declared) else None
            name_of = told.to.dtype if told is not None and told.to is not None else ""
            kind, shape = numpy.dtype(name_of or "uint8"), (-1,)
        data = data[: len(data) // kind.itemsize * kind.itemsize].view(kind)
        return data.reshape(shape) if shape is not None and (shape == (-1,) or numpy.prod(shape) == data.size) else data
