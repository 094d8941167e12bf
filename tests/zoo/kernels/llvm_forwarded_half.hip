// An instruction that writes one half of a register and keeps the other reads the register too.
#ifdef MENDED
#define PAD "s_nop 0\n"
#else
#define PAD
#endif
KERNEL exhibit(u32 *out) {
    u32 d = 0, high = local_x() + 1, low = local_x() + 2;
    asm volatile("v_add_u32_sdwa %0, %1, %1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD\n" PAD // found: hazard
                 "v_add_u32_sdwa %0, %2, %2 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD\n s_nop 4"
                 : "+v"(d) : "v"(high), "v"(low));
    out[local_x()] = d;
}
