// A loop of matrix instructions, each with the accumulator of the one before the last.
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4 __attribute__((ext_vector_type(4)));

extern "C" __attribute__((global)) void mfma(float *out, unsigned rounds) {
    unsigned lane = __builtin_amdgcn_workitem_id_x();
    half4 a, b;
    for (int i = 0; i < 4; i++) {
        a[i] = (_Float16)((lane + i) % 7 * 0.125f);
        b[i] = (_Float16)((lane * 3 + i) % 5 * 0.25f);
    }
    float4 c = {0, 0, 0, 0}, d = {1, 1, 1, 1};
#pragma unroll 8
    for (unsigned i = 0; i < rounds; i++) {
        c = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0);
        d = __builtin_amdgcn_mfma_f32_16x16x16f16(b, a, d, 0, 0, 0);
    }
    out[lane] = c[0] + c[1] + c[2] + c[3] + d[0] + d[1] + d[2] + d[3];
}
