#include "gpu.h"

typedef u32 (*Operation)(u32, u32);

NOINLINE u32 add(u32 a, u32 b) { return a + b; }
NOINLINE u32 multiply(u32 a, u32 b) { return a * b; }
NOINLINE u32 exclusive(u32 a, u32 b) { return a ^ b; }

// The choice differs from lane to lane: the compiler makes a loop over the distinct targets.
KERNEL pointer(const u32 *which, const u32 *a, const u32 *b, u32 *out, u32 n) {
    u32 i = global_x();
    if (i >= n) return;
    Operation operation = which[i] == 0 ? add : which[i] == 1 ? multiply : exclusive;
    out[i] = operation(a[i], b[i]);
}
