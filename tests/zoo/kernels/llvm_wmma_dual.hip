// On gfx1250 a matrix instruction still reads its factors when a dual instruction overwrites them.
#ifdef MENDED
#define PAD "v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n"
#else
#define PAD
#endif
KERNEL exhibit(float *out) {
    u32 at = local_x() * 4;
    asm volatile("v_mov_b32 v16, 0\n v_mov_b32 v17, 0\n v_mov_b32 v18, 0\n v_mov_b32 v19, 0\n v_mov_b32 v20, 0\n v_mov_b32 v21, 0\n v_mov_b32 v22, 0\n v_mov_b32 v23, 0\n" // found: hazard
                 "v_mov_b32 v24, 0x3c003c00\n v_mov_b32 v25, v24\n v_mov_b32 v26, v24\n v_mov_b32 v27, v24\n v_mov_b32 v28, v24\n v_mov_b32 v29, v24\n v_mov_b32 v30, v24\n v_mov_b32 v31, v24\n v_nop\n v_nop\n v_nop\n v_nop\n"
                 "v_wmma_f32_16x16x32_f16 v[16:23], v[24:31], v[24:31], v[16:23]\n" PAD
                 "v_dual_mov_b32 v24, v0 :: v_dual_mov_b32 v25, v1\n v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n v_nop\n"
                 "global_store_b32 %0, v16, %1"
                 : : "v"(at), "s"(out) : "memory", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}
