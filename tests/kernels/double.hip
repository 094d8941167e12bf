#include "gpu.h"

KERNEL double_math(const double *a, const double *b, double *out, u32 n) {
    u32 i = global_x();
    if (i >= n) return;
    double x = a[i], y = b[i];
    double quotient = x / y;
    double root = __builtin_sqrt(x * x + y * y);
    out[i] = quotient + root - (double)(i32)x;
}
