"""Device memory that nothing has written: which lanes depend on it, told byte by byte, and what is no finding.

NumPy is the judge: it knows which bytes were written, and so which lanes read others."""

from __future__ import annotations

import cli
import compiled
import numpy as np
import pytest

import luthier as lt

#: With the last word of their raw buffers' descriptors.
FLAGS = {"gfx90a": 0x27000, "gfx942": 0x27000, "gfx1030": 0x31027000, "gfx1100": 0x31027000, "gfx1201": 0x31027000}
TARGETS = (*FLAGS, "gfx1250")
KIND = "undefined-memory"
SOURCE = """
typedef u32 v4 __attribute__((ext_vector_type(4)));
#define SCALAR(type, p) (*(const __attribute__((address_space(4))) type *)(u64)(p))
#define NEAR(type) __attribute__((address_space(1))) type
DEVICE u32 fold(u8 v) { return v; }
DEVICE u32 fold(u16 v) { return v; }
DEVICE u32 fold(u32 v) { return v; }
DEVICE u32 fold(u64 v) { return (u32)v ^ (u32)(v >> 32); }
DEVICE u32 fold(v4 v) { return v.x ^ v.y ^ v.z ^ v.w; }
#define READS(name, type) \\
    KERNEL global_##name(u32 *out, const u8 *in, u32 stride) { \\
        out[global_x()] = fold(*(const NEAR(type) *)(in + global_x() * stride)); \\
    } \\
    KERNEL flat_##name(u32 *out, const u8 *in, u32 stride) { \\
        LDS type other[1]; \\
        const type *at = stride == 12345 ? other : (const type *)(in + global_x() * stride); \\
        asm volatile("" : "+v"(at)); \\
        out[global_x()] = fold(*at); \\
    } \\
    KERNEL lds_##name(u32 *out, const u8 *in, u32 stride) { \\
        LDS type all[128]; \\
        all[local_x()] = *(const type *)(in + global_x() * stride); \\
        barrier(); \\
        out[global_x()] = fold(all[local_x() ^ 1]); \\
    } \\
    KERNEL scratch_##name(u32 *out, const u8 *in, u32 stride) { \\
        volatile type kept[4]; \\
        kept[stride & 3] = *(const type *)(in + global_x() * stride); \\
        out[global_x()] = fold((type)kept[stride & 3]); \\
    }
READS(u8, u8) READS(u16, u16) READS(u32, u32) READS(u64, u64) READS(u128, v4)
#ifndef NO_BUFFERS
KERNEL buffer_u32(u32 *out, u8 *in, u32 stride) {
    __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(in, 0, 0x7ffffffe, FLAGS);
    out[global_x()] = __builtin_amdgcn_raw_buffer_load_b32(r, global_x() * stride, 0, 0);
}
KERNEL buffer_u128(u32 *out, u8 *in, u32 stride) {
    __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(in, 0, 0x7ffffffe, FLAGS);
    out[global_x()] = fold(__builtin_amdgcn_raw_buffer_load_b128(r, global_x() * stride, 0, 0));
}
KERNEL buffer_u8(u32 *out, u8 *in, u32 stride) {
    __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(in, 0, 0x7ffffffe, FLAGS);
    out[global_x()] = __builtin_amdgcn_raw_buffer_load_b8(r, global_x() * stride, 0, 0);
}
#endif
KERNEL branch(u32 *out, const u32 *in) {
    if (in[local_x()] == 7) out[local_x()] = 1;
}
KERNEL address(u32 *out, const u32 *in) { out[local_x()] = out[in[local_x()] & 63]; }
KERNEL scalar(u32 *out, const u32 *in) {
    if (SCALAR(u32, in + group_x()) == 7) out[global_x()] = 1;
}
KERNEL scalar_value(u32 *out, const u32 *in) { out[global_x()] = SCALAR(v4, in + 4 * group_x()).z; }
KERNEL add(u32 *out, u32 *in) { __atomic_fetch_add(in + local_x(), 1, __ATOMIC_RELAXED); }
KERNEL swap(u32 *out, u32 *in) { __atomic_exchange_n(in + local_x(), 1, __ATOMIC_RELAXED); }
KERNEL swapped(u32 *out, u32 *in) { out[local_x()] = __atomic_exchange_n(in + local_x(), 1, __ATOMIC_RELAXED); }
KERNEL set(u32 *out, u8 *in, u32 stride) { in[global_x() * stride] = 1; }
KERNEL three_of_four(u32 *out, const v4 *in) {
    v4 v = in[local_x()];
    asm volatile("" : "+v"(v));
    out[local_x()] = v.x ^ v.y ^ v.z;
}
KERNEL unused(u32 *out, const u32 *in) {
    u32 v = in[local_x()];
    asm volatile("" :: "v"(v));
    out[local_x()] = 1;
}
KERNEL masked(u32 *out, const u32 *in) { out[local_x()] = in[local_x()] & 0xff00; }
"""
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "u128": 16}
WAYS = [f"{way}_{name}" for way in ("global", "flat", "lds", "scratch") for name in SIZES]
WAYS += ["buffer_u8", "buffer_u32", "buffer_u128"]


def module(target: str, threads: int = 1, *options: str) -> lt.Module:
    has = f"-DFLAGS={FLAGS[target]}" if target in FLAGS else "-DNO_BUFFERS"
    code = compiled.build(SOURCE, target, (has, *options))
    return lt.Device(target, threads=threads).load(lt.CodeObject.open(code))


def found(loaded: lt.Module, kernel: str, args: list, strict=(KIND,), **sizes) -> list:
    told = {"grid": 128, "block": 64, **sizes}
    return list(loaded.run(kernel, args=args, strict=list(strict), **told).findings)


def check_lanes(findings: list, bytes_of: np.ndarray, size: int, stride: int, whole: bool, lanes: int = 128) -> None:
    """That the findings are about exactly those lanes that read bytes which are not written."""
    reads = np.arange(lanes)[:, None] * stride + np.arange(size)
    bad = ~bytes_of[reads]
    if not bad.any():
        assert findings == []
        return
    (finding,) = findings
    firsts = [reads[lane][row.argmax()] for lane, row in enumerate(bad) if row.any()]
    assert (finding["kind"], finding["count"]) == (KIND, len(firsts)), finding
    assert finding["other"]["pc"] != finding["pc"] and "memory at 0x" in finding["message"]
    # A word of LDS or scratch knows one read, whatever its bytes are made of.
    if whole:
        assert finding["highest"]["address"] - finding["lowest"]["address"] == max(firsts) - min(firsts)


@pytest.mark.parametrize("target", TARGETS)
def test_exactly_the_lanes_that_depend_on_it_are_found(target):
    loaded, random = module(target), np.random.default_rng(7)
    for kernel in [way for way in WAYS if target != "gfx1250" or not way.startswith("buffer")]:
        size = SIZES[kernel.split("_")[1]]
        stride = size * int(random.integers(1, 4))
        fresh = loaded.device.empty(128 * 3 * 16, np.uint8)
        # A kernel writes some bytes, each by itself, and the program some words.
        written = np.zeros(len(fresh), bool)
        step = int(random.integers(1, 5))
        args = [np.zeros(1, np.uint32), fresh[int(random.integers(0, 200)) :], np.uint32(step)]
        first = len(fresh) - len(args[1])
        assert found(loaded, "set", [args[0], int(args[1].ctypes.data), args[2]]) == []
        written[first : first + 128 * step : step] = True
        for word in random.integers(0, len(fresh) // 4, 100):
            fresh[4 * word : 4 * word + 4] = 0
            written[4 * word : 4 * word + 4] = True
        out = np.zeros(128, np.uint32)
        findings = found(loaded, kernel, [out, fresh, np.uint32(stride)])
        check_lanes(findings, written, size, stride, size >= 4 or kernel.startswith(("global", "flat", "buffer")))


@pytest.mark.parametrize("target", TARGETS)
def test_it_is_found_where_it_decides_something(target):
    loaded = module(target)
    out = np.zeros(128, np.uint32)

    def one(kernel: str, **sizes) -> dict:
        (finding,) = found(loaded, kernel, [out, loaded.device.empty(256, np.uint32)], **{"grid": 64, **sizes})
        assert finding["kind"] == KIND and finding["place"].startswith("argument 1 ("), finding
        return finding

    assert "active" in one("branch")["message"] or "decides" in one("branch")["message"]
    assert "an address" in one("address")["message"]
    assert "a branch" in one("scalar")["message"] or "active" in one("scalar")["message"]
    value = one("scalar_value", grid=128)
    assert "what memory gets" in value["message"] and value["address"] % 16 == 8
    assert "what an atomic operation changes in memory" in one("add")["message"]
    swapped = one("swapped")
    assert "what memory gets" in swapped["message"] and swapped["count"] == 64


@pytest.mark.parametrize("target", TARGETS)
def test_what_nothing_depends_on_is_silent(target):
    loaded = module(target)
    out, fresh = np.zeros(128, np.uint32), loaded.device.empty(256, np.uint32)
    assert found(loaded, "unused", [out, fresh], grid=64) == []
    fresh[:] = 1
    padded = loaded.device.empty((64, 4), np.uint32)
    padded[:, :3] = 1
    assert found(loaded, "three_of_four", [out, padded], grid=64) == []
    bytewise = loaded.device.empty(256, np.uint8)
    assert found(loaded, "set", [out, int(bytewise.ctypes.data) + 1, np.uint32(4)], grid=64) == []
    assert found(loaded, "masked", [out, bytewise], grid=64) == []
    assert len(found(loaded, "add", [out, bytewise], grid=64)) == 1
    # What an operation has changed is written, and so is what another value has been put in place of.
    assert found(loaded, "add", [out, bytewise], grid=64) == []
    other = loaded.device.empty(64, np.uint32)
    assert found(loaded, "swap", [out, other], grid=64) == found(loaded, "add", [out, other], grid=64) == []


def test_it_is_on_request_alone():
    loaded = module("gfx90a")
    for strict, kinds in (([KIND], [KIND]), (["all"], [KIND]), (["undefined-register", "undefined-lds"], [])):
        fresh = loaded.device.empty(128, np.uint32)
        args = [np.zeros(128, np.uint32), fresh, np.uint32(4)]
        assert [f["kind"] for f in found(loaded, "global_u32", args, strict)] == kinds
    usual = lt.finding_kinds()
    assert KIND in usual
    args = [np.zeros(128, np.uint32), loaded.device.empty(128, np.uint32), np.uint32(4)]
    assert loaded.run("global_u32", grid=128, block=64, args=args, strict=True).findings == []


def test_arrays_of_the_program_are_written():
    loaded = module("gfx942")
    for array in (np.zeros(128, np.uint32), loaded.device.alloc(512).view(np.uint32), loaded.device.array(np.arange(128))):
        assert found(loaded, "global_u32", [np.zeros(128, np.uint32), array.view(np.uint32), np.uint32(4)]) == []


def test_a_launch_that_is_not_judged_writes_as_well():
    loaded = module("gfx1100")
    fresh, out = loaded.device.empty(128, np.uint32), np.zeros(128, np.uint32)
    loaded.run("set", grid=512, block=64, args=[out, fresh, np.uint32(1)])
    assert found(loaded, "global_u32", [out, fresh, np.uint32(4)]) == []


def test_another_device_knows_as_much():
    first, second = module("gfx90a"), module("gfx942")
    fresh, out = first.device.empty(128, np.uint32), np.zeros(128, np.uint32)
    assert found(first, "set", [out, fresh, np.uint32(1)], grid=256) == []
    (finding,) = found(second, "global_u32", [out, fresh, np.uint32(4)])
    assert (finding["count"], finding["place"]) == (64, finding["place"]) and "256 bytes from its start" in finding["place"]


@pytest.mark.parametrize("threads", [2, 4])
def test_workers_note_each_others_stores(threads):
    loaded = module("gfx90a", threads)
    fresh, out = loaded.device.empty(1 << 18, np.uint8), np.zeros(1 << 16, np.uint32)
    assert found(loaded, "set", [out, fresh, np.uint32(1)], grid=1 << 18) == []
    assert found(loaded, "global_u32", [out, fresh, np.uint32(4)], grid=1 << 16) == []
    assert (out == 0x01010101).all()


def test_waves_of_32_and_64_lanes_find_the_same():
    counts = []
    for options in ((), ("-mwavefrontsize64",)):
        loaded = module("gfx1100", 1, *options)
        fresh = loaded.device.empty(128, np.uint32)
        fresh[::3] = 5
        (finding,) = found(loaded, "global_u32", [np.zeros(128, np.uint32), fresh, np.uint32(4)])
        counts.append(finding["count"])
    assert counts == [85, 85]


def test_the_command_line_has_such_buffers(tmp_path):
    code = tmp_path / "code.hsaco"
    code.write_bytes(compiled.build(SOURCE, "gfx90a", (f"-DFLAGS={FLAGS['gfx90a']}",)).read_bytes())
    words = ["run", str(code), "--kernel", "global_u32", "--grid", "128", "--block", "64", "--arg", "buf:u32[128]=zeros"]
    words += ["--arg", "buf:u32[128]=empty", "--arg", "u32=4"]
    done = cli.luthier(*words, f"--strict={KIND}")
    assert done.returncode == 1 and f"strict: {KIND}: what memory gets is undefined: memory at 0x" in done.stderr, done.stderr
    assert cli.luthier(*words, "--strict").returncode == 0


def test_a_shape_that_is_none_is_refused():
    device = lt.Device("gfx90a")
    for shape, dtype in ((-1, float), ("x", float), (3, object)):
        with pytest.raises(lt.ArgumentError, match="empty: "):
            device.empty(shape, dtype)
    assert device.empty((2, 3), np.float16).shape == (2, 3) and device.empty(0, np.float32).size == 0
    assert np.isnan(device.empty(100, np.float32)).all()
