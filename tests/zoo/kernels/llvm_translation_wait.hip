// On gfx1250 an access may be replayed after a page fault: its address must stay until the translation is done (XCNT).
#ifdef MENDED
#define WAIT "s_wait_xcnt 0x0\n"
#else
#define WAIT
#endif
KERNEL exhibit(u32 *out) {
    u64 at = (u64)(out + local_x());
    u32 value = local_x() + 1;
    asm volatile("global_store_b32 %0, %1, off\n" WAIT "v_mov_b64 %0, 0" : "+v"(at) : "v"(value) : "memory"); // found: hazard
}
