// rocBLAS's products of matrices of small whole numbers, in every type and with every transposition, held to plain loops.
// With an argument, elements may be off as RDNA3's WMMA leaves them.
#include <rocblas/rocblas.h>

#include "whole_matrices.h"

static const rocblas_datatype TYPE[] = {rocblas_datatype_f32_r, rocblas_datatype_f16_r, rocblas_datatype_bf16_r,
                                        rocblas_datatype_i8_r, rocblas_datatype_i32_r};
static const Product PRODUCTS[] = {{"f32", F32, F32, F32}, {"f16", F16, F16, F32}, {"f16 into f32", F16, F32, F32}, {"bf16 into f32", BF16, F32, F32}, {"i8", I8, I32, I32}};

static int wrong(rocblas_handle blas, const Product &product, bool ta, bool tb, int m, int n, int k, bool near) {
    auto [name, in, out, compute] = product;
    Matrix a(in, ta ? k : m, ta ? m : k, 1), b(in, tb ? n : k, tb ? k : n, 2), c(out, m, n, 3);
    int32_t alpha = (int32_t)bits(compute, 2), beta = (int32_t)bits(compute, -1);
    auto how = [](bool transposed) { return transposed ? rocblas_operation_transpose : rocblas_operation_none; };
    MUST(rocblas_gemm_ex(blas, how(ta), how(tb), m, n, k, &alpha, a.device, TYPE[in], a.stride, b.device, TYPE[in], b.stride, &beta,
                         c.device, TYPE[out], c.stride, c.device, TYPE[out], c.stride, TYPE[compute], rocblas_gemm_algo_standard, 0, 0));
    return wrong_elements(a, b, c, ta, tb, k, near);
}

int main(int words, char **) {
    rocblas_handle blas;
    MUST(rocblas_create_handle(&blas));
    int all = 0, bad = 0;
    for (const Product &product : PRODUCTS)
        for (int transposed = 0; transposed < 4; transposed++)
            for (auto [m, n, k] : SIZES) {
                bool ta = transposed & 1, tb = transposed & 2;
                int count = wrong(blas, product, ta, tb, m, n, k, words > 1);
                all++, bad += count != 0;
                if (count) printf("%s %c%c %d x %d x %d: %d elements wrong\n", product.name, ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, count);
            }
    MUST(rocblas_destroy_handle(blas));
    printf("%d products, %d wrong\n", all, bad);
    return bad != 0;
}
