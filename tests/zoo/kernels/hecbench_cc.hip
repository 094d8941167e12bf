// Connected components: paths are shortened by a plain store, while others hook trees together by compare and swap.
DEVICE static inline u32 look(u32 *p) { return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
DEVICE static inline u32 representative(u32 node, u32 *parent) {
    u32 above = look(&parent[node]);
    if (above != node) {
        u32 previous = node, next;
        while (above > (next = look(&parent[above]))) {
#ifdef MENDED
            __hip_atomic_store(&parent[previous], next, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
            parent[previous] = next; // found: memory-race
#endif
            previous = above;
            above = next;
        }
    }
    return above;
}
KERNEL exhibit(u32 *parent, const u32 *from, const u32 *to) {
    u32 i = global_x();
    u32 a = representative(from[i], parent), b = representative(to[i], parent);
    for (;;) {
        if (a == b) break;
        u32 low = a < b ? a : b, high = a < b ? b : a, found = high;
        __hip_atomic_compare_exchange_strong(&parent[high], &found, low, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); // found: memory-race
        if (found == high) break;
        a = low, b = found;
    }
}
