// A scalar from the VALU is the address of a load right after it: the hardware needs five wait states.
KERNEL planted(u32 *out) {
    u32 zero = 0;
    asm volatile("s_mov_b64 s[22:23], 0\n s_mov_b32 s21, 0\n v_readfirstlane_b32 s20, %1\n buffer_load_dword %0, off, s[20:23], 0\n s_waitcnt vmcnt(0)" // planted: hazard
                 : "=v"(zero) : "v"(local_x()) : "s20", "s21", "s22", "s23");
    out[local_x()] = zero;
}
