// Calls of HIP's functions that are wrong, and memory that is not given back. Prints the addresses that matter.
#include "check.h"

int main() {
    char *kept, *given_back, *twice, *whole, *host, *managed;
    HIP(hipMalloc(&kept, 1000));
    HIP(hipMalloc(&given_back, 2000));
    HIP(hipMalloc(&twice, 3000));
    HIP(hipMalloc(&whole, 3500));
    HIP(hipHostMalloc(&host, 4000, 0));
    HIP(hipMallocManaged(&managed, 5000, hipMemAttachGlobal));
    HIP(hipFree(given_back));
    HIP(hipFree(twice));
    HIP(hipFree(nullptr));
    HIP(hipHostFree(host));
    printf("kept %p twice %p inside %p managed %p\n", (void *)kept, (void *)twice, (void *)(whole + 512), (void *)managed);
    fflush(stdout);
    (void)hipGetLastError();
    (void)hipFree(twice);
    (void)hipFree(whole + 512);  // HIP 5.2.3 frees all of it
    (void)hipFree((void *)0x1234500);
    (void)hipMemcpy(nullptr, kept, 10, hipMemcpyDeviceToDevice);
    hipError_t error = hipGetLastError();
    (void)hipSetDevice(1000);
    printf("%s\n", hipGetErrorString(error));
}
