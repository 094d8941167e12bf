#include "gpu.h"

KERNEL choose(const u32 *which, const u32 *in, u32 *out, u32 n) {
    u32 i = global_x();
    if (i >= n) return;
    u32 x = in[i];
    switch (which[i]) {
    case 0: x = x + 1; break;
    case 1: x = x * 3; break;
    case 2: x = x ^ 0x5555; break;
    case 3: x = x >> 3; break;
    case 4: x = x << 7; break;
    case 5: x = ~x; break;
    case 6: x = x / 7; break;
    case 7: x = x % 11; break;
    case 8: x = x - which[(i + 1) % n]; break;
    case 9: x = x | 0xff00; break;
    case 10: x = x & 0x0ff0; break;
    case 11: x = in[(i + 5) % n]; break;
    case 12: x = x * x; break;
    case 13: x = __builtin_popcount(x); break;
    case 14: x = x ? __builtin_ctz(x) : 99; break;
    case 15: x = (x << 16) | (x >> 16); break;
    default: x = 0xdead; break;
    }
    out[i] = x;
}
