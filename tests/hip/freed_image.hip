// A kernel of a module whose image is given back before it is launched: MODULE names the file. With a word, it stores where no
// memory is.
#include "check.h"

#include <fstream>
#include <iterator>

int main(int words, char **) {
    std::ifstream file(getenv("MODULE"), std::ios::binary);
    std::vector<char> image((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    hipModule_t module;
    hipFunction_t function;
    HIP(hipModuleLoadData(&module, image.data()));
    std::fill(image.begin(), image.end(), 0x55);
    HIP(hipModuleGetFunction(&function, module, "vecadd"));
    int n = 1024;
    float *a, *c;
    HIP(hipMalloc(&a, n * 4));
    HIP(hipMalloc(&c, n * 4));
    std::vector<float> v(n, 1.25f);
    HIP(hipMemcpy(a, v.data(), n * 4, hipMemcpyHostToDevice));
    int more = words > 1 ? n + 1 : n;
    void *arguments[] = {&a, &a, &c, &more};
    HIP(hipModuleLaunchKernel(function, 5, 1, 1, 256, 1, 1, 0, 0, arguments, nullptr));
    HIP(hipMemcpy(v.data(), c, n * 4, hipMemcpyDeviceToHost));
    for (float x : v) CHECK(x == 2.5f);
    puts("right");
    return 0;
}
