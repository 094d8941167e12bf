"""Device functions of ``precision``: numbers of every format in 64 bits, and how far a result is from the exact one."""

from __future__ import annotations

import luthier as lt
from luthier.tools.extremes import raise_to
from luthier.tools.precision_operations import KINDS

#: Numbers of an instruction: values, those that are infinite or no numbers, errors in 1/1024 of the last digit added up and
#: the greatest, values that lost digits, the digits added up and the most.
STATS = 7
#: The kinds, as hooks know them by number.
NUMBERS = {kind: n for n, kind in enumerate(KINDS)}


@lt.device
def byte_number(code: lt.u32, kind: lt.u32) -> lt.f64:
    """A number of 8 bits. ``kind``: 3 and 4 are fp8 and bf8, 5 and 6 AMD's own forms of them, whose one NaN would be a negative zero."""
    is_fp8: lt.bool_ = (kind & 1) != 0
    fraction = lt.u32(3) if is_fp8 else lt.u32(2)
    bias = lt.u32(7) if is_fp8 else lt.u32(15)
    if kind >= 5:
        bias = bias + 1
    magnitude: lt.u32 = code & 127
    exponent_of: lt.u32 = magnitude >> fraction
    implied = lt.u32(1) << fraction
    whole: lt.u32 = magnitude & (implied - 1)
    if exponent_of != 0:
        whole = whole | implied
    scale = lt.u64(1023 + lt.max(exponent_of, 1) - bias - fraction) << 52
    wide = lt.bitcast(lt.u64, lt.f64(whole) * lt.bitcast(lt.f64, scale))
    limit = lt.u32(127) if is_fp8 else lt.u32(124)
    is_special: lt.bool_ = magnitude >= limit
    if kind >= 5:
        is_special = (code & 255) == 128
    if is_special:
        wide = lt.u64(0x7FF8000000000000)
    return lt.bitcast(lt.f64, wide | lt.u64(code >> 7 & 1) << 63)


@lt.device
def number(bits: lt.u32, kind: lt.u32, sign: lt.u32) -> lt.f64:
    value: lt.f32 = lt.bitcast(lt.f32, bits)
    if kind == 1:
        value = lt.f32(lt.bitcast(lt.f16, lt.u16(bits & 0xFFFF)))
    if kind == 2:
        value = lt.bitcast(lt.f32, bits << 16)
    wide = lt.bitcast(lt.u64, lt.f64(value))
    if kind >= 3:
        wide = lt.bitcast(lt.u64, byte_number(bits, kind))
    if sign & 1 != 0:
        wide = wide & 0x7FFFFFFFFFFFFFFF
    if sign & 2 != 0:
        wide = wide ^ 0x8000000000000000
    return lt.bitcast(lt.f64, wide)


@lt.device
def exponent(value: lt.f64) -> lt.i32:
    return lt.i32(lt.u32(lt.bitcast(lt.u64, value) >> 52) & 0x7FF) - 1023


@lt.device
def compare(stats: lt.ptr[lt.u64], got: lt.f64, exact: lt.f64, digits: lt.i32, least: lt.i32):
    at = exponent(exact)
    lt.atomic_add(stats, 1)
    if at == 1024 or exponent(got) == 1024:
        lt.atomic_add(stats + 1, 1)
    else:
        # The last digit of a number of that size is 2 to the power of at - digits.
        scale = lt.u64(lt.u32(1023 + digits + 10 - lt.max(at, least))) << 52
        error = lt.u64(lt.min(lt.abs(got - exact) * lt.bitcast(lt.f64, scale), 1099511627776.0))
        if error != 0:
            lt.atomic_add(stats + 2, error)
        raise_to(stats + 3, error)


@lt.device
def cancels(stats: lt.ptr[lt.u64], exact: lt.f64, greatest: lt.i32):
    """Counts the digits of a sum that is smaller than the greatest of what was added."""
    at = exponent(exact)
    if at < greatest and greatest < 1024 and exact != 0.0:
        lt.atomic_add(stats + 4, 1)
        lt.atomic_add(stats + 5, lt.u64(lt.u32(greatest - at)))
        raise_to(stats + 6, lt.u64(lt.u32(greatest - at)))
