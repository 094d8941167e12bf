// The look back for a matrix instruction ended one instruction too early.
#ifdef MENDED
#define PAD "v_nop\n"
#else
#define PAD
#endif
typedef int i32x8 __attribute__((ext_vector_type(8)));
KERNEL exhibit(float *out) {
    i32x8 a = 0x38383838;
    float x;
    asm volatile("s_nop 7\n v_mfma_f32_32x32x64_f8f6f4 v[32:47], %1, %1, 0\n" // found: hazard
                 ".rept 19\n v_nop\n .endr\n" PAD "v_add_f32 %0, 1.0, v32\n s_nop 7\n s_nop 7\n s_nop 7"
                 : "=v"(x) : "v"(a) : "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47");
    out[local_x()] = x;
}
