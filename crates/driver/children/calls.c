// The C library's functions that start programs. What `system` and `popen` start is the system's shell, by no function that
// could be replaced: it runs on the system's C library, with this library in it, and starts its own children by these.
#define _GNU_SOURCE
#include "children.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// The C library's own are looked up before any child is there, in which that may wait for ever.
static __typeof__(&execvpe) c_execvpe;
static __typeof__(&fexecve) c_fexecve;
static __typeof__(&posix_spawn) c_posix_spawn, c_posix_spawnp;
#define FIND(name) \
    if (c_##name == NULL) c_##name = (__typeof__(c_##name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor(101))) static void find(void) {
    FIND(execvpe);
    FIND(fexecve);
    FIND(posix_spawn);
    FIND(posix_spawnp);
}

static int becomes(const char *program, char *const words[], char *const environment[], void *how) {
    (void)how;
    return (int)syscall(SYS_execve, program, words, environment);
}

int execve(const char *path, char *const words[], char *const environment[]) {
    int result;
    if (by_loader(path, words, environment, becomes, NULL, &result)) return result;
    return becomes(path, words, environment, NULL);
}

int execv(const char *path, char *const words[]) {
    return execve(path, words, environ);
}

int execvpe(const char *name, char *const words[], char *const environment[]) {
    char room[PATH_MAX];
    int result;
    if (by_loader(on_path(name, room), words, environment, becomes, NULL, &result)) return result;
    FIND(execvpe);
    return c_execvpe(name, words, environment);
}

int execvp(const char *name, char *const words[]) {
    return execvpe(name, words, environ);
}

// The words of a call that has them one by one, in an array `words`. `rest` is behind them then.
#define GATHER(first)                                                     \
    va_list rest;                                                         \
    size_t count = 1;                                                     \
    va_start(rest, first);                                                \
    while (va_arg(rest, char *) != NULL) count++;                         \
    va_end(rest);                                                         \
    char *words[count + 1];                                               \
    words[0] = (char *)first;                                             \
    va_start(rest, first);                                                \
    for (size_t i = 1; i <= count; i++) words[i] = va_arg(rest, char *);

int execl(const char *path, const char *first, ...) {
    GATHER(first)
    va_end(rest);
    return execv(path, words);
}

int execlp(const char *name, const char *first, ...) {
    GATHER(first)
    va_end(rest);
    return execvp(name, words);
}

int execle(const char *path, const char *first, ...) {
    GATHER(first)
    char *const *environment = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, words, environment);
}

// Newer than the C library that wheels are linked with.
int execveat(int, const char *, char *const[], char *const[], int);
int execveat(int folder, const char *path, char *const words[], char *const environment[], int flags) {
    char room[PATH_MAX];
    int result;
    const char *found = NULL;
    if ((flags & ~AT_EMPTY_PATH) == 0)
        found = *path == '/' || (folder == AT_FDCWD && *path != 0) ? path : *path != 0 || flags ? path_of(folder, path, room) : NULL;
    if (by_loader(found, words, environment, becomes, NULL, &result)) return result;
    return (int)syscall(SYS_execveat, folder, path, words, environment, flags);
}

int fexecve(int file, char *const words[], char *const environment[]) {
    char room[PATH_MAX];
    int result;
    if (by_loader(path_of(file, "", room), words, environment, becomes, NULL, &result)) return result;
    FIND(fexecve);
    return c_fexecve(file, words, environment);
}

struct spawned {
    pid_t *child;
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes;
};

static int spawns(const char *program, char *const words[], char *const environment[], void *how) {
    struct spawned *one = how;
    FIND(posix_spawn);
    return c_posix_spawn(one->child, program, one->actions, one->attributes, words, environment);
}

int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                char *const words[], char *const environment[]) {
    struct spawned one = {child, actions, attributes};
    int error;
    return by_loader(path, words, environment, spawns, &one, &error) ? error : spawns(path, words, environment, &one);
}

int posix_spawnp(pid_t *child, const char *name, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const words[], char *const environment[]) {
    struct spawned one = {child, actions, attributes};
    char room[PATH_MAX];
    int error;
    if (by_loader(on_path(name, room), words, environment, spawns, &one, &error)) return error;
    FIND(posix_spawnp);
    return c_posix_spawnp(child, name, actions, attributes, words, environment);
}
