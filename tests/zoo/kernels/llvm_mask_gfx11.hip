// With 64 lanes: a scalar that was a mask is written by the VALU, and read.
#ifdef MENDED
#define WAIT "s_waitcnt_depctr depctr_va_sdst(0)\n"
#else
#define WAIT
#endif
KERNEL exhibit(u32 *out) {
    u32 d = 0, one = 1;
    asm volatile("s_mov_b64 s[20:21], exec\n s_nop 0\n v_cndmask_b32_e64 %0, 0, %1, s[20:21]\n v_readfirstlane_b32 s20, %1\n" WAIT "v_add_nc_u32 %0, s20, %0" // found: hazard
                 : "+v"(d) : "v"(one) : "s20", "s21");
    out[local_x()] = d;
}
