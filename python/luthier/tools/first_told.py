"""Device functions of ``nan_check``: counting what an instruction gives, and telling of the first that it makes."""

from __future__ import annotations

import luthier as lt

#: Numbers of an instruction: NaNs, infinities, those that it makes, denormal results.
COUNTS = 4
#: Words of an instruction's first: whether it is there, its place in the order, workgroup, wave and lane and element, value, operands.
FIRST = 8


@lt.device
def tell(
    firsts: lt.ptr[lt.u64], order: lt.ptr[lt.u64], x: lt.u32, yz: lt.u32, wave: lt.u32, element: lt.u32, value: lt.u64, a: lt.u64, b: lt.u64,
    c: lt.u64,
) -> lt.u32:  # fmt: skip
    # The first of all tells.
    if lt.atomic_cas(firsts, lt.u64(0), lt.u64(1)) != 0:
        return 0
    firsts[1] = lt.atomic_add(order, 1)
    firsts[2] = lt.u64(x) | lt.u64(yz) << 32
    firsts[3] = lt.u64(wave | lt.lane_id()) | lt.u64(element) << 32
    firsts[4] = value
    firsts[5] = a
    firsts[6] = b
    firsts[7] = c
    return 1


@lt.device
def count(counts: lt.ptr[lt.u64], is_nan: lt.bool_, is_infinite: lt.bool_, is_denormal: lt.bool_):
    lt.wave_atomic_add(counts, lt.popcount(lt.ballot(is_nan)))
    lt.wave_atomic_add(counts + 1, lt.popcount(lt.ballot(is_infinite)))
    lt.wave_atomic_add(counts + 3, lt.popcount(lt.ballot(is_denormal)))
