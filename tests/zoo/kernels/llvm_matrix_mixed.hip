// Two different matrix instructions in a row with one accumulator: what is forwarded from the one does not suit the other.
#ifdef MENDED
#define PAD "s_nop 4\n"
#else
#define PAD
#endif
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
KERNEL exhibit(float *out) {
    f16x8 a = 1;
    f16x4 b = 1;
    f32x4 d = 0;
    asm volatile("s_nop 7\n v_mfma_f32_16x16x32_f16 %0, %1, %1, %0\n" PAD "v_mfma_f32_16x16x16_f16 %0, %2, %2, %0\n s_nop 7\n s_nop 7" // found: hazard
                 : "+v"(d) : "v"(a), "v"(b));
    out[local_x()] = d.x;
}
