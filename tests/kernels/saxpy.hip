#include "gpu.h"

// A grid-stride loop whose last round is ragged.
KERNEL saxpy(float alpha, const float *x, float *y, u32 n, u32 stride) {
    for (u32 i = global_x(); i < n; i += stride) y[i] = __builtin_fmaf(alpha, x[i], y[i]);
}
