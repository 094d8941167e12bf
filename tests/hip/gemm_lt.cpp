// hipBLASLt's products of matrices of small whole numbers, in every type and with every transposition, by each of the kernels
// that it proposes, held to plain loops. With an argument, elements may be off as RDNA3's WMMA leaves them.
#include <hipblaslt/hipblaslt.h>

#include "whole_matrices.h"

static const hipDataType TYPE[] = {HIP_R_32F, HIP_R_16F, HIP_R_16BF, HIP_R_8I, HIP_R_32I};
static const Product PRODUCTS[] = {{"f32", F32, F32, F32}, {"f16", F16, F16, F32}, {"f16 into f32", F16, F32, F32},
                                   {"bf16 into f32", BF16, F32, F32}, {"i8", I8, I32, I32}};
static const size_t WORKSPACE = 32 << 20;
static const int PROPOSED = 4;

struct Outcome {
    int kernels, wrong;
};

static hipblasLtMatrixLayout_t layout(const Matrix &matrix) {
    hipblasLtMatrixLayout_t made;
    MUST(hipblasLtMatrixLayoutCreate(&made, TYPE[matrix.kind], matrix.rows, matrix.columns, matrix.stride));
    return made;
}

static Outcome product_by_each_kernel(hipblasLtHandle_t blas, void *workspace, const Product &product, bool ta, bool tb, int m, int n,
                                      int k, bool near) {
    auto [name, in, out, compute] = product;
    Matrix a(in, ta ? k : m, ta ? m : k, 1), b(in, tb ? n : k, tb ? k : n, 2), c(out, m, n, 3);
    int32_t alpha = (int32_t)bits(compute, 2), beta = (int32_t)bits(compute, -1);
    int32_t how[] = {ta ? HIPBLAS_OP_T : HIPBLAS_OP_N, tb ? HIPBLAS_OP_T : HIPBLAS_OP_N};
    hipblasLtMatmulDesc_t description;
    MUST(hipblasLtMatmulDescCreate(&description, compute == I32 ? HIPBLAS_COMPUTE_32I : HIPBLAS_COMPUTE_32F, TYPE[compute]));
    MUST(hipblasLtMatmulDescSetAttribute(description, HIPBLASLT_MATMUL_DESC_TRANSA, &how[0], 4));
    MUST(hipblasLtMatmulDescSetAttribute(description, HIPBLASLT_MATMUL_DESC_TRANSB, &how[1], 4));
    hipblasLtMatmulPreference_t wish;
    MUST(hipblasLtMatmulPreferenceCreate(&wish));
    MUST(hipblasLtMatmulPreferenceSetAttribute(wish, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE, sizeof WORKSPACE));
    hipblasLtMatrixLayout_t la = layout(a), lb = layout(b), lc = layout(c);
    hipblasLtMatmulHeuristicResult_t found[PROPOSED];
    Outcome outcome = {};
    // It may say that there is none by a status, too.
    if (hipblasLtMatmulAlgoGetHeuristic(blas, description, la, lb, lc, lc, wish, PROPOSED, found, &outcome.kernels)) outcome.kernels = 0;
    for (int i = 0; i < outcome.kernels; i++) {
        MUST(hipMemcpy(c.device, c.bytes.data(), c.bytes.size(), hipMemcpyHostToDevice));
        MUST(hipblasLtMatmul(blas, description, &alpha, a.device, la, b.device, lb, &beta, c.device, lc, c.device, lc, &found[i].algo,
                             workspace, WORKSPACE, 0));
        outcome.wrong += wrong_elements(a, b, c, ta, tb, k, near) != 0;
    }
    for (auto each : {la, lb, lc}) MUST(hipblasLtMatrixLayoutDestroy(each));
    MUST(hipblasLtMatmulPreferenceDestroy(wish));
    MUST(hipblasLtMatmulDescDestroy(description));
    return outcome;
}

int main(int words, char **) {
    hipblasLtHandle_t blas;
    MUST(hipblasLtCreate(&blas));
    void *workspace;
    MUST(hipMalloc(&workspace, WORKSPACE));
    int all = 0, without = 0, kernels = 0, bad = 0;
    for (const Product &product : PRODUCTS)
        for (int transposed = 0; transposed < 4; transposed++)
            for (auto [m, n, k] : SIZES) {
                bool ta = transposed & 1, tb = transposed & 2;
                Outcome outcome = product_by_each_kernel(blas, workspace, product, ta, tb, m, n, k, words > 1);
                all++, without += outcome.kernels == 0, kernels += outcome.kernels, bad += outcome.wrong;
                if (outcome.wrong || !outcome.kernels)
                    printf("%s %c%c %d x %d x %d: %d kernels, %d wrong\n", product.name, ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k,
                           outcome.kernels, outcome.wrong);
            }
    MUST(hipblasLtDestroy(blas));
    printf("%d products, %d without a kernel, %d launches, %d wrong\n", all, without, kernels, bad);
    return bad != 0;
}
