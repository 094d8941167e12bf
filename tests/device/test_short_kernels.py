"""Kernels that are one piece of code, in launches of many waves: a worker of the device runs these one after another.

Each is compared with NumPy, and what a launch counts with what one counts in which every instruction is looked at.
"""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
#: Workgroups from which on it is worth while, with room to spare.
MANY = 6000

SOURCE = """
KERNEL add(const u32 *a, const u32 *b, u32 *sum, u32 n) {
    u32 i = global_x();
    if (i < n) sum[i] = a[i] + b[i];
}
KERNEL unguarded(const u32 *a, u32 *out) {
    u32 i = global_x();
    out[i] = a[i] * 3;
}
// In 2 dimensions, rows `width` long.
KERNEL places(u32 *out, u32 width, u32 height) {
    u32 x = global_x(), y = group_y() * __builtin_amdgcn_workgroup_size_y() + local_y();
    if (x < width && y < height) out[y * width + x] = y << 16 | x;
}
// The same without a guard, counting how often it has come by.
KERNEL comes_by(u32 *out, u32 width) {
    out[(group_y() * __builtin_amdgcn_workgroup_size_y() + local_y()) * width + global_x()] += 1;
}
// In 2 dimensions, without a guard for rows.
KERNEL image(const u32 *a, u32 *out, u32 width) {
    u32 x = global_x(), y = group_y() * __builtin_amdgcn_workgroup_size_y() + local_y();
    if (x < width) out[y * width + x] = a[y * width + x] + 1;
}
// Registers that nothing has written hold zeros, whatever the wave before has left there.
KERNEL unwritten(u32 *out) {
    u32 held;
    asm volatile("v_mov_b32 %0, v40\\n v_mov_b32 v40, 7" : "=&v"(held) :: "v40");
    out[global_x()] = held;
}
// The same of lanes that were off where a register was written: those from 16 to 31.
KERNEL part(u32 *out) {
    u32 held, i = local_x();
    asm volatile(
        "s_mov_b32 s40, exec_lo\\n s_mov_b32 s41, exec_hi\\n"
        "s_mov_b32 exec_lo, 0x0000ffff\\n v_mov_b32 v41, 9\\n"
        "s_mov_b32 exec_lo, s40\\n s_mov_b32 exec_hi, s41\\n"
        "v_mov_b32 %0, v41\\n v_mov_b32 v41, 5" : "=&v"(held) :: "v41", "s40", "s41");
    out[global_x()] = held;
}
// All waves of a workgroup read its flag before any sets it, as they do side by side.
KERNEL side_by_side(u32 *flags, u32 *out, u32 n) {
    u32 group = __builtin_amdgcn_readfirstlane(group_x()), i = global_x();
    u32 flag = flags[group * 64];
    if (flag < n) { out[i] = flag; flags[group * 64] = 1; }
}
// Words of a wave, moved among 192 of its own: all its lanes load before any stores.
KERNEL moved(u32 *words, i32 by) {
    u32 i = global_x(), wave = i / LANES;
    u32 *from = words + wave * 192 + 64 + i % LANES;
    from[by] = from[0] + 1;
}
// MODE as a wave begins with it, and as it has made it: bits that no arithmetic depends on.
KERNEL mode(u32 *out) {
    u32 before, after;
    asm volatile(
        "s_getreg_b32 %0, hwreg(1, 24, 3)\\n s_setreg_imm32_b32 hwreg(1, 24, 3), 5\\n"
        "s_getreg_b32 %1, hwreg(1, 22, 5)" : "=&s"(before), "=&s"(after));
    out[global_x()] = before << 16 | after;
}
// What it loads is used by nothing.
KERNEL in_vain(const u32 *a, u32 *out) {
    u32 i = global_x();
    const u32 *from = a + i;
    u32 held;
    asm volatile(LOAD : "=&v"(held) : "v"(from));
    out[i] = i;
}
"""
LOADS = {"gfx90a": "global_load_dword", "gfx942": "global_load_dword", "gfx1030": "global_load_dword"}


def wait(target: str) -> str:
    return "s_wait_loadcnt 0" if target in ("gfx1201", "gfx1250") else "s_waitcnt vmcnt(0)"


def module(target: str, threads: int = 1) -> lt.Module:
    load = f'"{LOADS.get(target, "global_load_b32")} %0, %1, off\\n {wait(target)}"'
    source = f"#define LOAD {load}\n#define LANES {lanes(target)}\n{SOURCE}"
    return lt.Device(target, threads=threads).load(compiled.build(source, target))


def lanes(target: str) -> int:
    return 64 if target in ("gfx90a", "gfx942") else 32


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("threads", [1, 3])
def test_sums_of_a_launch_whose_last_workgroup_is_not_full(target: str, threads: int) -> None:
    rng = np.random.default_rng(1)
    n = MANY * 256 + 100
    a, b = rng.integers(0, 1 << 32, (2, n), dtype=np.uint32)
    sums = np.zeros(n + 300, np.uint32)
    launch = dict(grid=n, block=256, args=[a, b, sums, np.uint32(n - 3)])
    plain, looked_at = module(target, threads).run("add", **launch), module(target).run("add", strict=True, **launch)
    np.testing.assert_array_equal(sums[: n - 3], (a + b)[: n - 3])
    assert not sums[n - 3 :].any()
    assert (plain.instructions, plain.waves) == (looked_at.instructions, looked_at.waves)
    assert plain.histogram == looked_at.histogram


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("threads", [1, 3])
def test_short_launches_in_a_row_each_do_what_they_are_given(target: str, threads: int) -> None:
    """Waves of earlier launches count: those behind the first 2,000 find the code made, and use it from their second workgroup on."""
    rng = np.random.default_rng(2)
    loaded, size = module(target, threads), 20 * 256
    for launch in range(60):
        n = size - int(rng.integers(0, 600))
        a, b = rng.integers(0, 1 << 32, (2, size), dtype=np.uint32)
        sums = np.zeros(size, np.uint32)
        found = loaded.run("add", grid=size, block=256, args=[a, b, sums, np.uint32(n)])
        assert (sums[:n] == (a + b)[:n]).all(), launch
        assert not sums[n:].any(), launch
        assert found.waves == size // lanes(target), launch
        if launch in (0, 59):
            looked_at = module(target).run("add", strict=True, grid=size, block=256, args=[a, b, sums, np.uint32(n)])
            assert found.histogram == looked_at.histogram, launch


@pytest.mark.parametrize("target", TARGETS)
def test_places_in_two_dimensions(target: str) -> None:
    width, height = 700, 900
    out = np.zeros((height, width), np.uint32)
    module(target).run("places", grid=(width, height), block=(16, 12), args=[out, np.uint32(width), np.uint32(height)])
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    np.testing.assert_array_equal(out, y << 16 | x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("groups", [4, 8, 32, 64])
def test_every_work_item_runs_once_where_the_last_workgroup_of_each_row_has_fewer_waves(target: str, groups: int) -> None:
    """A worker looks for such code behind 32 workgroups, and what it has just run then is the last one of a row."""
    width, height = groups * 256 - 192, 25_600 // groups
    out = np.zeros((height, width), np.uint32)
    module(target).run("comes_by", grid=out.shape[::-1], block=256, args=[out, np.uint32(width)])
    assert (out == 1).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("block", "missing"), [((32, 2), 4), ((32, 2), 12), ((16, 2), 4), ((16, 4), 4), ((24, 8), 7)])
def test_the_last_row_of_an_image_that_ends_where_its_memory_does(target: str, block, missing: int) -> None:
    """A wave has several rows. Where the last one begins there is no room for all the lanes that may follow, as those behind the
    image are off; where the one before it begins there was."""
    width, height = 7 * block[0] - missing, 500 * block[1]
    image = np.arange(width * height, dtype=np.uint32).reshape(height, width)
    out = np.zeros_like(image)
    module(target).run("image", blocks=(7, 500), block=block, args=[image, out, np.uint32(width)])
    np.testing.assert_array_equal(out, image + 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("kernel", "on"), [("unwritten", ()), ("part", (*range(16), *range(32, 64)))])
def test_registers_that_a_wave_has_not_written_hold_zeros(target: str, kernel: str, on) -> None:
    out = np.full(MANY * 256, 3, np.uint32)
    module(target).run(kernel, grid=len(out), block=256, args=[out])
    wanted = np.where(np.isin(np.arange(lanes(target)), on), 9, 0)
    waves = out.reshape(-1, lanes(target))
    np.testing.assert_array_equal(waves, np.broadcast_to(wanted, waves.shape))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("by", [-64, -63, -33, -32, -31, -16, -15, -1, 0, 1, 15, 16, 17, 31, 32, 33, 48, 63, 64])
def test_lanes_of_a_wave_load_before_any_stores(target: str, by: int) -> None:
    count, own = MANY * 4, lanes(target)
    words = np.arange(count * 192, dtype=np.uint32).reshape(count, 192) * 7
    wanted = words.copy()
    wanted[:, 64 + by : 64 + by + own] = words[:, 64 : 64 + own] + 1
    module(target).run("moved", grid=count * own, block=own * 4, args=[words, np.int32(by)])
    np.testing.assert_array_equal(words, wanted)


@pytest.mark.parametrize("target", TARGETS)
def test_each_wave_begins_with_its_kernels_mode(target: str) -> None:
    out = np.zeros(MANY * 256, np.uint32)
    module(target).run("mode", grid=len(out), block=256, args=[out])
    # Clang sets bit 25 where a kernel of gfx1250 begins.
    before = 2 if target == "gfx1250" else 0
    assert (out == before << 16 | 5 << 2).all()


@pytest.mark.parametrize("target", TARGETS)
def test_waves_of_a_workgroup_read_side_by_side_what_each_writes(target: str) -> None:
    flags, out = np.zeros(MANY * 64, np.uint32), np.full(MANY * 256, 3, np.uint32)
    module(target).run("side_by_side", grid=len(out), block=256, args=[flags, out, np.uint32(5)])
    assert not out.any()
    assert (flags.reshape(-1, 64)[:, 0] == 1).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", ["unguarded", "in_vain"])
def test_an_access_out_of_bounds_names_its_workgroup_wave_and_lane(target: str, kernel: str) -> None:
    n = (MANY - 1) * 256 + 74
    a, out = np.arange(n, dtype=np.uint32), np.zeros(MANY * 256, np.uint32)
    wave, lane = divmod(74, lanes(target))
    with pytest.raises(lt.DeviceError, match=rf"workgroup \[{MANY - 1}, 0, 0\], wave {wave}, lane {lane}"):
        module(target).run(kernel, grid=len(out), block=256, args=[a, out])
