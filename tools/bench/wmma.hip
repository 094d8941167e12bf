// A loop of matrix instructions of waves of 32 lanes, each with the accumulator of the one before the last.
typedef float float8 __attribute__((ext_vector_type(8)));
#ifdef __gfx1250__
#define MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f32_16x16x32_f16(false, a, false, b, (short)0, c, false, false)
#else
#define MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#endif
typedef _Float16 halves __attribute__((ext_vector_type(16)));

extern "C" __attribute__((global)) void wmma(float *out, unsigned rounds) {
    unsigned lane = __builtin_amdgcn_workitem_id_x();
    halves a, b;
    for (int i = 0; i < 16; i++) {
        a[i] = (_Float16)((lane + i) % 7 * 0.125f);
        b[i] = (_Float16)((lane * 3 + i) % 5 * 0.25f);
    }
    float8 c = 0, d = 1;
    for (unsigned i = 0; i < rounds; i += 8) {
        for (int k = 0; k < 8; k++) {
            c = MULTIPLY(a, b, c);
            d = MULTIPLY(b, a, d);
        }
    }
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += c[i] + d[i];
    out[lane] = sum;
}
