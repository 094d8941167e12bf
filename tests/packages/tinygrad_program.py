"""tinygrad against NumPy: one line for each, `NAME right`."""

import numpy as np
from tinygrad import Device, Tensor, dtypes

rng = np.random.default_rng(0)
a = rng.integers(-9, 9, (64, 48)).astype("f")
b = rng.integers(-9, 9, (48, 64)).astype("f")
assert Device.DEFAULT == "HIP", Device.DEFAULT


def told(name, gpu, cpu, near=0.0):
    right = np.allclose(gpu.numpy(), cpu, rtol=0, atol=near)
    print(name, "right" if right else "WRONG", flush=True)


def convolved(image, weights):
    windows = np.lib.stride_tricks.sliding_window_view(image, weights.shape)
    return np.einsum("yxij,ij->yx", windows, weights)


x, shifted = Tensor(a), a - a.max(1, keepdims=True)
told("elementwise", (x * 2 + 1).relu(), np.maximum(a * 2 + 1, 0))
told("sum", x.sum(0), a.sum(0))
told("softmax", x.softmax(1), np.exp(shifted) / np.exp(shifted).sum(1, keepdims=True), near=1e-6)
told("matmul", x @ Tensor(b), a @ b)
# On tensor cores, where tinygrad knows the processor's. RDNA3's sums are up to 2^-12 off, as was measured on such cards.
told("half", x.half().matmul(Tensor(b).half(), dtype=dtypes.float), a @ b, near=2**-12)
told("convolution", Tensor(a[None, None]).conv2d(Tensor(b[None, None, :3, :5])).reshape(62, 44), convolved(a, b[:3, :5]))
told("scan", x.cumsum(1), np.cumsum(a, 1))
told("sort", x.reshape(-1).sort()[0], np.sort(a.ravel()))
