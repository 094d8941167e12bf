// Every wave comes to one place, an s_nop 7, n times.
#define KERNEL extern "C" __attribute__((global)) void

KERNEL record(unsigned n) {
    for (unsigned k = 0; k < n; k++) asm volatile("s_nop 7" ::"s"(k));
}
