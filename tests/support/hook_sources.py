"""Hooks whose trees crates/codegen/src/hook/fixtures holds: the Rust tests compile those. See test_hooks_lang.py."""

import luthier.lang as lt


@lt.hook
def count(count: lt.counter):
    count += 1


@lt.hook
def active(count: lt.counter):
    count += lt.active_lanes()


@lt.hook
def bump(counts: lt.ptr[lt.u64], index: lt.u32):
    lt.wave_atomic_add(counts + index, lt.popcount(lt.exec_mask()))


@lt.hook
def bump_wide(counts: lt.ptr[lt.u64], amount: lt.u64):
    lt.wave_atomic_add(counts, amount)


@lt.hook
def diverge(counts: lt.ptr[lt.u32], value: lt.u32):
    if value < 100:
        lt.atomic_add(counts + value, 1)


@lt.hook
def collatz(out: lt.ptr[lt.u32], value: lt.u32):
    n: lt.u32 = 0
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        n += 1
    out[lt.lane_id()] = n


@lt.hook
def table(out: lt.ptr[lt.u32], value: lt.u32):
    squares = lt.array(lt.u32, 8)
    for i in range(8):
        squares[i] = value * i
    out[lt.lane_id()] = squares[value & 7]


@lt.hook
def exchange(a: lt.counter, b: lt.counter, x: lt.inout[lt.u32], y: lt.u64):
    a += b
    b += y
    x += 1


@lt.hook
def per_lane_counter(count: lt.counter, value: lt.u32):
    if value > 3:
        count += 1


@lt.device
def clamp(value: lt.f32, high: lt.f32) -> lt.f32:
    if value > high:
        return high
    return value


@lt.hook
def everything(out: lt.ptr[lt.f32], x: lt.f32, y: lt.f16, z: lt.f64, flags: lt.ptr[bool]):
    out[0] = x / 3.0 + lt.f32(y) * lt.f32(z) if 0 < x < 1 and out[1] != 0 else lt.sqrt(x)
    out[2] -= abs(min(x, 2)) + clamp(lt.f32(lt.clock()), 1e9)
    s = lt.i64(x) // 7
    out[lt.u32(3)] = lt.f32(s % 5 << 2 >> lt.i32(x))
    flags[lt.ctz(lt.ballot(x > 0))] = not flags[lt.clz(lt.bitcast(lt.u32, x))]
    for i in range(lt.i16(10), -3, -4):
        if i == 2:
            continue
        if lt.readfirstlane(x) > 100:
            break
        out[i + 9] = lt.fma(x, x, lt.floor(x))
    old = lt.atomic_cas(lt.ptr[lt.u32](lt.u64(out)), 1, 2)
    lt.atomic_max(lt.ptr[lt.i32](lt.u64(out)) + 1, lt.i32(~old ^ 5 | 1))
    lt.atomic_add(out + 4, x)


@lt.hook
def conditional(count: lt.counter, n: lt.u64, x: lt.inout[lt.u32]):
    if n > 3:
        count += n
    x += 1


@lt.hook
def where(out: lt.ptr[lt.u64], point: lt.u32, address: lt.u64):
    out[point * 64 + lt.lane_id()] = address


@lt.hook
def reached(out: lt.ptr[lt.u64], point: lt.u32, is_made: bool):
    out[point * 64 + lt.lane_id()] = lt.u64(is_made)


@lt.hook
def clocks(out: lt.ptr[lt.u64]):
    out[0] = lt.clock()
    out[1] = lt.clock() - out[0]
    out[2] = lt.realtime()
    out[3] = lt.realtime() - out[2]


@lt.hook
def alike(counts: lt.ptr[lt.u64], word: lt.u32, size: lt.u32):
    mine = lt.lane_id() < size
    left = lt.ballot(mine)
    same: lt.u32 = 0
    while left != 0:
        leader = lt.readlane(word, lt.ctz(left))
        if (word & 31) == (leader & 31):
            same += 1
        left = left & ~lt.ballot(mine and word == leader)
    worst: lt.u32 = 0
    while lt.ballot(mine and same > worst) != 0:
        worst += 1
    lt.wave_atomic_add(counts, worst)


@lt.hook
def scalar_atomics(words: lt.ptr[lt.u32], pairs: lt.ptr[lt.u64], value: lt.u32):
    old = lt.scalar_atomic_add(words, value)
    lt.scalar_atomic_cas(pairs, 5, lt.u64(old))
    lt.scalar_atomic_min(lt.ptr[lt.i32](lt.u64(words)) + 1, -3)
