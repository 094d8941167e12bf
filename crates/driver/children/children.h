// Preloaded where a program runs on a C library that is not the system's, started by that library's own loader: the programs
// that it starts are started so, too, and a program that asks what it is hears of itself, not of the loader.
//
// The environment that a child is given decides: LUTHIER_LOADER is the loader, LUTHIER_LOADER_PATH has the folders of its
// libraries, LUTHIER_LOADER_PRELOAD the libraries that it loads first. A child that is given neither is started as it is.
//
// Calls that start a program may come from a child after vfork, or of a process with many threads: they allocate nothing, take
// no lock, and ask the kernel by system calls of their own, as other preloaded libraries stand in front of open and its kin.
#include <limits.h>
#include <stdbool.h>

#define HIDDEN __attribute__((visibility("hidden")))

// What starts a program: its result is the caller's.
typedef int starts(const char *program, char *const words[], char *const environment[], void *how);

// Has the loader start the program at a path, or the interpreter of the script that is there. False where the program is to be
// started as it is: it is not there, cannot be executed, has no loader, another one than the system's, or more rights than its
// user, which a loader would not give it.
HIDDEN bool by_loader(const char *path, char *const words[], char *const environment[], starts *start, void *how, int *result);

// The program with this name on the PATH, as the C library looks for it; NULL where there is none. A path is itself.
HIDDEN const char *on_path(const char *name, char room[PATH_MAX]);

// The path of what is open, or of a path below the folder that is; NULL where that is too long or gone.
HIDDEN const char *path_of(int file, const char *below, char room[PATH_MAX]);

// This process's program, where `path` is the kernel's link to it (/proc/self/exe) and leads to the loader; else NULL.
HIDDEN const char *itself(const char *path);
