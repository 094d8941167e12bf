// The result of a matrix instruction is a factor of the next one.
#ifdef MENDED
#define PAD "v_nop\n"
#else
#define PAD
#endif
typedef float f32x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16x16 __attribute__((ext_vector_type(16)));
KERNEL exhibit(float *out) {
    f16x16 a = 1;
    f32x8 d = 0, e = 0;
    asm volatile("v_nop\n v_wmma_f32_16x16x16_f16 %0, %2, %2, %0\n" PAD "v_wmma_f32_16x16x16_f16 %1, %0, %2, %1\n v_nop" // found: hazard
                 : "+v"(d), "+v"(e) : "v"(a));
    out[local_x()] = d[0];
}
