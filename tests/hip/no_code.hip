// A program that may have no code for the GPU it runs on: how HIP 7 ends it, and other ways to end by the same signal.
#include "check.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

__global__ void store(int *to) { *to = 7; }

static void one_launch() {
    int *p, value = 0;
    HIP(hipMalloc(&p, 4));
    store<<<1, 1>>>(p);
    HIP(hipMemcpy(&value, p, 4, hipMemcpyDeviceToHost));
    CHECK(value == 7);
}

static void says(int) {
    static const char text[] = "the program's own handler\n";
    (void)!write(1, text, sizeof text - 1);
    _exit(9);
}
static void handled() {
    signal(SIGSEGV, says);
    one_launch();
}
static void handled_later() {
    HIP(hipInit(0));
    signal(SIGSEGV, says);
    one_launch();
}

static void own_fault() {
    HIP(hipInit(0));
    *(volatile int *)8 = 1;
}
static void sent() {
    HIP(hipInit(0));
    kill(getpid(), SIGSEGV);
}

static void forked() {
    HIP(hipInit(0));
    pid_t child = fork();
    if (child == 0) *(volatile int *)8 = 1;
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

CASES({"one_launch", one_launch}, {"handled", handled}, {"handled_later", handled_later}, {"own_fault", own_fault},
      {"sent", sent}, {"forked", forked})
