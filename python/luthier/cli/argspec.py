"""The grammar of ``--arg``, ``--grid``, ``--dump`` and ``--symbol``.

==============================  ==========================================================================
``buf:TYPE[N]=zeros``           a buffer of N elements; ``ones``, ``arange`` likewise
``buf:TYPE[N]=empty``           elements that nothing has written
``buf:TYPE[N]=random:SEED``     reproducible: any integer of the type, floats from 0 to 1
``buf:TYPE[N]=FILE.npy``        an array of that type and size
``TYPE=VALUE``                  a scalar
``null``                        a null pointer
==============================  ==========================================================================

TYPE is one of i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64.
"""

from __future__ import annotations

import os
import re
from typing import Any

from ..device.unwritten import empty
from ..errors import ArgumentError

TYPES = {
    **{f"{k}{n}": f"{name}{n}" for k, name in (("i", "int"), ("u", "uint")) for n in (8, 16, 32, 64)},
    **{f"f{n}": f"float{n}" for n in (16, 32, 64)},
}
_LIMIT = 1 << 40  # bytes


def parse_argument(text: str) -> Any:
    """A NumPy array, a NumPy scalar or None."""
    if text == "null":
        return None
    if text.startswith("buf:"):
        return _buffer(text)
    name, equals, value = text.partition("=")
    if not equals:
        raise _bad(text, "expected buf:TYPE[N]=INIT, TYPE=VALUE or null")
    return _scalar(text, name, value)


def _bad(text: str, why: str) -> ArgumentError:
    return ArgumentError(f"--arg {text}: {why}")


def _dtype(text: str, name: str) -> Any:
    import numpy

    if name not in TYPES:
        raise _bad(text, f"{name or 'nothing'!r} is not a type ({', '.join(TYPES)})")
    return numpy.dtype(TYPES[name])


def _scalar(text: str, name: str, value: str) -> Any:
    import numpy

    dtype = _dtype(text, name)
    try:
        number = float(value) if dtype.kind == "f" else int(value, 0)
    except ValueError:
        raise _bad(text, f"{value!r} is not {'a number' if dtype.kind == 'f' else 'an integer'}") from None
    if dtype.kind != "f":
        limits = numpy.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise _bad(text, f"{number} does not fit {name} ({limits.min} to {limits.max})")
        return dtype.type(number)
    with numpy.errstate(over="ignore"):
        result = dtype.type(number)
    if numpy.isinf(result) and number not in (float("inf"), float("-inf")):
        raise _bad(text, f"{value} does not fit {name}")
    return result


def _buffer(text: str) -> Any:
    import numpy

    found = re.fullmatch(r"buf:(\w*)\[([^\]]*)\](?:=(.*))?", text, re.DOTALL)
    if not found:
        raise _bad(text, "expected buf:TYPE[N]=INIT")
    dtype = _dtype(text, found[1])
    if not re.fullmatch(r"[0-9]+", found[2]) or int(found[2]) < 1:
        raise _bad(text, f"{found[2]!r} is not a number of elements")
    n, init = int(found[2]), found[3]
    if n * dtype.itemsize > _LIMIT:
        raise _bad(text, f"{n * dtype.itemsize} bytes are more than any device has")
    try:
        if init == "zeros":
            return numpy.zeros(n, dtype)
        if init == "empty":
            return empty(n, dtype)
        if init == "ones":
            return numpy.ones(n, dtype)
        if init == "arange":
            return numpy.arange(n).astype(dtype)
        if init is not None and init.startswith("random:"):
            return _random(text, dtype, n, init[7:])
    except MemoryError:
        raise _bad(text, f"there is no memory for {n * dtype.itemsize} bytes") from None
    if init is not None and init.endswith(".npy"):
        return _load(text, dtype, n, init)
    raise _bad(text, f"{init or 'nothing'!r} is not an initial value (zeros, empty, ones, arange, random:SEED, FILE.npy)")


def _random(text: str, dtype: Any, n: int, seed: str) -> Any:
    import numpy

    if not re.fullmatch(r"[0-9]+", seed):
        raise _bad(text, f"{seed!r} is not a seed (a whole number)")
    generator = numpy.random.default_rng(int(seed))
    if dtype.kind == "f":
        return generator.random(n).astype(dtype)
    limits = numpy.iinfo(dtype)
    return generator.integers(limits.min, limits.max, n, dtype, endpoint=True)


def _load(text: str, dtype: Any, n: int, path: str) -> Any:
    import numpy

    try:
        array = numpy.load(path, allow_pickle=False)
    except OSError as error:
        raise _bad(text, f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, EOFError) as error:
        raise _bad(text, f"{path} is no .npy file: {str(error).splitlines()[0]}") from None
    if array.dtype != dtype:
        raise _bad(text, f"{path} holds {array.dtype}, not {dtype}")
    if array.size != n:
        raise _bad(text, f"{path} holds {array.size} elements, not {n}")
    return numpy.ascontiguousarray(array).copy()


def parse_sizes(option: str, text: str) -> tuple[int, ...]:
    """``X[,Y[,Z]]``."""
    try:
        return tuple(int(part, 0) for part in text.split(","))
    except ValueError:
        raise ArgumentError(f"{option} {text}: expected X, X,Y or X,Y,Z in whole numbers") from None


def parse_number(option: str, text: str, of: str) -> int:
    """A whole number, not negative, ``of`` something."""
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise ArgumentError(f"{option} {text}: expected a number of {of}")
    return number


def parse_seconds(option: str, text: str) -> float:
    """A time, not zero."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < 1e9:
        raise ArgumentError(f"{option} {text}: expected a number of seconds")
    return seconds


def parse_dump(text: str) -> tuple[int, str]:
    """``INDEX=FILE.npy``."""
    index, equals, path = text.partition("=")
    if not equals or not re.fullmatch(r"[0-9]+", index) or not os.path.basename(path):
        raise ArgumentError(f"--dump {text}: expected INDEX=FILE.npy")
    return int(index), path


def parse_symbol(text: str) -> tuple[str, str | None]:
    """``NAME[:TYPE]``."""
    name, colon, kind = text.rpartition(":")
    if not colon:
        return text, None
    if kind not in TYPES:
        raise ArgumentError(f"--symbol {text}: {kind!r} is not a type ({', '.join(TYPES)})")
    return name, TYPES[kind]
