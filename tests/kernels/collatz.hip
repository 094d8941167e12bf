#include "gpu.h"

// Every lane leaves the loop when its own number reaches 1.
KERNEL collatz(const u32 *in, u32 *steps, u32 n) {
    u32 i = global_x();
    if (i >= n) return;
    u64 value = in[i];
    u32 count = 0;
    while (value > 1) {
        value = value & 1 ? 3 * value + 1 : value / 2;
        ++count;
    }
    steps[i] = count;
}
