// Matrices of small whole numbers on the device, in any type, and how many elements of a product of two are wrong. All sums are
// exact in the types that hold them, so each element has one right value, and what lies between the columns stays.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define MUST(call)                                                           \
    do {                                                                     \
        int status_ = (call);                                                \
        if (status_) {                                                       \
            fprintf(stderr, "%d: %s gives %d\n", __LINE__, #call, status_);  \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

enum Kind { F32, F16, BF16, I8, I32 };
static const size_t SIZE[] = {4, 2, 2, 1, 4};
struct Product {
    const char *name;
    Kind in, out, compute;
};

static uint32_t bits(Kind kind, int value) {
    float real = (float)value;
    uint32_t word;
    memcpy(&word, &real, 4);
    if (kind == F32) return word;
    if (kind == BF16) return word >> 16;
    if (kind == F16) return value == 0 ? 0 : (word >> 16 & 0x8000) | (((word >> 23 & 255) - 112) << 10) | (word >> 13 & 0x3ff);
    return (uint32_t)value;
}

static void put(void *at, Kind kind, int value) {
    uint32_t word = bits(kind, value);
    memcpy(at, &word, SIZE[kind]);
}

// Columns of `rows` elements, each three longer than that.
struct Matrix {
    Kind kind;
    int rows, columns, stride;
    std::vector<int> values;
    std::vector<char> bytes;
    void *device;
    Matrix(Kind kind, int rows, int columns, int seed)
        : kind(kind), rows(rows), columns(columns), stride(rows + 3), values(stride * columns), bytes(values.size() * SIZE[kind]) {
        for (size_t i = 0; i < values.size(); i++) {
            seed = (int)(seed * 1103515245u + 12345u);
            values[i] = (seed >> 16 & 7) - 3;
            put(&bytes[i * SIZE[kind]], kind, values[i]);
        }
        MUST(hipMalloc(&device, bytes.size()));
        MUST(hipMemcpy(device, bytes.data(), bytes.size(), hipMemcpyHostToDevice));
    }
    ~Matrix() { MUST(hipFree(device)); }
    int at(int row, int column) const { return values[row + column * stride]; }
};

static const int SIZES[][3] = {{37, 29, 45}, {128, 64, 32}, {1, 70, 19}};

// Whether an element is less than 2^-12 off; a half only where it is to be zero.
static bool is_near(Kind kind, uint32_t is, uint32_t must) {
    float value, right;
    memcpy(&value, &is, 4), memcpy(&right, &must, 4);
    if (kind == F32) return fabsf(value - right) < 0x1p-12f;
    return kind == F16 && must == 0 && (is & 0x7fff) < 0x0c00;
}

// The elements of a product that are wrong where the device's C has become 2 A B - C. `near`: those are right that
// are near, as RDNA3's WMMA complements products where others negate them.
static int wrong_elements(const Matrix &a, const Matrix &b, const Matrix &c, bool ta, bool tb, int k, bool near) {
    size_t size = SIZE[c.kind];
    std::vector<char> got(c.bytes.size()), right(c.bytes);
    MUST(hipMemcpy(got.data(), c.device, got.size(), hipMemcpyDeviceToHost));
    for (int j = 0; j < c.columns; j++)
        for (int i = 0; i < c.rows; i++) {
            int sum = 0;
            for (int l = 0; l < k; l++) sum += (ta ? a.at(l, i) : a.at(i, l)) * (tb ? b.at(j, l) : b.at(l, j));
            put(&right[(i + j * c.stride) * size], c.kind, 2 * sum - c.at(i, j));
        }
    int count = 0;
    for (size_t i = 0; i < got.size(); i += size) {
        uint32_t is = 0, must = 0, sign = c.kind == I32 ? 0 : 1u << (size * 8 - 1);
        memcpy(&is, &got[i], size), memcpy(&must, &right[i], size);
        // Zero may have either sign.
        bool passes = is == must || (is | must) == sign || (near && is_near(c.kind, is, must));
        count += !passes;
    }
    return count;
}
