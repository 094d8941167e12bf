"""What hooks compute across the lanes of a wave is what NumPy computes, whichever lanes are active, on every kind of processor."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import TARGETS
from test_waves import MASKS, SOURCE

import luthier as lt

N = 64
U32 = np.random.default_rng(3).integers(0, 1 << 32, N, np.uint32)
#: Numbers, many of them the same, for match_any.
FEW = np.random.default_rng(4).integers(0, 5, N, np.uint64) << np.uint64(40)
F32 = np.random.default_rng(5).normal(0, 1e6, N).astype(np.float32)
LANES = np.random.default_rng(6).integers(0, 70, N, np.uint32)
I64 = np.random.default_rng(7).integers(-(1 << 62), 1 << 62, N, np.int64)
BYTES = np.random.default_rng(8).integers(0, 256, N, np.uint8)


class Across(lt.Tool):
    u32 = lt.DeviceArray(lt.u32, N, init=U32)
    few = lt.DeviceArray(lt.u64, N, init=FEW)
    f32 = lt.DeviceArray(lt.f32, N, init=F32)
    i64 = lt.DeviceArray(lt.i64, N, init=I64)
    byte = lt.DeviceArray(lt.u8, N, init=BYTES)
    lanes = lt.DeviceArray(lt.u32, N, init=LANES)
    out32 = lt.DeviceArray(lt.u32, 9 * N)
    out64 = lt.DeviceArray(lt.u64, 3 * N)
    outf = lt.DeviceArray(lt.f32, 6 * N)
    whole = lt.DeviceArray(lt.u64, 8)

    @lt.hook
    def lanes_hook(
        u32: lt.ptr[lt.u32],
        few: lt.ptr[lt.u64],
        f32: lt.ptr[lt.f32],
        i64: lt.ptr[lt.i64],
        byte: lt.ptr[lt.u8],
        lanes: lt.ptr[lt.u32],
        out32: lt.ptr[lt.u32],
        out64: lt.ptr[lt.u64],
        outf: lt.ptr[lt.f32],
    ):
        lane = lt.lane_id()
        x = u32[lane]
        out32[lane] = lt.prefix_sum(x)
        out32[64 + lane] = lt.shuffle(x, lanes[lane])
        out32[128 + lane] = lt.shuffle_xor(x, 5)
        out32[192 + lane] = lt.shuffle_up(x, 3)
        out32[256 + lane] = lt.shuffle_down(x, 7)
        out32[320 + lane] = lt.add_sat(x, 1 << 31)
        out32[384 + lane] = lt.u32(lt.sub_sat(byte[lane], lt.u8(100)))
        out32[448 + lane] = lt.wave_max(x)
        if x % 2 == 0:
            out32[512 + lane] = lt.wave_sum(x)
        out64[lane] = lt.match_any(few[lane])
        out64[64 + lane] = lt.u64(lt.wave_min(i64[lane]))
        out64[128 + lane] = lt.bitcast(lt.u64, lt.shuffle(lt.f64(f32[lane]), lane ^ 1))
        outf[lane] = lt.wave_sum(f32[lane])
        outf[64 + lane] = lt.prefix_sum(f32[lane])
        outf[128 + lane] = lt.exp2(f32[lane] / 1e5)
        outf[192 + lane] = lt.log2(abs(f32[lane]))
        outf[256 + lane] = lt.rsqrt(abs(f32[lane]))
        outf[320 + lane] = lt.wave_max(f32[lane])

    @lt.hook
    def wave_hook(u32: lt.ptr[lt.u32], whole: lt.ptr[lt.u64]):
        x = u32[lt.lane_id()]
        lt.wave_atomic_add(whole, lt.wave_sum(x))
        lt.wave_atomic_add(whole + 1, lt.u64(lt.wave_any(x > 1 << 31)))
        lt.wave_atomic_add(whole + 2, lt.u64(lt.wave_all(x > 1 << 31)))
        lt.wave_atomic_add(whole + 3, lt.u64(lt.wave_all(x < 0xFFFFFFFF)))
        old = lt.wave_atomic_add(whole + 4, 5)
        older = lt.wave_atomic_add(whole + 5, lt.u64(old) * 3 + 2)
        lt.wave_atomic_add(whole + 6, older + old + 1)

    def on_kernel(self, kernel):
        (place,) = (i for i in kernel.instructions if i.text == "s_nop 7")
        arrays = (self.u32, self.few, self.f32, self.i64, self.byte, self.lanes, self.out32, self.out64, self.outf)
        kernel.insert_before(place, self.lanes_hook, *arrays)
        for _ in range(2):
            kernel.insert_before(place, self.wave_hook, self.u32, self.whole)


def shuffled(values: np.ndarray, chosen: np.ndarray, active: list[int]) -> np.ndarray:
    return np.array([values[c] if c in active else 0 for c in chosen.tolist()], values.dtype)


def before(values: np.ndarray, active: list[int]) -> np.ndarray:
    """For each lane the sum of what active lanes below it have, added one after another."""
    total, out = values.dtype.type(0), np.zeros(N, values.dtype)
    with np.errstate(over="ignore"):
        for lane in active:
            out[lane] = total
            total = values.dtype.type(total + values[lane])
    return out


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_across_lanes_is_as_numpy_has_it(target):
    code = lt.CodeObject.open(compiled.build(SOURCE, *target))
    size = code.program.wavefront_size
    lanes = np.arange(N)
    for mask in (*MASKS, 1 << 17):
        tool = Across()
        module = lt.Device(target[0]).load(code, tools=[tool], on_rejected="raise")
        result = module.run("masked", grid=size, block=size, args=[np.uint64(mask % (1 << size))], strict=True)
        assert result.findings == [], [str(f) for f in result.findings]
        active = [i for i in range(size) if mask >> i & 1]
        even = [i for i in active if U32[i] % 2 == 0]

        def everywhere(value, dtype):
            return np.full(N, value, dtype)

        wanted32 = [
            before(U32, active),
            shuffled(U32, LANES, active),
            shuffled(U32, lanes ^ 5, active),
            shuffled(U32, lanes - 3, active),
            shuffled(U32, lanes + 7, active),
            np.minimum(U32.astype(np.uint64) + (1 << 31), 0xFFFFFFFF).astype(np.uint32),
            np.maximum(BYTES.astype(int) - 100, 0).astype(np.uint32),
            everywhere(max((int(U32[i]) for i in active), default=0), np.uint32),
            everywhere(sum(int(U32[i]) for i in even) % (1 << 32), np.uint32),
        ]
        got32 = tool.out32.read().reshape(9, N)
        for n, wanted in enumerate(wanted32):
            who = even if n == 8 else active
            assert got32[n][who].tolist() == wanted[who].tolist(), (n, hex(mask))
            assert not np.delete(got32[n], who).any(), (n, hex(mask))
        matches = [sum(1 << j for j in active if FEW[j] == FEW[i]) for i in range(N)]
        got64 = tool.out64.read().reshape(3, N)
        assert [int(v) for v in got64[0][active]] == [matches[i] for i in active], hex(mask)
        assert got64[1].view(np.int64)[active].tolist() == [min(I64[active].tolist(), default=0)] * len(active)
        swapped = shuffled(F32.astype(np.float64), lanes ^ 1, active)
        assert got64[2].view(np.float64)[active].tolist() == swapped[active].tolist()
        outf = tool.outf.read().reshape(6, N)
        total = before(F32, active)[active[-1]] + F32[active[-1]] if active else np.float32(0)
        assert outf[0][active].tolist() == [total] * len(active)
        assert outf[1][active].tolist() == before(F32, active)[active].tolist()
        np.testing.assert_allclose(outf[2][active], np.exp2(F32 / np.float32(1e5))[active], rtol=1e-5)
        np.testing.assert_allclose(outf[3][active], np.log2(np.abs(F32))[active], rtol=1e-5)
        np.testing.assert_allclose(outf[4][active], (1 / np.sqrt(np.abs(F32)))[active], rtol=2e-7)
        assert outf[5][active].tolist() == [max(F32[active].tolist(), default=0)] * len(active)
        values = [int(U32[i]) for i in active]
        wave = [
            2 * (sum(values) % (1 << 32)),
            2 * any(v > 1 << 31 for v in values),
            2 * all(v > 1 << 31 for v in values),
            2 * all(v < 0xFFFFFFFF for v in values),
            10,
            2 + 17,
            (0 + 0 + 1) + (2 + 5 + 1),
            0,
        ]
        assert tool.whole.read().tolist() == wave, hex(mask)
