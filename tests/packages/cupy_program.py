"""CuPy against NumPy and SciPy: one line for each library of ROCm's below it, `NAME right`."""

import cupy as cp
import cupyx.scipy.sparse
import numpy as np
import scipy.sparse

rng = np.random.default_rng(0)
a = rng.integers(-9, 9, (100, 80)).astype("f")
b = rng.integers(-9, 9, (80, 60)).astype("f")
x = rng.standard_normal(1000) + 1j * rng.standard_normal(1000)
m = rng.standard_normal((20, 20))
m = m @ m.T + 20 * np.eye(20)
sparse = scipy.sparse.random(50, 50, 0.1, format="csr", random_state=1)


def told(name, gpu, cpu, exactly=False):
    gpu = cp.asnumpy(gpu)
    right = np.array_equal(gpu, cpu) if exactly else np.allclose(gpu, cpu)
    print(name, "right" if right else "WRONG", flush=True)


def raw():
    p = cp.asarray(a)
    source = 'extern "C" __global__ void k(float *p, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) p[i] *= 3; }'
    cp.RawKernel(source, "k")((32,), (256,), (p, np.int32(8000)))
    return p


told("elementwise", cp.asarray(a) * 2 + 1, a * 2 + 1, exactly=True)
told("raw", raw(), a * 3, exactly=True)
told("sum", cp.asarray(a).sum(), a.sum(), exactly=True)
told("sort", cp.sort(cp.asarray(a).ravel()), np.sort(a.ravel()), exactly=True)
told("matmul", cp.asarray(a) @ cp.asarray(b), a @ b, exactly=True)
told("fft", cp.fft.fft(cp.asarray(x)), np.fft.fft(x))
told("cholesky", cp.linalg.cholesky(cp.asarray(m)), np.linalg.cholesky(m))
told("solve", cp.linalg.solve(cp.asarray(m), cp.asarray(m[0])), np.linalg.solve(m, m[0]))
told("sparse", cupyx.scipy.sparse.csr_matrix(sparse) @ cp.ones(50), sparse @ np.ones(50))
