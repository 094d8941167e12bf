// A loop of fence, load and store: the fence at its head has to wait for the store of the round before.
#if __GFX12__
#define WAIT "s_wait_loadcnt 0x0\n s_wait_storecnt 0x0"
#elif __GFX9__
#define WAIT "s_waitcnt vmcnt(0)"
#else
#define WAIT "s_waitcnt vmcnt(0)\n s_waitcnt_vscnt null, 0x0"
#endif
#if __GFX12__
#define MEET "s_barrier_signal -1\n s_barrier_wait -1\n global_inv scope:SCOPE_SE\n s_wait_loadcnt 0x0"
#elif __GFX9__
#define MEET "s_barrier"
#else
#define MEET "s_barrier\n buffer_gl0_inv"
#endif
KERNEL exhibit(u32 *data, u32 rounds) {
    u32 t = local_x();
    for (u32 round = 0; round < rounds; round++) {
#ifdef MENDED
        asm volatile(WAIT : : : "memory");
#endif
        asm volatile(MEET : : : "memory");
        u32 value = data[128 * round + (t ^ 64)]; // found: missing-wait
        data[128 * round + 128 + t] = value + 1;
    }
}
