#include "gpu.h"

enum { TILE = 16 };
LDS float tile_a[TILE][TILE];
LDS float tile_b[TILE][TILE];

// c = a * b, square matrices of n a multiple of 16, one 16x16 tile a workgroup.
KERNEL matmul(const float *a, const float *b, float *c, u32 n) {
    u32 x = local_x(), y = local_y();
    u32 column = group_x() * TILE + x, row = group_y() * TILE + y;
    float sum = 0;
    for (u32 k = 0; k < n; k += TILE) {
        tile_a[y][x] = a[row * n + k + x];
        tile_b[y][x] = b[(k + y) * n + column];
        barrier();
        for (u32 i = 0; i < TILE; ++i) sum = __builtin_fmaf(tile_a[y][i], tile_b[i][x], sum);
        barrier();
    }
    c[row * n + column] = sum;
}
