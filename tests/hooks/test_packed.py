"""Packed arithmetic: both halves of words, as NumPy has them, by one packed instruction each."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import TARGETS

import luthier as lt

KERNEL = "KERNEL idle(u32 *out) { out[global_x()] = 7; }"
N = 64
RANDOM = np.random.default_rng(11)
A, B, C = (RANDOM.integers(0, 1 << 32, N, np.uint32) for _ in range(3))
#: Numbers of all sizes, subnormal ones and infinities among them, but no NaN.
FLOATS = [
    np.concatenate([RANDOM.integers(0, 0x7C01, 2 * N - 4) | RANDOM.integers(0, 2, 2 * N - 4) << 15, [1, 0x8001, 0x7C00, 0]]).astype(np.uint16)
    for _ in range(3)
]  # fmt: skip
SPREAD = [RANDOM.permutation(one) for one in FLOATS]
#: Sums of products that come near, so that one rounding differs from two.
NEAR = [RANDOM.uniform(0.5, 2, 2 * N).astype(np.float16) for _ in range(3)]


class Packed(lt.Tool):
    out = lt.DeviceArray(lt.u32, 6 * N)

    def __init__(self, *values):
        words = [np.ascontiguousarray(v).view(np.uint32) for v in values]
        self.a, self.b, self.c = (lt.DeviceArray(lt.u32, N, init=one, name=name) for one, name in zip(words, "abc", strict=True))

    @lt.hook
    def all_of_them(a: lt.ptr[lt.u32], b: lt.ptr[lt.u32], c: lt.ptr[lt.u32], out: lt.ptr[lt.u32]):
        lane = lt.workitem_id_x()
        out[lane] = lt.pk_add_f16(a[lane], b[lane])
        out[64 + lane] = lt.pk_mul_f16(a[lane], b[lane])
        out[128 + lane] = lt.pk_fma_f16(a[lane], b[lane], c[lane])
        out[192 + lane] = lt.pk_add_u16(a[lane], b[lane])
        out[256 + lane] = lt.pk_sub_u16(a[lane], b[lane])
        out[320 + lane] = lt.pk_mul_u16(a[lane], b[lane])

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.all_of_them, self.a, self.b, self.c, self.out)


def same(got, wanted):
    """To the bit, but for NaNs, which are any."""
    both = np.isnan(got) & np.isnan(wanted)
    assert np.array_equal(got.view(np.uint16)[~both], wanted.view(np.uint16)[~both])


@pytest.mark.parametrize("values", [SPREAD, NEAR, [A, B, C]], ids=["floats", "near", "bits"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_both_halves_are_as_numpy_has_them(target, values):
    tool = Packed(*values)
    module = lt.Device(target[0]).load(compiled.build(KERNEL, *target), tools=[tool], on_rejected="raise", check=True)
    result = module.run("idle", blocks=1, block=N, args=[np.zeros(N, np.uint32)], strict=True)
    assert not result.findings
    got = tool.out.read().view(np.uint16).reshape(6, 2 * N)
    a, b, c = (np.ascontiguousarray(v).view(np.float16) for v in values)
    with np.errstate(all="ignore"):
        same(got[0].view(np.float16), a + b)
        same(got[1].view(np.float16), a * b)
        x, y, z = (v.astype(np.longdouble) for v in (a, b, c))
        same(got[2].view(np.float16), (x * y + z).astype(np.float16))
        a, b = a.view(np.uint16), b.view(np.uint16)
        assert np.array_equal(got[3], a + b) and np.array_equal(got[4], a - b) and np.array_equal(got[5], a * b)
    packed = {name for name in result.histogram if name.startswith("v_pk_")}
    assert len(packed) >= 6, packed


def test_what_is_no_word_is_refused_at_its_line():
    class Wrong(lt.Tool):
        @lt.hook
        def adds(x: lt.f32):
            lt.pk_add_f16(x, x)

        def on_kernel(self, kernel):
            kernel.insert_at_entry(self.adds, 2.5)

    with pytest.raises(lt.HookError, match="u32") as error:
        lt.Device("gfx90a").load(compiled.build(KERNEL, "gfx90a"), tools=[Wrong()])
    assert error.value.line
