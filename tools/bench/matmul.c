// The loops of tests/kernels/matmul.hip, for the processor that the bench runs on, one thread.
enum { TILE = 16 };

void matmul(const float *a, const float *b, float *c, unsigned n) {
    static float tile_a[TILE][TILE], tile_b[TILE][TILE];
    for (unsigned group_y = 0; group_y < n; group_y += TILE)
        for (unsigned group_x = 0; group_x < n; group_x += TILE) {
            float sum[TILE][TILE] = {0};
            for (unsigned k = 0; k < n; k += TILE) {
                for (unsigned y = 0; y < TILE; y++)
                    for (unsigned x = 0; x < TILE; x++) {
                        tile_a[y][x] = a[(group_y + y) * n + k + x];
                        tile_b[y][x] = b[(k + y) * n + group_x + x];
                    }
                for (unsigned y = 0; y < TILE; y++)
                    for (unsigned x = 0; x < TILE; x++)
                        for (unsigned i = 0; i < TILE; i++)
                            sum[y][x] = __builtin_fmaf(tile_a[y][i], tile_b[i][x], sum[y][x]);
            }
            for (unsigned y = 0; y < TILE; y++)
                for (unsigned x = 0; x < TILE; x++) c[(group_y + y) * n + group_x + x] = sum[y][x];
        }
}
