"""The hook language: typed, GPU-side functions written as Python.

.. code-block:: python

    @lt.hook
    def bump(counts: lt.ptr[lt.u64], index: lt.u32):
        lt.wave_atomic_add(counts + index, lt.popcount(lt.exec_mask()))

A hook's source is parsed with :mod:`ast` and type-checked here, without running it; the compiler gets a typed tree.

*Numbers* have fixed widths. ``+ - *`` wrap around, as NumPy's arrays do. ``//`` and ``%`` round toward minus infinity
and follow the divisor's sign, as Python's do; dividing an integer by zero gives 0. ``/`` is for floats. Shifting by the
width or more gives 0, or -1 for a negative number shifted right. Comparisons chain, ``and`` and ``or`` stop early and
give a ``bool``. Numbers of different types mix when one of the two types holds every value of the other (``u8`` with
``u32``, ``u32`` with ``i64``); everything else is converted with ``lt.u32(x)``. Literals and constants from outside
the function have no type of their own: in ``x + 1`` the 1 is of the type of ``x``. So it is with the variable of a loop
whose bounds are constants. Where nothing decides, they are ``i32`` or ``f32``.

*Variables* have the type of their first assignment; ``total: lt.u64 = 0`` says it outright.

*Names* from outside are numbers, types, intrinsics, and functions marked ``@lt.device``.

==============  ====================================================
module          one idea
==============  ====================================================
``types``       the types
``intrinsics``  what a hook can ask of the machine
``facts``       what hooks are given because they ask for it
``where``       where a wave is
``functions``   the decorators
``scope``       what a name stands for
``values``      conversions
``expressions`` types of expressions
``constants``   tables of constants from outside
``records``     what goes into channels
``statements``  control flow and assignment
``errors``      HookError
==============  ====================================================
"""

from .errors import HookError, Span
from .functions import DeviceFunction, Hook, Param, device, hook
from .intrinsics import INTRINSICS, bitcast, kernel_arg, printf, record
from .types import (
    Array,
    Counter,  # noqa: F401  # reached as lang.Counter: lt.Counter is the variable
    InOut,
    Pointer,
    Scalar,
    Table,  # noqa: F401  # reached as lang.Table: a table is declared lt.inout[T, n]
    Type,
    array,
    bool_,
    channel,
    counter,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    inout,
    ptr,
    u8,
    u16,
    u32,
    u64,
)

#: The intrinsics by name. ``abs``, ``min`` and ``max`` are Python's own in a hook, and ``lt.min`` means the same.
NAMES = dict(INTRINSICS)
globals().update(NAMES)

__all__ = [
    "HookError", "Span", "DeviceFunction", "Hook", "Param", "device", "hook", "bitcast", "kernel_arg", "record", "printf", "Array", "InOut", "Pointer", "Scalar",
    "Type", "array", "bool_", "channel", "counter", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "inout", "ptr", "u8", "u16", "u32", "u64",
    *(name for name in NAMES if name not in ("abs", "min", "max")),
]  # fmt: skip
