#include "gpu.h"

typedef f16 half2 __attribute__((ext_vector_type(2)));

// Single and packed f16: sums, products, fused products, minima, and a trip through f32.
KERNEL half_math(const f16 *a, const f16 *b, f16 *out, u32 n) {
    u32 i = 2 * global_x();
    if (i >= n) return;
    half2 x = *(const half2 *)(a + i), y = *(const half2 *)(b + i);
    half2 packed = x * y + y;
    f16 low = (f16)((float)x[0] / (float)y[0]);
    f16 high = x[1] < y[1] ? x[1] - y[1] : y[1] * x[1];
    out[i] = packed[0] + low;
    out[i + 1] = packed[1] + high;
}
