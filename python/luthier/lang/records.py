"""What hooks put into channels: how records lie in a ring, and the checks of ``lt.record`` and ``lt.printf``.

``crates/codegen/src/hook/lower/record.rs`` says how a ring works.
"""

from __future__ import annotations

import ast
import re
import string
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .errors import HookError, Span
from .types import ChannelType, Pointer, Scalar, Type, f64, i8, i16, i32, i64, u8, u16, u32, u64
from .values import Value, as_type, settle

if TYPE_CHECKING:
    import numpy

#: What becomes of records that find no room in a ring.
WHEN_FULL = ("wait", "drop", "overwrite")
#: Where in a ring the positions are that are reserved and read, how many records were dropped, and where records begin.
TAIL, HEAD, CLOSED, DROPPED, RECORDS = 0, 64, 68, 128, 192
#: Waves have up to 64 lanes, which find room together.
LEAST = 64


@dataclass(frozen=True)
class RecordShape:
    """The records of a channel, and its room for them."""

    fields: tuple[tuple[str, Scalar], ...]
    #: In records, a power of two.
    capacity: int
    when_full: str

    @cached_property
    def places(self) -> tuple[tuple[int, ...], int, int]:
        """Where each field is in a record, where the record's stamp is, and the bytes of a record."""
        # The widest first, so that there are no gaps.
        sizes = [(field.size, n) for n, (_, field) in enumerate(self.fields)] + [(u32.size, len(self.fields))]
        at, found = 0, [0] * len(sizes)
        for size, n in sorted(sizes, key=lambda one: (-one[0], one[1])):
            found[n] = at
            at += size
        widest = max(size for size, _ in sizes)
        return tuple(found[:-1]), found[-1], -(-at // widest) * widest

    @property
    def size(self) -> int:
        """Bytes of the whole ring."""
        return RECORDS + self.capacity * self.places[2]

    @cached_property
    def dtype(self) -> numpy.dtype[Any]:
        """The NumPy type of a record: its fields, without the stamp."""
        import numpy

        offsets, _, size = self.places
        names, formats = [name for name, _ in self.fields], [kind.dtype for _, kind in self.fields]
        return numpy.dtype({"names": names, "formats": formats, "offsets": list(offsets), "itemsize": size})

    def __str__(self) -> str:
        return ", ".join(f"{name}: {kind}" for name, kind in self.fields)


def check_record(
    channel: Value, span: Span, args: list[Value], per_wave: bool, shape: RecordShape | None, name: str = "record"
) -> Value:
    """``lt.record(channel, ...)``. Without a shape it is not known yet which channel the hook is given."""
    if not isinstance(channel.type, ChannelType):
        raise HookError(f"{name} needs a channel, a parameter of type lt.channel, not {channel.type or 'a number'}", channel.span)
    if shape is None:
        for arg in args:
            if not isinstance(settle(arg).type, Scalar):
                raise HookError(f"a record holds numbers, not a {arg.type}: lt.u64(p) is a pointer's address", arg.span)
        return Value(span, None, channel.kind)
    if len(args) != len(shape.fields):
        raise HookError(f"a record of this channel has {len(shape.fields)} values ({shape}), {len(args)} given", span)
    offsets, stamp, size = shape.places
    fields = []
    for at, arg, (field, kind) in zip(offsets, args, shape.fields, strict=True):
        try:
            fields.append([at, as_type(arg, kind).to_json()])
        except HookError as error:
            raise HookError(f"{field} of the record: {error.message}", error.span) from None
    made = {
        "ring": channel.to_json(),
        "capacity": shape.capacity,
        "when_full": shape.when_full,
        "per_wave": per_wave,
        "size": size,
        "stamp": stamp,
        "fields": fields,
    }
    return Value(span, None, {"record": made})


#: Values that one lt.printf prints.
MOST_PRINTED = 6
#: The records of lt.printf: which text, and the values, each as 64 bits.
PRINTED = RecordShape((("text", u32), *((f"value{n}", u64) for n in range(MOST_PRINTED))), 1 << 12, "wait")

_CONVERSIONS = {"d": "int", "i": "int", "u": "int", "x": "int", "X": "int", "o": "int", "c": "int"} | dict.fromkeys(
    "eEfFgG", "float"
)


_CONVERSION = re.compile(r"%([-+ #0-9.]*)([hlzjt]*)([a-zA-Z%])")
_LENGTH = re.compile(r"%([-+ #0-9.]*)[hlzjt]*([a-zA-Z%])")
#: Integers of C by what stands in front of the letter: without a sign, and with one.
_LENGTHS = {"hh": (u8, i8), "h": (u16, i16), "": (u32, i32)}


def _in_c(length: str, letter: str) -> Scalar:
    """What a conversion of C prints."""
    if _CONVERSIONS[letter] == "float":
        return f64
    return _LENGTHS.get(length, (u64, i64))[letter in "di"]


@dataclass(frozen=True)
class Printed:
    """The text of an ``lt.printf``, and the types of its values."""

    text: str
    kinds: tuple[Scalar, ...]

    @property
    def number(self) -> int:
        """The same in every process."""
        return zlib.crc32(repr((self.text, self.kinds)).encode())

    def show(self, bits: tuple[int, ...]) -> str:
        """With the values whose bits are given."""
        import struct

        values: list[Any] = []
        for raw, kind in zip(bits, self.kinds, strict=False):
            if kind.kind == "float":
                values.append(struct.unpack("<d", struct.pack("<Q", raw))[0])
            else:
                own = raw & ((1 << kind.bits) - 1)
                values.append(own - (1 << kind.bits) if kind.signed and own >> (kind.bits - 1) else own)
        # How long a value is, its type says; Python has no words for it.
        return _LENGTH.sub(r"%\1\2", self.text) % tuple(values)


class PrintedInHip(Printed):
    """The text of a ``printf`` of ``luthier/hooks.h``, which says itself what its values are."""

    @classmethod
    def of(cls, text: bytes) -> PrintedInHip:
        """A text that the compiler has looked at."""
        read = text.decode(errors="replace")
        made = cls(read, tuple(_in_c(length, letter) for _, length, letter in _CONVERSION.findall(read) if letter != "%"))
        # The same hash as in the header.
        number = 0x811C9DC5
        for byte in text:
            number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
        object.__setattr__(made, "_number", number)
        return made

    @property
    def number(self) -> int:
        """The header's."""
        found: int = vars(self)["_number"]
        return found


def printed(text: Any, span: Span, args: list[Value]) -> tuple[Printed, list[Value]]:
    """The checked ``lt.printf(text, ...)``: its text, and what its record holds."""
    if not isinstance(text, str):
        raise HookError("printf needs a text in quotes first", span)
    if len(args) > MOST_PRINTED:
        raise HookError(f"printf prints at most {MOST_PRINTED} values, {len(args)} given", span)
    wanted = _conversions(text, span)
    if len(wanted) != len(args):
        raise HookError(f"the text prints {len(wanted)} values, {len(args)} given", span)
    kinds, values = [], []
    for letter, arg in zip(wanted, args, strict=True):
        arg = settle(arg)
        if isinstance(arg.type, Pointer):
            arg = Value(arg.span, u64, {"cast": arg.to_json()})
        kind: Any = arg.type
        needs = _CONVERSIONS[letter]
        if not isinstance(kind, Scalar) or (kind.kind == "float") != (needs == "float"):
            raise HookError(f"%{letter} prints {'a float' if needs == 'float' else 'an integer'}, not a {kind}", arg.span)
        to: Type = f64 if needs == "float" else i64 if kind.signed else u64
        wide = arg if kind == to else Value(arg.span, to, {"cast": arg.to_json()})
        kinds.append(kind)
        values.append(wide if to == u64 else Value(arg.span, u64, {"bitcast" if to == f64 else "cast": wide.to_json()}))
    made = Printed(text, tuple(kinds))
    zero = Value(span, None, None, 0)
    values += [zero] * (MOST_PRINTED - len(values))
    return made, [Value(span, None, None, made.number), *values]


def _conversions(text: str, span: Span) -> str:
    """The letters of what a text prints."""
    letters, at = "", 0
    while (at := text.find("%", at)) >= 0:
        at += 1
        if text[at : at + 1] == "%":
            at += 1
            continue
        while at < len(text) and text[at] in "-+ #0123456789.":
            at += 1
        while at < len(text) and text[at] in "hlzjt":
            at += 1
        if at >= len(text) or text[at] not in _CONVERSIONS:
            known = ", ".join(f"%{letter}" for letter in _CONVERSIONS)
            raise HookError(
                f"the text has {text[text.rfind('%', 0, at + 1) : at + 1]!r} in it: printf knows {known} and %%", span
            )
        letters += text[at]
        at += 1
    return letters


def text_of(node: ast.expr, lookup: Callable[[ast.expr], Any]) -> Any:
    """A text in quotes, or a name of one."""
    if isinstance(node, ast.Constant):
        return node.value
    return lookup(node) if isinstance(node, (ast.Name, ast.Attribute)) else None


def is_name(text: str) -> bool:
    """Whether a field may be called so."""
    return text.isidentifier() and not text.startswith("_") and set(text) <= {*string.ascii_letters, *string.digits, "_"}
