// `preloaded OBJECT`: launches a kernel "k" that stores 5 dwords: four that it has in registers, of which the first two are its
// buffer's address and the others 11 and 22, and one behind them.
#include "check.h"

int main(int, char **words) {
    hipModule_t module;
    hipFunction_t kernel;
    unsigned *out, a = 11, b = 22, seen[5];
    HIP(hipModuleLoad(&module, words[1]));
    HIP(hipModuleGetFunction(&kernel, module, "k"));
    HIP(hipMalloc(&out, sizeof(seen)));
    void *arguments[] = {&out, &a, &b};
    HIP(hipModuleLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    HIP(hipMemcpy(seen, out, sizeof(seen), hipMemcpyDeviceToHost));
    CHECK(seen[0] == (unsigned)(size_t)out && seen[1] == (size_t)out >> 32);
    printf("%u %u %u\n", seen[2], seen[3], seen[4]);
    return 0;
}
