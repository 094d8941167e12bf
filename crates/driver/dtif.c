// libdtif.so: what a ROCr that is told HSA_ENABLE_DTIF=1 loads instead of its own thunk. It takes only functions that are this
// library's own, so each one here jumps to the driver's, in libhsakmt.so.1. It wants libdrm's functions from here as well, for
// buffers that are shared with graphics, which mock GPUs do not have.
//
// DTIF_FUNCTIONS is a file with a line FORWARD(name) for each function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>

#define FORWARD(name)                                          \
    __attribute__((visibility("hidden"))) void *driver_##name; \
    __attribute__((naked)) void name(void) { __asm__("jmp *driver_" #name "(%rip)"); }
#include DTIF_FUNCTIONS
#undef FORWARD

__attribute__((constructor)) static void find_driver(void) {
#define FORWARD(name) driver_##name = dlsym(RTLD_NEXT, #name);
#include DTIF_FUNCTIONS
#undef FORWARD
}

#define NOT_HERE(name) \
    int name(void) { return -ENOSYS; }

NOT_HERE(amdgpu_device_initialize)
NOT_HERE(amdgpu_device_deinitialize)
NOT_HERE(amdgpu_bo_cpu_map)
NOT_HERE(amdgpu_bo_free)
NOT_HERE(amdgpu_bo_export)
NOT_HERE(amdgpu_bo_import)
NOT_HERE(amdgpu_bo_va_op)
NOT_HERE(amdgpu_bo_query_info)
NOT_HERE(amdgpu_bo_set_metadata)
NOT_HERE(drmCommandWriteRead)
