#include "gpu.h"

// 64-bit integers: products, quotients, remainders, shifts, comparisons.
KERNEL wide(const i64 *a, const i64 *b, i64 *out, u32 n) {
    u32 i = global_x();
    if (i >= n) return;
    i64 x = a[i], y = b[i];
    i64 result = x * y;
    result ^= x / y;
    result += x % y;
    result ^= (i64)((u64)x >> (y & 63)) + (x << (y & 31)) + (x >> 5);
    out[i] = x < y ? result : ~result;
}
