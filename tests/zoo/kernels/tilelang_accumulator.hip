// A matrix product adds to its accumulator, which nothing has set to zero.
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
KERNEL exhibit(float *out) {
    f16x4 a = 1;
    f32x4 sum = 0;
#ifndef MENDED
    asm volatile("; never set" : "=v"(sum));
#endif
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(a, a, sum, 0, 0, 0); // found: undefined-register
    out[local_x()] = sum.x;
}
