// Which programs the loader has to start, and with what words.
#define _GNU_SOURCE
#include "children.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYSTEM_LOADER "/lib64/ld-linux-x86-64.so.2"
#define LOADER "LUTHIER_LOADER="
#define LOADER_PATH "LUTHIER_LOADER_PATH="
#define LOADER_PRELOAD "LUTHIER_LOADER_PRELOAD="
#define LIBRARY_PATH "LD_LIBRARY_PATH="
#define LOADED_PROGRAM "LUTHIER_LOADED_PROGRAM="

// The bytes of a script in which the kernel looks for its interpreter, and how often an interpreter may be a script.
enum { LINE = 256, SCRIPTS = 5 };

typedef union {
    char text[LINE + 1];
    Elf64_Ehdr elf;
} head_t;

enum kind { AS_IT_IS, LOADED, SCRIPT };

static const char *value(char *const environment[], const char *name) {
    for (size_t length = strlen(name); environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0) return *environment + length;
    return NULL;
}

static bool is_file(const char *path, mode_t bits) {
    struct stat found;
    return syscall(SYS_newfstatat, AT_FDCWD, path, &found, 0) == 0 && S_ISREG(found.st_mode) && (found.st_mode & bits) == 0 &&
           syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

static bool reads(int file, void *to, size_t size, uint64_t at) {
    return syscall(SYS_pread64, file, to, size, at) == (long)size;
}

static bool has_system_loader(int file, const Elf64_Ehdr *elf) {
    if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != EM_X86_64 || elf->e_phentsize != sizeof(Elf64_Phdr)) return false;
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        Elf64_Phdr header;
        char name[sizeof SYSTEM_LOADER];
        if (!reads(file, &header, sizeof header, elf->e_phoff + i * sizeof header)) return false;
        if (header.p_type != PT_INTERP) continue;
        return header.p_filesz == sizeof name && reads(file, name, sizeof name, header.p_offset) &&
               memcmp(name, SYSTEM_LOADER, sizeof name) == 0;
    }
    return false;
}

// What is at a path. Of a script, `head` has the line behind its `#!`.
static enum kind kind_of(const char *path, head_t *head) {
    // Setuid and setgid, and capabilities.
    if (!is_file(path, S_ISUID | S_ISGID) || syscall(SYS_getxattr, path, "security.capability", NULL, 0) > 0) return AS_IT_IS;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (file < 0) return AS_IT_IS;
    enum kind kind = AS_IT_IS;
    long size = syscall(SYS_pread64, file, head->text, LINE, 0);
    head->text[size < 0 ? 0 : size] = 0;
    if (size > 2 && memcmp(head->text, "#!", 2) == 0)
        kind = SCRIPT;
    else if (size >= (long)sizeof head->elf && memcmp(head->text, ELFMAG, SELFMAG) == 0 && has_system_loader(file, &head->elf))
        kind = LOADED;
    syscall(SYS_close, file);
    return kind;
}

// A script's interpreter, and the one word for it that may follow, as the kernel takes them; NULL where there is none.
static const char *interpreter(char line[LINE + 1], const char **word) {
    static const char blanks[] = " \t";
    char *end = strchr(line, '\n');
    // Where the line goes on beyond what is looked at, the interpreter's name has to be whole.
    bool is_cut = end == NULL && strlen(line) == LINE;
    if (end == NULL) end = line + strlen(line);
    while (end > line + 2 && strchr(blanks, end[-1]) != NULL) end--;
    *end = 0;
    char *name = line + 2 + strspn(line + 2, blanks);
    char *behind = name + strcspn(name, blanks);
    if (*name == 0 || (is_cut && *behind == 0)) return NULL;
    *word = NULL;
    if (*behind != 0) {
        *behind++ = 0;
        *word = behind + strspn(behind, blanks);
    }
    return name;
}

static size_t count(char *const words[]) {
    size_t n = 0;
    while (words[n] != NULL) n++;
    return n;
}

static char *append(char *to, const char *text) {
    return stpcpy(to, text);
}

// Starts a program by the loader, with `before` in front of the words behind the first.
static int load(const char *loader, const char *program, const char *called, const char *const *before, size_t before_count,
                char *const words[], char *const environment[], starts *start, void *how) {
    const char *folders = value(environment, LOADER_PATH), *more = value(environment, LIBRARY_PATH);
    char libraries[strlen(folders) + (more ? strlen(more) : 0) + 2];
    char *end = append(libraries, folders);
    // The loader is told one or the other.
    if (more != NULL && *more != 0) append(append(end, ":"), more);
    char path[strlen(program) + 3];
    // It looks for names without a folder where libraries are.
    append(append(path, strchr(program, '/') ? "" : "./"), program);

    size_t room = sizeof LOADED_PROGRAM + strlen(program) + 1;
    char told[*program == '/' ? room : room + PATH_MAX];
    end = append(told, LOADED_PROGRAM);
    if (*program != '/' && syscall(SYS_getcwd, end, PATH_MAX) > 0) end = append(told + strlen(told), "/");
    append(end, strncmp(program, "./", 2) == 0 ? program + 2 : program);

    const char *preloaded = value(environment, LOADER_PRELOAD);
    const char *options[] = {loader, "--argv0", called, "--library-path", libraries, "--preload", preloaded ? preloaded : "", path};
    enum { OPTIONS = sizeof options / sizeof *options };
    size_t n = count(words), m = count(environment), at = 0;
    const char *all[OPTIONS + before_count + n + 1];
    for (size_t i = 0; i < OPTIONS; i++) all[at++] = options[i];
    for (size_t i = 0; i < before_count; i++) all[at++] = before[i];
    for (size_t i = 1; i <= n; i++) all[at++] = words[i];

    char *variables[m + 2];
    at = 0;
    for (size_t i = 0; i < m; i++)
        if (strncmp(environment[i], LOADED_PROGRAM, sizeof LOADED_PROGRAM - 1) != 0) variables[at++] = environment[i];
    variables[at++] = told;
    variables[at] = NULL;
    return start(loader, (char *const *)all, variables, how);
}

bool by_loader(const char *path, char *const words[], char *const environment[], starts *start, void *how, int *result) {
    const char *loader = value(environment, LOADER);
    if (loader == NULL || value(environment, LOADER_PATH) == NULL || path == NULL || words == NULL || words[0] == NULL) return false;
    head_t heads[SCRIPTS + 1];
    // From the back: the interpreter of an interpreter comes before it.
    const char *before[2 * SCRIPTS], *called = words[0], *program = itself(path);
    size_t first = 2 * SCRIPTS;
    if (program == NULL) program = path;
    for (int scripts = 0;; scripts++) {
        enum kind kind = kind_of(program, &heads[scripts]);
        if (kind == LOADED) break;
        const char *word, *name = kind == SCRIPT && scripts < SCRIPTS ? interpreter(heads[scripts].text, &word) : NULL;
        if (name == NULL) return false;
        before[--first] = program;
        if (word != NULL) before[--first] = word;
        program = called = name;
    }
    *result = load(loader, program, called, before + first, 2 * SCRIPTS - first, words, environment, start, how);
    return true;
}

const char *on_path(const char *name, char room[PATH_MAX]) {
    if (name == NULL || *name == 0) return NULL;
    if (strchr(name, '/') != NULL) return name;
    const char *folders = getenv("PATH");
    if (folders == NULL) folders = "/bin:/usr/bin";
    for (size_t length;; folders += length + 1) {
        length = strcspn(folders, ":");
        if (length + strlen(name) + 2 <= PATH_MAX) {
            char *end = mempcpy(room, folders, length);
            append(append(end, length ? "/" : ""), name);
            if (is_file(room, 0)) return room;
        }
        if (folders[length] == 0) return NULL;
    }
}

const char *path_of(int file, const char *below, char room[PATH_MAX]) {
    char link[64] = "/proc/self/fd/", digits[16], *digit = digits + sizeof digits - 1;
    *digit = 0;
    if (file < 0) return NULL;
    do *--digit = (char)('0' + file % 10);
    while ((file /= 10) != 0);
    strcat(link, digit);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, room, PATH_MAX - 1);
    if (length <= 0 || *room != '/' || length + strlen(below) + 2 > PATH_MAX) return NULL;
    room[length] = 0;
    if (*below != 0) append(append(room + length, "/"), below);
    return room;
}
