"""What a case is: a launch, and a check of what it wrote against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

import luthier.triton as lt_triton

CDNA = ("gfx90a", "gfx942", "gfx950")
RDNA = ("gfx1100", "gfx1201")
TARGETS = (*CDNA, *RDNA, "gfx1250")


@dataclass(frozen=True)
class Case:
    name: str
    run: Callable[[str], None]
    targets: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


CASES: list[Case] = []


def case(*choices, targets=TARGETS):
    """Registers a function of the target: once, or once for each of some arguments."""

    def register(function):
        name = function.__name__
        for choice in choices or [None]:
            if choice is None:
                CASES.append(Case(name, function, targets))
            else:
                told = choice if isinstance(choice, tuple) else (choice,)
                label = "-".join(str(getattr(c, "__name__", c)) for c in told)
                CASES.append(Case(f"{name}-{label}", lambda target, told=told: function(target, *told), targets))
        return function

    return register


FOREIGN = {
    "bf16": ml_dtypes.bfloat16,
    "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
    "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}
NAMES = {"f16": "float16", "f32": "float32", "f64": "float64"}
NAMES |= {f"{k}{n}": f"{'u' * (k == 'u')}int{n}" for k in "iu" for n in (8, 16, 32, 64)}


def dtype(name):
    """A type of NumPy's or of ml_dtypes."""
    return np.dtype(FOREIGN.get(name) or NAMES.get(name, name))


def tensor(values, name=None):
    """A tensor with these values, of a type by its short name."""
    values = np.asarray(values)
    return lt_triton.tensor(values if name is None else values.astype(dtype(name)))


def empty(shape, name):
    """A tensor of ones' bits, so that what is not written is seen."""
    found = lt_triton.tensor(np.zeros(shape, dtype(name)))
    found.numpy().view(np.uint8)[...] = 0xFF if dtype(name).kind not in "fV" else 0x7F
    return found


def close(got, want, rtol=1e-5, atol=1e-6):
    """As numpy.testing.assert_allclose, in double precision, whatever the types are."""
    got = got.numpy() if hasattr(got, "numpy") else got
    np.testing.assert_allclose(got.astype(np.float64), np.asarray(want).astype(np.float64), rtol=rtol, atol=atol)


def equal(got, want):
    """The same bits."""
    got = got.numpy() if hasattr(got, "numpy") else got
    want = np.asarray(want).astype(got.dtype)
    kind = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[got.dtype.itemsize]
    np.testing.assert_array_equal(got.view(kind), want.view(kind))


def rng(seed=1):
    return np.random.default_rng(seed)
