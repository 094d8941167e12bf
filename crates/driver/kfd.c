// For programs that look for the kernel's driver themselves, before they ask the runtime: preloaded, it lets them find
// /dev/kfd, and the module amdgpu in what `lsmod` prints or in /sys. rocminfo looks for all of these.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int open_function(const char *, int, ...);

static int open_as(const char *name, const char *path, int flags, int mode) {
    open_function *real = (open_function *)dlsym(RTLD_NEXT, name);
    return real(strcmp(path, "/dev/kfd") == 0 ? "/dev/null" : path, flags, mode);
}

static int mode_of(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    int mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_as("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    int mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_as("open64", path, flags, mode);
}

FILE *popen(const char *command, const char *mode) {
    FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "popen");
    return real(strstr(command, "lsmod") != NULL ? "echo amdgpu" : command, mode);
}

typedef FILE *fopen_function(const char *, const char *);

static FILE *fopen_as(const char *name, const char *path, const char *mode) {
    static const char live[] = "live\n";
    fopen_function *real = (fopen_function *)dlsym(RTLD_NEXT, name);
    if (strcmp(path, "/sys/module/amdgpu/initstate") != 0) return real(path, mode);
    int file = memfd_create("initstate", MFD_CLOEXEC);
    if (file < 0 || write(file, live, strlen(live)) < 0 || lseek(file, 0, SEEK_SET) < 0) return NULL;
    return fdopen(file, "r");
}

FILE *fopen(const char *path, const char *mode) { return fopen_as("fopen", path, mode); }
FILE *fopen64(const char *path, const char *mode) { return fopen_as("fopen64", path, mode); }
