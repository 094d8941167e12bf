"""The types of a kernel's parameters, from DWARF or else from the metadata, and whether a value is of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError

#: How NumPy calls the kinds of numbers.
_LETTERS = {"float": "f", "signed": "i", "unsigned": "u", "bool": "b"}
#: OpenCL's names, which the metadata have; C's where they say the same.
_NAMED = {
    "bool": ("bool", 1), "char": ("signed", 1), "uchar": ("unsigned", 1), "short": ("signed", 2), "ushort": ("unsigned", 2),
    "int": ("signed", 4), "uint": ("unsigned", 4), "long": ("signed", 8), "ulong": ("unsigned", 8), "half": ("float", 2),
    "float": ("float", 4), "double": ("float", 8), "unsigned char": ("unsigned", 1), "unsigned short": ("unsigned", 2),
    "unsigned int": ("unsigned", 4), "unsigned long": ("unsigned", 8), "size_t": ("unsigned", 8),
}  # fmt: skip


def explicit(kernel: str, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments that a launch has to give, from the metadata."""
    if facts["args"] is None:
        raise ArgumentError(f"kernel {kernel}: the code object has no metadata that says what arguments it takes")
    wanted = [arg for arg in facts["args"] if not arg["hidden"]]
    for index, arg in enumerate(wanted):
        missing = [f".{key}" if key != "kind" else ".value_kind" for key in ("offset", "size", "kind") if arg[key] is None]
        if missing:
            raise ArgumentError(f"kernel {kernel}: the metadata's argument {index} has no {' and no '.join(missing)}")
    return wanted


@dataclass(frozen=True)
class Number:
    """A C number type."""

    #: As the source has it.
    name: str
    #: ``float``, ``signed``, ``unsigned`` or ``bool``.
    kind: str
    #: In bytes.
    size: int

    @property
    def dtype(self) -> str:
        """NumPy's name of the same type; "" if it has none."""
        if self.kind == "bool":
            return "bool"
        name = {"float": "float", "signed": "int", "unsigned": "uint"}[self.kind] + str(8 * self.size)
        is_known = self.size in ((2, 4, 8) if self.kind == "float" else (1, 2, 4, 8)) and "bf" not in self.name.lower()
        return name if is_known else ""


@dataclass(frozen=True)
class Declared:
    """What the source says of a parameter. Where neither is there, it is a structure or nothing is known of it."""

    #: The type as the source has it: ``float *``.
    name: str
    #: Of a number.
    number: Number | None = None
    #: What a pointer points to, if that is numbers.
    to: Number | None = None
    #: The parameter's own name.
    called: str | None = None


def declared(core: Any, kernel: str, args: list[dict[str, Any]]) -> list[Declared | None]:
    """The types of a kernel's explicit arguments, None for each that is not known."""
    found = core.parameters(kernel)
    if found is not None and len(found) == len(args):
        return [_of_dwarf(parameter, arg["size"]) for parameter, arg in zip(found, args)]
    return [_of_metadata(arg["type"]) if arg["type"] else None for arg in args]


def _of_dwarf(found: dict[str, Any], size: int) -> Declared | None:
    if found["kind"] == "pointer":
        return Declared(found["type"], None, _number(found["to"]), found["name"]) if size == 8 else None
    number = _number(found)
    fits = number is None or number.size == size
    return Declared(found["type"], number, None, found["name"]) if fits else None


def _number(found: dict[str, Any]) -> Number | None:
    return Number(found["type"], found["kind"], found["size"]) if found["kind"] in _LETTERS else None


def _of_metadata(text: str) -> Declared | None:
    plain = re.sub(r"\b(const|volatile|restrict|__restrict__?|__global|__constant)\b", "", text).strip()
    base = " ".join(plain.rstrip("* ").split())
    number = Number(base, *_NAMED[base]) if base in _NAMED else None
    stars = plain.count("*")
    if stars:
        return Declared(text, None, number if stars == 1 else None)
    return Declared(text, number) if number is not None else None


def misfit(array: Any, kind: Declared) -> str | None:
    """Why the elements of an array are not those that a pointer points to. Bytes (``uint8``, ``V``) are raw memory, and
    whole numbers of either sign are the same; so are formats that NumPy does not have, and bits of their size."""
    to, dtype = kind.to, array.dtype
    if to is None or dtype.kind not in "biuf" or (dtype.kind == "u" and dtype.itemsize == 1):
        return None
    # A pointer to characters is C's pointer to raw memory.
    if to.size == 1 and "char" in kind.name:
        return None
    is_float, wants_float = dtype.kind == "f", to.kind == "float"
    if dtype.itemsize == to.size and (is_float == wants_float or to.dtype == "" or (wants_float and to.size <= 2)):
        return None
    wanted = to.dtype or f"{to.size} bytes each"
    advice = f" (array.astype(numpy.{to.dtype}) makes one)" if to.dtype else ""
    return f"{kind.name} needs an array of {wanted}, not of {dtype}{advice}"


def refusal(value: Any, number: Number) -> str | None:
    """Why a value cannot be passed for a number."""
    name = type(value).__name__
    if hasattr(value, "dtype"):
        kind, size = value.dtype.kind, value.dtype.itemsize
        if number.dtype == "" or (size == number.size and (kind == "f") == (number.kind == "float")):
            return None
        return f"{number.name} needs a {number.dtype}, not a {value.dtype}"
    if isinstance(value, float) and number.kind != "float":
        return f"{number.name} needs a whole number, not {value!r}"
    if isinstance(value, int) and number.kind != "float":
        low = -(1 << (8 * number.size - 1)) if number.kind == "signed" else 0
        high = (1 << (8 * number.size - (number.kind == "signed"))) - 1 if number.kind != "bool" else 1
        if not low <= value <= high:
            return f"{number.name} holds {low} to {high}, not {value}"
    if not isinstance(value, (int, float, bytes, bytearray)):
        return f"{number.name} needs a number, not {'an' if name[0] in 'aeiou' else 'a'} {name}"
    return None
