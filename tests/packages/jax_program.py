"""JAX against NumPy and its own CPU: one line for each, `NAME right`."""

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
a = rng.integers(-9, 9, (64, 48)).astype("f")
b = rng.integers(-9, 9, (48, 32)).astype("f")
assert jax.devices()[0].platform == "gpu", jax.devices()


def told(name, gpu, cpu, exactly=True):
    right = np.array_equal(gpu, cpu) if exactly else np.allclose(gpu, cpu)
    print(name, "right" if right else "WRONG", flush=True)


def bits(device):
    return np.asarray(jax.random.bits(jax.device_put(jax.random.key(1), device), (4,)))


told("jit", jax.jit(lambda x: x * 2 + 1)(a), a * 2 + 1)
told("sum", jnp.sum(jnp.asarray(a)), a.sum())
told("grad", jax.grad(lambda x: (x**3).sum())(a), 3 * a**2, exactly=False)
told("sort", jnp.sort(jnp.asarray(a).ravel()), np.sort(a.ravel()))
told("matmul", jnp.asarray(a) @ jnp.asarray(b), a @ b)
told("scan", jnp.cumsum(jnp.asarray(a[0])), np.cumsum(a[0]))
told("random", bits(jax.devices()[0]), bits(jax.devices("cpu")[0]))
