"""Device functions that Python can run as well: the oracle of tests/hooks/test_hooks_run.py."""

import luthier as lt

LIMIT = 20


@lt.device
def collatz(x: lt.i32) -> lt.i32:
    n = 0
    if x < 1:
        return -1
    while x != 1:
        if x % 2 == 0:
            x //= 2
        else:
            x = 3 * x + 1
        n += 1
    return n


@lt.device
def nested(x: lt.i32) -> lt.i32:
    total = 0
    for i in range(x):
        if i == 7:
            continue
        for j in range(i, 0, -2):
            if j * i > LIMIT:
                break
            total += i * j
        if total > 500:
            break
    return total


@lt.device
def signs(x: lt.i32) -> lt.i32:
    return (x // 7) * 1000 + (x % 7) * 100 + (x // -3) * 10 + x % -3


@lt.device
def ladder(x: lt.i32) -> lt.i32:
    if x < 0:
        r = -x
    elif x < 10 and x % 2 == 1 or x == 20:
        r = 100 + x
    elif 20 < x <= 30:
        r = 200 + x
        while r % 9 != 0:
            r += 1
    else:
        r = 300
    return r


@lt.device
def search(x: lt.i32) -> lt.i32:
    i = 0
    while True:
        i += 1
        if i * i > x:
            return i
        if i > 50:
            break
    return 0


@lt.device
def reassigned(x: lt.i32) -> lt.i32:
    count = 0
    for i in range(3, 3 + 10, 3):
        i += x
        count += i
    for _ in range(x, 2):
        count += 1000
    return count


@lt.hook
def run_collatz(out: lt.ptr[lt.i32], values: lt.ptr[lt.i32]):
    out[lt.lane_id()] = collatz(values[lt.lane_id()])


@lt.hook
def run_nested(out: lt.ptr[lt.i32], values: lt.ptr[lt.i32]):
    out[lt.lane_id()] = nested(values[lt.lane_id()])


@lt.hook
def run_signs(out: lt.ptr[lt.i32], values: lt.ptr[lt.i32]):
    out[lt.lane_id()] = signs(values[lt.lane_id()])


@lt.hook
def run_ladder(out: lt.ptr[lt.i32], values: lt.ptr[lt.i32]):
    out[lt.lane_id()] = ladder(values[lt.lane_id()])


@lt.hook
def run_search(out: lt.ptr[lt.i32], values: lt.ptr[lt.i32]):
    out[lt.lane_id()] = search(values[lt.lane_id()])


@lt.hook
def run_reassigned(out: lt.ptr[lt.i32], values: lt.ptr[lt.i32]):
    out[lt.lane_id()] = reassigned(values[lt.lane_id()])


PROGRAMS = (collatz, nested, signs, ladder, search, reassigned)
