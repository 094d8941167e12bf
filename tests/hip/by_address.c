// A program that is not linked with HIP and takes its functions from the library, each in another way.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

// Of the library, unless `where` has it, as it does where something was loaded before the program's own libraries.
static void *function(void *where, const char *name) {
    void *found = dlsym(where, name);
    if (!found) found = dlsym(library, name);
    if (!found) printf("%s: %s\n", name, dlerror()), exit(1);
    return found;
}

int main(void) {
    library = dlopen(HIP_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) return printf("%s\n", dlerror()), 1;
    int (*count)(int *) = function(library, "hipGetDeviceCount");
    int (*allocate)(void **, size_t) = function(RTLD_NEXT, "hipMalloc");
    int (*set)(void *, int, size_t) = function(RTLD_DEFAULT, "hipMemset");
    int (*copy)(void *, const void *, size_t, int) = function(library, "hipMemcpy");
    int (*release)(void *) = function(library, "hipFree");

    int gpus = 0, word = 0;
    void *memory = NULL;
    int status[] = {count(&gpus), allocate(&memory, 4), set(memory, 0x5a, 4), copy(&word, memory, 4, 2), release(memory)};
    for (int i = 0; i < 5; i++)
        if (status[i]) printf("call %d gives %d\n", i, status[i]);

    // What is not there is said as ever, and what is not HIP's is nobody else's.
    dlerror();
    int missing = !dlsym(library, "hipNoSuchFunction") && dlerror() != NULL;
    void *numbers = dlopen("libm.so.6", RTLD_NOW);
    double (*cosine)(double) = dlsym(numbers, "cos");
    int (*float_function)(void *, float) = dlsym(library, "hipTexRefSetMipmapLevelBias");
    printf("%d GPUs, %x, %d, %g, %d\n", gpus, word, missing, cosine(0), float_function != NULL);
    return 0;
}
