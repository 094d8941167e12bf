// What the device prints: the same code is run by HIP and by the mock device alone.
#include "check.h"

__global__ void say(float x) {
    int i = threadIdx.x;
    if (i % 20 != 1) return;
    printf("plain text, 100%%\n");
    printf("%d|%5u|%-6x|%+i|%#o|%c|%hhd|%hd|%ld|%llu\n", -i, i, 255 * i, i, i, 'a' + i % 26, i * 100, i * 10000, -5l, 1ull << 63);
    printf("%*d|%-*d|%.*f\n", 6, i, 6, i, 2, (double)x);
    printf("%f %e %g %a %10.3f|%-10.1f|\n", x, x * 1e10, x / 3, x, x, x);
    printf("%s, %s and %s, %p\n", i > 20 ? "a string of more than eight bytes" : "short", "", "b", (void *)(0x1000L + i));
    printf("a line that is long enough for several packets of the host call, of fifty-six bytes each, %d", i);
    printf("\n");
}

static void print() {
    say<<<1, 64>>>(1.5f);
    HIP(hipDeviceSynchronize());
}

CASES({"print", print})
