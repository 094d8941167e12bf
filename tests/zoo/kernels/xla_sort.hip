// A bitonic sort in LDS whose barriers have no fences beside them.
#ifdef MENDED
#define meet() barrier()
#else
#define meet() __builtin_amdgcn_s_barrier() // found: missing-wait
#endif
KERNEL exhibit(u32 *data) {
    enum { N = 256 };
    LDS u32 keys[N];
    u32 t = local_x();
    keys[t] = data[t];
    meet();
    for (u32 size = 2; size <= N; size *= 2)
        for (u32 stride = size / 2; stride > 0; stride /= 2) {
            u32 other = t ^ stride;
            if (other > t) {
                u32 a = keys[t], b = keys[other]; // found: missing-wait | lds-race
                if ((a > b) == ((t & size) == 0)) {
                    keys[t] = b; // found: missing-wait | lds-race
                    keys[other] = a; // found: missing-wait | lds-race
                }
            }
            meet();
        }
    data[t] = keys[t]; // found: missing-wait | lds-race
}
