// A release that does not wait for its cache to be written back: the flag may be seen before the data.
#ifdef MENDED
#define WAIT "s_waitcnt vmcnt(0)\n"
#else
#define WAIT
#endif
KERNEL exhibit(u32 *data, u32 *flag, u32 *out) {
    u32 at = local_x() * 4, value = local_x() + 1, one = 1, zero = 0;
    if (group_x() == 0) {
        asm volatile("global_store_dword %0, %1, %2\n s_waitcnt vmcnt(0)\n buffer_wbl2 sc1\n" WAIT "global_store_dword %3, %4, %5 sc1"
                     : : "v"(at), "v"(value), "s"(data), "v"(zero), "v"(one), "s"(flag) : "memory");
    } else {
        while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        out[local_x()] = data[local_x()]; // found: memory-race | missing-wait
    }
}
