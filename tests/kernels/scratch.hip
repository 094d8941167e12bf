#include "gpu.h"

// A private array with run-time indices: an insertion sort a lane, in scratch.
KERNEL scratch(const i32 *in, i32 *out, u32 n) {
    u32 i = global_x();
    if (i >= n) return;
    i32 items[16];
    for (u32 k = 0; k < 16; ++k) items[k] = in[i * 16 + k];
    for (u32 k = 1; k < 16; ++k) {
        i32 item = items[k];
        u32 at = k;
        for (; at > 0 && items[at - 1] > item; --at) items[at] = items[at - 1];
        items[at] = item;
    }
    for (u32 k = 0; k < 16; ++k) out[i * 16 + k] = items[k];
}
