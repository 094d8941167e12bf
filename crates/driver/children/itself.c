// What a program that the loader runs is told about itself. The kernel takes the loader for the program.
#define _GNU_SOURCE
#include "children.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Without links, as the kernel has it; empty where the process's program was not started by the loader.
static char own[PATH_MAX];

// The C library's own is looked up before any child is there, in which that may wait for ever.
static __typeof__(&realpath) c_realpath;

static char *next_realpath(const char *path, char *room) {
    if (c_realpath == NULL) c_realpath = (__typeof__(c_realpath))dlsym(RTLD_NEXT, "realpath");
    return c_realpath(path, room);
}

__attribute__((constructor(102))) static void look(void) {
    const char *loader = getenv("LUTHIER_LOADER"), *program = getenv("LUTHIER_LOADED_PROGRAM");
    struct stat ours, theirs;
    if (loader == NULL || program == NULL || stat("/proc/self/exe", &ours) != 0 || stat(loader, &theirs) != 0) return;
    if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino) return;
    char found[PATH_MAX];
    if (next_realpath(program, found) == NULL) return;
    strcpy(own, found);
    // What ps and pkill know it by.
    const char *name = strrchr(program, '/');
    prctl(PR_SET_NAME, name != NULL ? name + 1 : program);
}

const char *itself(const char *path) {
    if (*own == 0 || path == NULL || strncmp(path, "/proc/", 6) != 0) return NULL;
    path += 6;
    size_t length = strcspn(path, "/");
    if (strcmp(path + length, "/exe") != 0) return NULL;
    if (strncmp(path, "self/", 5) == 0 || strncmp(path, "thread-self/", 12) == 0) return own;
    char *end;
    return strtol(path, &end, 10) == getpid() && end == path + length ? own : NULL;
}

static ssize_t gives(char *to, size_t size) {
    size_t length = strlen(own);
    memcpy(to, own, length < size ? length : size);
    return (ssize_t)(length < size ? length : size);
}

ssize_t readlinkat(int folder, const char *restrict path, char *restrict to, size_t size) {
    if (size > 0 && itself(path) != NULL) return gives(to, size);
    return syscall(SYS_readlinkat, folder, path, to, size);
}

ssize_t readlink(const char *restrict path, char *restrict to, size_t size) {
    return readlinkat(AT_FDCWD, path, to, size);
}

char *realpath(const char *restrict path, char *restrict room) {
    const char *found = itself(path);
    if (found == NULL) return next_realpath(path, room);
    return room == NULL ? strdup(found) : strcpy(room, found);
}

char *canonicalize_file_name(const char *path) {
    return realpath(path, NULL);
}

// What programs call that were compiled to check sizes.
ssize_t __readlink_chk(const char *, char *, size_t, size_t);
ssize_t __readlink_chk(const char *path, char *to, size_t size, size_t room) {
    if (size > room) abort();
    return readlink(path, to, size);
}

ssize_t __readlinkat_chk(int, const char *, char *, size_t, size_t);
ssize_t __readlinkat_chk(int folder, const char *path, char *to, size_t size, size_t room) {
    if (size > room) abort();
    return readlinkat(folder, path, to, size);
}

char *__realpath_chk(const char *, char *, size_t);
char *__realpath_chk(const char *path, char *to, size_t room) {
    if (room < PATH_MAX) abort();
    return realpath(path, to);
}
