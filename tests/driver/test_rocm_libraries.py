"""Libraries that we did not write, on mock GPUs: rocRAND and rocSPARSE of Debian 12, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import rocm


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")


def test_rocrand_generators_give_their_sequences_and_distributions(tmp_path):
    assert "passed" in rocm.passes(rocm.library_program("rocrand"), folder=tmp_path)

    def numbers(name, kind):
        return np.fromfile(tmp_path / name, kind)

    words = numbers("philox-words", np.uint32)
    expected = [word for counter in range(len(words) // 4) for word in _philox((counter, 0, 0, 0), (12345, 0))]
    np.testing.assert_array_equal(words, np.array(expected, np.uint32))
    np.testing.assert_array_equal(numbers("sobol-words", np.uint32), _sobol(4096))
    for kind in ("xorwow", "mrg32k3a", "philox", "sobol"):
        for name, dtype in (("uniform", np.float32), ("uniform64", np.float64)):
            uniform = numbers(f"{kind}-{name}", dtype)
            assert 0 < uniform.min() and uniform.max() <= 1 and len(set(uniform)) > 4000
            assert abs(uniform.mean() - 0.5) < 0.02 and abs(uniform.var() - 1 / 12) < 0.005
        normal = numbers(f"{kind}-normal", np.float32)
        assert abs(normal.mean() - 1) < 0.15 and abs(normal.std() - 2) < 0.1
        logarithms = np.log(numbers(f"{kind}-lognormal", np.float32))
        assert abs(logarithms.mean()) < 0.04 and abs(logarithms.std() - 0.5) < 0.03
        if kind != "sobol":
            poisson = numbers(f"{kind}-poisson", np.uint32)
            assert abs(poisson.mean() - 7) < 0.2 and abs(poisson.var() - 7) < 0.7


def _philox(counter, key):
    """Philox 4x32 of ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3")."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (q >> 32) ^ b ^ k, q & 0xFFFFFFFF, (p >> 32) ^ d ^ m, p & 0xFFFFFFFF
        k, m = (k + 0x9E3779B9) & 0xFFFFFFFF, (m + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


def _sobol(count):
    """The first dimension of Sobol's sequence, in the order of Gray's code."""
    out, state = np.zeros(count, np.uint32), 0
    for number in range(count):
        out[number] = state
        trailing_ones = (~number & (number + 1)).bit_length() - 1
        state ^= 1 << (31 - trailing_ones)
    return out


def test_rocsparse_agrees_with_numpy(tmp_path):
    random, size = np.random.default_rng(5), 257
    dense = np.where(random.random((size, size)) < 0.05, random.standard_normal((size, size)), 0)
    np.fill_diagonal(dense, 4 + random.random(size))
    rows, columns = np.nonzero(dense)
    x, many = random.standard_normal(size), random.standard_normal((size, 12))
    index = np.sort(random.choice(size, 50, replace=False)).astype(np.int32)
    sparse = random.standard_normal(50)

    def starts(numbers):
        return np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=size))]).astype(np.int32)

    given = {
        "row": starts(rows), "col": columns.astype(np.int32), "value": dense[rows, columns], "x": x, "index": index,
        "sparse": sparse, "many": np.ascontiguousarray(many.T),
    }  # fmt: skip
    for name, array in given.items():
        array.tofile(tmp_path / name)
    assert "passed" in rocm.passes(rocm.library_program("rocsparse"), folder=tmp_path)
    added, scattered = x.copy(), x.copy()
    added[index] += 2 * sparse
    scattered[index] = sparse
    by_column = np.nonzero(dense.T)
    expected = {
        "axpyi": added, "doti": [sparse @ x[index]], "gthr": x[index], "sctr": scattered, "csrmv": 2 * dense @ x + x / 2,
        "csrmv_adaptive": 2 * dense @ x + x / 2, "csrmm": (dense @ many).T, "csr2coo": rows, "coo2csr": starts(rows),
        "coomv": dense @ x, "csc_value": dense.T[by_column], "csc_row": by_column[1], "csc_column": starts(by_column[0]),
        "dense": dense.T, "csrsv": np.linalg.solve(np.tril(dense), x),
    }  # fmt: skip
    for name, wanted in expected.items():
        wanted = np.asarray(wanted).ravel()
        kind = np.int32 if wanted.dtype.kind == "i" else np.float64
        np.testing.assert_allclose(np.fromfile(tmp_path / name, kind), wanted, rtol=1e-12, atol=1e-12, err_msg=name)
