// The compiler left out an s_nop between a wide store in a branch and the instruction that overwrites what is stored.
#ifdef MENDED
#define PAD "s_nop 0\n"
#else
#define PAD
#endif
KERNEL exhibit(float *out) {
    u32 at = local_x() * 16;
    asm volatile("v_mov_b32 v34, 1.0\n v_mov_b32 v35, 2.0\n v_mov_b32 v36, 4.0\n v_mov_b32 v37, 0.5\n s_mov_b64 s[34:35], exec\n" // found: hazard
                 "global_store_dwordx4 %0, v[34:37], %1\n s_or_b64 exec, exec, s[34:35]\n" PAD
                 "v_pk_mul_f32 v[34:35], v[36:37], v[36:37]\n s_nop 4"
                 : : "v"(at), "s"(out) : "v34", "v35", "v36", "v37", "s34", "s35", "memory");
}
