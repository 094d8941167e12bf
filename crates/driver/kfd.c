// For programs that look for the kernel's driver themselves, before they ask the runtime or instead of it: preloaded, it leads
// them from /dev/kfd, /dev/dri and the files of /sys that are about GPUs to those of the mock GPUs, which stand below the
// folder LUTHIER_KFD, and has `lsmod` print the module's name. Where the variable is not set, all is as without this.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const places[] = {
    "/dev/kfd", "/dev/dri", "/sys/class/kfd", "/sys/devices/virtual/kfd", "/sys/class/drm", "/sys/module/amdgpu",
};

// Where a path leads: itself, or a file of the mock GPUs, whose name is written into `room`.
static const char *led(const char *path, char room[PATH_MAX]) {
    const char *root = getenv("LUTHIER_KFD");
    if (path == NULL || path[0] != '/' || root == NULL || root[0] == 0) return path;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t len = strlen(places[i]);
        if (strncmp(path, places[i], len) != 0 || (path[len] != 0 && path[len] != '/')) continue;
        // The one is a link to the other.
        if (strncmp(path, "/sys/devices/virtual/kfd", 24) == 0)
            snprintf(room, PATH_MAX, "%s/sys/class/kfd%s", root, path + 24);
        else
            snprintf(room, PATH_MAX, "%s%s", root, path);
        return room;
    }
    return path;
}

#define REAL(name)                                    \
    static __typeof__(&name) real;                    \
    if (real == NULL) real = dlsym(RTLD_NEXT, #name); \
    char room[PATH_MAX];

static int mode_of(int flags, va_list arguments) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, int) : 0;
}

#define OPENS(name)                                  \
    int name(const char *path, int flags, ...) {     \
        REAL(name)                                   \
        va_list arguments;                           \
        va_start(arguments, flags);                  \
        int mode = mode_of(flags, arguments);        \
        va_end(arguments);                           \
        return real(led(path, room), flags, mode);   \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                        \
    int name(int folder, const char *path, int flags, ...) {  \
        REAL(name)                                            \
        va_list arguments;                                    \
        va_start(arguments, flags);                           \
        int mode = mode_of(flags, arguments);                 \
        va_end(arguments);                                    \
        return real(folder, led(path, room), flags, mode);    \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

#define LEADS(result, name, takes, gives) \
    result name takes {                   \
        REAL(name)                        \
        return real gives;                \
    }
// What a C library that checks sizes calls.
int __open_2(const char *, int);
int __open64_2(const char *, int);
LEADS(int, __open_2, (const char *path, int flags), (led(path, room), flags))
LEADS(int, __open64_2, (const char *path, int flags), (led(path, room), flags))
LEADS(FILE *, fopen, (const char *path, const char *mode), (led(path, room), mode))
LEADS(FILE *, fopen64, (const char *path, const char *mode), (led(path, room), mode))
LEADS(DIR *, opendir, (const char *path), (led(path, room)))
LEADS(int, access, (const char *path, int mode), (led(path, room), mode))
LEADS(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, led(path, room), mode, flags))
LEADS(int, stat, (const char *path, struct stat *to), (led(path, room), to))
LEADS(int, lstat, (const char *path, struct stat *to), (led(path, room), to))
LEADS(int, stat64, (const char *path, struct stat64 *to), (led(path, room), to))
LEADS(int, lstat64, (const char *path, struct stat64 *to), (led(path, room), to))
LEADS(int, fstatat, (int folder, const char *path, struct stat *to, int flags), (folder, led(path, room), to, flags))
LEADS(int, fstatat64, (int folder, const char *path, struct stat64 *to, int flags), (folder, led(path, room), to, flags))
LEADS(int, statx, (int folder, const char *path, int flags, unsigned mask, struct statx *to),
      (folder, led(path, room), flags, mask, to))
// As programs call them that were built with a C library before 2.33.
int __xstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat(int, const char *, struct stat *);
int __lxstat64(int, const char *, struct stat64 *);
LEADS(int, __xstat, (int version, const char *path, struct stat *to), (version, led(path, room), to))
LEADS(int, __xstat64, (int version, const char *path, struct stat64 *to), (version, led(path, room), to))
LEADS(int, __lxstat, (int version, const char *path, struct stat *to), (version, led(path, room), to))
LEADS(int, __lxstat64, (int version, const char *path, struct stat64 *to), (version, led(path, room), to))

FILE *popen(const char *command, const char *mode) {
    static __typeof__(&popen) real;
    if (real == NULL) real = dlsym(RTLD_NEXT, "popen");
    return real(getenv("LUTHIER_KFD") != NULL && strstr(command, "lsmod") != NULL ? "echo amdgpu" : command, mode);
}
