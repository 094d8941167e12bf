// Starts a program by one of the C library's ways, waits for it and ends with its status:
//     starts WAY PROGRAM ARGUMENT...
// What cannot be started is said, with the error's name, and ends it with status 99.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int fails(int error) {
    fprintf(stderr, "%s\n", strerrorname_np(error));
    return 99;
}

static int status_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int waits(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child) return fails(errno);
    return status_of(status);
}

// The words in one line, as a shell takes them.
static char *line(char **words) {
    static char text[4096];
    for (; *words; words++) strcat(strcat(text, *words), " ");
    return text;
}

static void becomes(const char *way, char **words) {
    char *first = words[0], *second = words[1], *third = second ? words[2] : NULL;
    if (!strcmp(way, "execve") || !strcmp(way, "vfork")) execve(first, words, environ);
    if (!strcmp(way, "execv")) execv(first, words);
    if (!strcmp(way, "execvp")) execvp(first, words);
    if (!strcmp(way, "execvpe")) execvpe(first, words, environ);
    if (!strcmp(way, "execl")) execl(first, first, second, third, NULL);
    if (!strcmp(way, "execlp")) execlp(first, first, second, third, NULL);
    if (!strcmp(way, "execle") && !second) execle(first, first, NULL, environ);
    if (!strcmp(way, "execle")) execle(first, first, second, NULL, environ);
    if (!strcmp(way, "fexecve")) fexecve(open(first, O_RDONLY | O_CLOEXEC), words, environ);
    if (!strcmp(way, "execveat")) {
        char *name = strrchr(first, '/');
        *name = 0;
        int folder = open(first, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        *name = '/';
        execveat(folder, name + 1, words, environ, 0);
    }
    // A program that leaves its environment out: Linux takes that for an empty one.
    if (!strcmp(way, "nothing")) execve(first, words, NULL);
    // As a program without the C library does it.
    if (!strcmp(way, "call")) syscall(SYS_execve, first, words, environ);
}

int main(int argc, char **argv) {
    if (argc < 3) return 98;
    char *way = argv[1], **words = argv + 2;
    pid_t child;
    if (!strcmp(way, "posix_spawn") || !strcmp(way, "posix_spawnp")) {
        __typeof__(&posix_spawn) spawn = way[11] ? posix_spawnp : posix_spawn;
        int error = spawn(&child, words[0], NULL, NULL, words, environ);
        return error ? fails(error) : waits(child);
    }
    if (!strcmp(way, "system")) return status_of(system(line(words)));
    if (!strcmp(way, "popen")) {
        FILE *out = popen(line(words), "r");
        for (int c; (c = getc(out)) != EOF;) putchar(c);
        return status_of(pclose(out));
    }
    child = strcmp(way, "vfork") ? fork() : vfork();
    if (child != 0) return waits(child);
    becomes(way, words);
    _exit(fails(errno));
}
