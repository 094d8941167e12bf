// rocBLAS's products of matrices of small whole numbers, in every type and with every transposition, held to plain loops: all
// sums are exact in the types that hold them, so each element has one right value, and what lies between the columns stays.
// With an argument, a zero of halves may be off by less than 2^-12: RDNA3's WMMA complements products where others negate them.
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>

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
static const rocblas_datatype TYPE[] = {rocblas_datatype_f32_r, rocblas_datatype_f16_r, rocblas_datatype_bf16_r,
                                        rocblas_datatype_i8_r, rocblas_datatype_i32_r};
static const struct {
    const char *name;
    Kind in, out, compute;
} PRODUCTS[] = {{"f32", F32, F32, F32}, {"f16", F16, F16, F32}, {"f16 into f32", F16, F32, F32}, {"bf16 into f32", BF16, F32, F32}, {"i8", I8, I32, I32}};

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

static bool near_zero;

static int wrong(rocblas_handle blas, int which, bool ta, bool tb, int m, int n, int k) {
    auto [name, in, out, compute] = PRODUCTS[which];
    Matrix a(in, ta ? k : m, ta ? m : k, 1), b(in, tb ? n : k, tb ? k : n, 2), c(out, m, n, 3);
    int32_t alpha = (int32_t)bits(compute, 2), beta = (int32_t)bits(compute, -1);
    auto how = [](bool transposed) { return transposed ? rocblas_operation_transpose : rocblas_operation_none; };
    MUST(rocblas_gemm_ex(blas, how(ta), how(tb), m, n, k, &alpha, a.device, TYPE[in], a.stride, b.device, TYPE[in], b.stride, &beta,
                         c.device, TYPE[out], c.stride, c.device, TYPE[out], c.stride, TYPE[compute], rocblas_gemm_algo_standard, 0, 0));
    std::vector<char> got(c.bytes.size());
    MUST(hipMemcpy(got.data(), c.device, got.size(), hipMemcpyDeviceToHost));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            int sum = 0;
            for (int l = 0; l < k; l++) sum += (ta ? a.at(l, i) : a.at(i, l)) * (tb ? b.at(j, l) : b.at(l, j));
            put(&c.bytes[(i + j * c.stride) * SIZE[out]], out, 2 * sum - c.at(i, j));
        }
    int count = 0;
    for (size_t i = 0; i < got.size(); i += SIZE[out]) {
        uint32_t is = 0, right = 0, sign = out == I32 ? 0 : 1u << (SIZE[out] * 8 - 1);
        memcpy(&is, &got[i], SIZE[out]), memcpy(&right, &c.bytes[i], SIZE[out]);
        // Zero may have either sign.
        bool passes = is == right || (is | right) == sign || (near_zero && out == F16 && right == 0 && (is & 0x7fff) < 0x0c00);
        count += !passes;
    }
    return count;
}

int main(int words, char **) {
    near_zero = words > 1;
    rocblas_handle blas;
    MUST(rocblas_create_handle(&blas));
    const int sizes[][3] = {{37, 29, 45}, {128, 64, 32}, {1, 70, 19}};
    int all = 0, bad = 0;
    for (int which = 0; which < 5; which++)
        for (int transposed = 0; transposed < 4; transposed++)
            for (auto [m, n, k] : sizes) {
                bool ta = transposed & 1, tb = transposed & 2;
                int count = wrong(blas, which, ta, tb, m, n, k);
                all++, bad += count != 0;
                if (count) printf("%s %c%c %d x %d x %d: %d elements wrong\n", PRODUCTS[which].name, ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, count);
            }
    MUST(rocblas_destroy_handle(blas));
    printf("%d products, %d wrong\n", all, bad);
    return bad != 0;
}
