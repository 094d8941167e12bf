// A matrix instruction in inline assembly, which the compiler's pass for hazards does not look into.
#ifdef MENDED
#define PAD "\n s_nop 7\n s_nop 4"
#else
#define PAD
#endif
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
KERNEL exhibit(float *out) {
    i32x4 a = 0x3f803f80;
    f32x4 d = 0;
    asm volatile("s_nop 7\n v_mfma_f32_16x16x32_bf16 %0, %1, %1, %0" PAD : "+v"(d) : "v"(a));
    out[local_x()] = d.x + d.y; // found: hazard
}
