// Arrays between files, which Python reads and writes, and the device.
#pragma once
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define MUST(call)                                                                          \
    do {                                                                                    \
        int status_ = int(call);                                                            \
        if (status_) {                                                                      \
            fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #call, status_);  \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

template <typename T> static std::vector<T> read_file(const char *name) {
    FILE *file = fopen(name, "rb");
    MUST(file == nullptr);
    fseek(file, 0, SEEK_END);
    std::vector<T> values(ftell(file) / sizeof(T));
    rewind(file);
    MUST(fread(values.data(), sizeof(T), values.size(), file) != values.size());
    fclose(file);
    return values;
}

template <typename T> static void write_file(const char *name, const std::vector<T> &values) {
    FILE *file = fopen(name, "wb");
    MUST(file == nullptr);
    MUST(fwrite(values.data(), sizeof(T), values.size(), file) != values.size());
    fclose(file);
}

template <typename T> static T *zeros(size_t count) {
    T *p;
    MUST(hipMalloc((void **)&p, count * sizeof(T) + 8));
    MUST(hipMemset(p, 0, count * sizeof(T)));
    return p;
}

template <typename T> static T *to_device(const std::vector<T> &values) {
    T *p = zeros<T>(values.size());
    MUST(hipMemcpy(p, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
    return p;
}

template <typename T> static void write_from_device(const char *name, const T *p, size_t count) {
    std::vector<T> values(count);
    MUST(hipMemcpy(values.data(), p, count * sizeof(T), hipMemcpyDeviceToHost));
    write_file(name, values);
}
