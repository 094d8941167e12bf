/* Functions of C libraries newer than glibc 2.28 that LLVM, libstdc++ and Rust's libraries, built on Debian 12, name. Each library
 * of the wheel gets its own, hidden ones; what is not named is left out by the linker. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* 2.32: libstdc++ counts references without atomics while it is true. */
HIDDEN char __libc_single_threaded = 0;

/* 2.30 */
HIDDEN pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

/* 2.36: behind libstdc++'s std::random_device. */
HIDDEN uint32_t arc4random(void) {
    uint32_t number = 0;
    while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
    }
    return number;
}

/* 2.33: LLVM's statistics of memory, whose fields were ints before. */
struct newer_mallinfo {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
HIDDEN struct newer_mallinfo newer_mallinfo2(void) __asm__("mallinfo2");
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
HIDDEN struct newer_mallinfo newer_mallinfo2(void) {
    struct mallinfo old = mallinfo();
    struct newer_mallinfo info = {.arena = (unsigned)old.arena, .hblkhd = (unsigned)old.hblkhd, .uordblks = (unsigned)old.uordblks};
    return info;
}
