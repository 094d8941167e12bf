// libdtif.so: what a ROCr that is told HSA_ENABLE_DTIF=1 loads instead of its own thunk. It takes only functions that are this
// library's own, so each one here jumps to the driver's, in libhsakmt.so.1. It wants libdrm's functions for buffers from here as
// well, which have other names there, as programs may have libdrm too.
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

// libdrm's name, and the driver's.
#define BUFFERS(AS)                         \
    AS(amdgpu_bo_import, luthierImport)     \
    AS(amdgpu_bo_export, luthierExport)     \
    AS(amdgpu_bo_free, luthierFree)         \
    AS(amdgpu_bo_va_op, luthierMap)         \
    AS(amdgpu_bo_cpu_map, luthierHostMap)   \
    AS(amdgpu_bo_set_metadata, luthierNote) \
    AS(amdgpu_bo_query_info, luthierQuery)  \
    AS(drmCommandWriteRead, luthierCommand)
#define AS(name, driver) \
    __attribute__((naked)) void name(void) { __asm__("jmp *driver_" #driver "(%rip)"); }
BUFFERS(AS)

__attribute__((constructor)) static void find_driver(void) {
#define FORWARD(name) driver_##name = dlsym(RTLD_NEXT, #name);
#include DTIF_FUNCTIONS
#undef FORWARD
}

#define NOT_HERE(name) \
    int name(void) { return -ENOSYS; }

NOT_HERE(amdgpu_device_initialize)
NOT_HERE(amdgpu_device_deinitialize)
