// What the programs of this folder share: cases by name, and checks that stop.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);           \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

#define HIP(call)                                                                             \
    do {                                                                                      \
        hipError_t error_ = (call);                                                           \
        if (error_ != hipSuccess) {                                                           \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error_)); \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

struct Case {
    const char *name;
    void (*run)();
};

#define CASES(...)                                                                            \
    int main(int count, char **words) {                                                       \
        static const Case cases[] = {__VA_ARGS__};                                            \
        for (const Case &one : cases) {                                                       \
            if (count < 2) {                                                                  \
                puts(one.name);                                                               \
            } else if (!strcmp(one.name, words[1])) {                                         \
                one.run();                                                                    \
                printf("%s: passed\n", one.name);                                             \
                fflush(stdout);                                                               \
                return 0;                                                                     \
            }                                                                                 \
        }                                                                                     \
        return count < 2 ? 0 : 2;                                                             \
    }

static std::vector<int> numbers(int n, int first = 0, int step = 1) {
    std::vector<int> v(n);
    for (int i = 0; i < n; i++) v[i] = first + i * step;
    return v;
}
