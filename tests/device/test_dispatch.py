"""Dispatch as the packet processor does it: what clang's kernels are told of their launch, on each generation and in each
version of code objects. LLVM's "User Guide for AMDGPU Backend" has the layouts that are read here once more.
"""

from __future__ import annotations

import struct

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")

FACTS = """
DEVICE __attribute__((noinline)) u32 kind(const void *p) {
    return __builtin_amdgcn_is_shared((const __attribute__((address_space(0))) void *)p) * 2 +
           __builtin_amdgcn_is_private((const __attribute__((address_space(0))) void *)p);
}
// `full` and `size` are the workgroup's and the grid's sizes, ten bits each.
KERNEL facts(u32 *items, u32 *groups, u32 *wide, u64 full, u64 size) {
    extern __attribute__((shared)) u32 dynamic[];
    LDS u32 fixed[5];
    u32 local[3] = {local_x(), local_y(), __builtin_amdgcn_workitem_id_z()};
    u32 group[3] = {group_x(), group_y(), __builtin_amdgcn_workgroup_id_z()}, at[3];
    for (u32 k = 0; k < 3; k++) at[k] = group[k] * (full >> 10 * k & 1023) + local[k];
    u32 w = size & 1023, h = size >> 10 & 1023;
    u32 item = at[0] + w * (at[1] + h * at[2]);
    items[2 * item] = local[0] | local[1] << 10 | local[2] << 20;
    items[2 * item + 1] = group[0] | group[1] << 10 | group[2] << 20;
    u32 groups_x = (w + (full & 1023) - 1) / (full & 1023), groups_y = (h + (full >> 10 & 1023) - 1) / (full >> 10 & 1023);
    u32 *out = groups + 16 * (group[0] + groups_x * (group[1] + groups_y * group[2]));
    if (local[0] + local[1] + local[2] != 0) return;
    dynamic[0] = fixed[0] = 1;
    out[0] = __builtin_amdgcn_workgroup_size_x();
    out[1] = __builtin_amdgcn_workgroup_size_y();
    out[2] = __builtin_amdgcn_workgroup_size_z();
    out[3] = __builtin_amdgcn_grid_size_x();
    out[4] = __builtin_amdgcn_grid_size_y();
    out[5] = __builtin_amdgcn_grid_size_z();
    out[6] = kind(fixed);
    out[7] = kind(local);
    out[8] = kind(items);
    out[9] = kind(0);
    if (group[0] + group[1] + group[2] != 0) return;
    const u32 *packet = (const u32 *)__builtin_amdgcn_dispatch_ptr();
    const u32 *implicit = (const u32 *)__builtin_amdgcn_implicitarg_ptr();
    const u32 *queue = (const u32 *)__builtin_amdgcn_queue_ptr();
    for (u32 k = 0; k < 16; k++) wide[k] = packet[k];
    for (u32 k = 0; k < IMPLICIT; k++) wide[16 + k] = implicit[k];
    *(u64 *)(wide + 80) = (u64)__builtin_amdgcn_kernarg_segment_ptr();
    *(u64 *)(wide + 82) = (u64)queue;
    wide[84] = queue[16];
    wide[85] = queue[17];
    *(u64 *)(wide + 86) = (u64)(const void *)fixed;
    *(u64 *)(wide + 88) = (u64)(const void *)local;
}
"""
SHAPES = [((100,), (64,)), ((19, 7), (8, 4)), ((19, 7, 5), (8, 4, 2)), ((3, 1, 6), (3, 1, 2)), ((1, 1, 9), (1, 1, 4))]


def _packed(sizes) -> np.uint64:
    return np.uint64(sum(n << 10 * k for k, n in enumerate(sizes)))


def _wave_flags(target: str) -> list[tuple[str, ...]]:
    if target in ("gfx1030", "gfx1100", "gfx1201"):
        return [("-mno-wavefrontsize64",), ("-mwavefrontsize64",), ("-mno-wavefrontsize64", "-mcumode")]
    return [()]


def _facts(target: str, version: int, flags: tuple[str, ...], level: str, shape) -> None:
    source = FACTS.replace("IMPLICIT", str(14 if version == 4 else 64))
    flags = (*flags, f"-mcode-object-version={version}")
    code = lt.CodeObject.open(compiled.build(source, target, flags, level))
    grid, block = ((*sizes, 1, 1)[:3] for sizes in shape)
    counts = [-(-n // m) for n, m in zip(grid, block)]
    items, groups = np.full((np.prod(grid), 2), 77, np.uint32), np.zeros((np.prod(counts), 16), np.uint32)
    wide = np.zeros(96, np.uint32)
    args = [items, groups, wide, _packed(block), _packed(grid)]
    result = lt.Device(target).load(code).run("facts", grid=shape[0], block=shape[1], args=args, lds=96, strict=True)
    # LLVM pads hazards within a function; one of gfx1100's masks in waves of 64 is between the kernel and what it calls.
    assert [f for f in result.findings if f["kind"] != "hazard" or target != "gfx1100"] == []

    z, y, x = (a.ravel() for a in np.meshgrid(*(np.arange(n) for n in grid[::-1]), indexing="ij"))
    place = np.stack([x, y, z], 1)
    shift = np.array([1, 1 << 10, 1 << 20])
    np.testing.assert_array_equal(items[:, 0], place % block @ shift)
    np.testing.assert_array_equal(items[:, 1], place // block @ shift)
    # The size that was asked for, at the grid's edges too.
    assert (groups[:, :3] == block).all()
    assert (groups[:, 3:6] == grid).all()
    assert (groups[:, 6:10] == [2, 1, 0, 0]).all()

    packet = wide[:16].tobytes()
    header, dims, *fields = struct.unpack_from("<HH3HH3I2IQQ", packet)
    assert header & 0xFF == 2, "a kernel dispatch"
    assert dims == max(1, *(k + 1 for k in range(3) if grid[k] > 1), 1)
    facts = code.core.kernel("facts")
    assert fields[:3] == list(block) and fields[4:7] == list(grid)
    assert fields[7] >= facts["private_segment"] > 0
    assert fields[8] == facts["group_segment"] + 96 == 20 + 96
    kernarg, queue, shared, private = (int(v) for v in wide[80:90].view(np.uint64)[[0, 1, 3, 4]])
    assert fields[10] == kernarg and queue != 0
    assert int(wide[84]) == shared >> 32, "the aperture"
    # gfx1250 has scratch in the global address space.
    assert int(wide[85]) == private >> 32 or target == "gfx1250"
    assert shared & 0xFFFFFFFF < 128

    implicit = wide[16:80].tobytes()
    if version == 4:
        assert implicit[:24] == bytes(24), "global offsets"
        return
    blocks = struct.unpack_from("<3I6H", implicit)
    assert blocks == (*(n // m for n, m in zip(grid, block)), *block, *(n % m for n, m in zip(grid, block)))
    assert struct.unpack_from("<3QH", implicit, 40) == (0, 0, 0, dims)
    assert struct.unpack_from("<I", implicit, 120) == (96,), "dynamic LDS"
    # Where registers have the apertures, the hidden arguments have not.
    assert struct.unpack_from("<2IQ", implicit, 192) == (0, 0, queue)


@pytest.mark.parametrize("version", (4, 5, 6))
@pytest.mark.parametrize("target", TARGETS)
def test_what_a_kernel_is_told(target: str, version: int) -> None:
    for number, flags in enumerate(_wave_flags(target)):
        for shape in SHAPES[number % 2 :: 2 if number else 1]:
            _facts(target, version, flags, "O2", shape)
    _facts(target, version, _wave_flags(target)[-1], "O0", SHAPES[2])


PRELOAD = """
KERNEL k(u32 *out, u32 a, u64 b, u32 c) {
    if (local_x() != 0) return;
    out += 8 * group_x();
    out[0] = a;
    out[1] = (u32)(b >> 32);
    out[2] = c;
    out[3] = __builtin_amdgcn_workgroup_size_x();
    out[4] = __builtin_amdgcn_grid_size_x();
    out[5] = group_x();
    out[6] = *(const u32 *)__builtin_amdgcn_implicitarg_ptr();
}
"""


@pytest.mark.parametrize("count", (1, 3, 16))
@pytest.mark.parametrize("target", ("gfx90a", "gfx942", "gfx950", "gfx1250"))
def test_preloaded_arguments(target: str, count: int) -> None:
    flags = ("-mllvm", f"-amdgpu-kernarg-preload-count={count}")
    data = bytearray(compiled.build(PRELOAD, target, flags).read_bytes())
    at = _descriptor(data, "k")
    length = int.from_bytes(data[at + 58 : at + 60], "little") & 127
    assert length >= min(count, 3), "nothing is preloaded"
    objects = [bytes(data)]
    if target != "gfx1250":
        # Firmware that knows nothing of it begins 256 bytes before, where code loads the arguments.
        data[at + 58 : at + 60] = bytes(2)
        objects.append(bytes(data))
    for code in objects:
        out = np.zeros((3, 8), np.uint32)
        args = [out, np.uint32(11), np.uint64(22 << 32), np.uint32(33)]
        result = lt.Device(target).load(code).run("k", grid=150, block=64, args=args, strict=True)
        assert result.findings == []
        for group in range(3):
            assert out[group].tolist() == [11, 22, 33, 64, 150, group, 2, 0]


def _descriptor(data: bytes, kernel: str) -> int:
    import io

    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(bytes(data)))
    (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name(f"{kernel}.kd")
    section = elf.get_section(symbol["st_shndx"])
    return symbol["st_value"] - section["sh_addr"] + section["sh_offset"]


STACK = """
DEVICE __attribute__((noinline)) u32 fold(const u32 *p, u32 n) {
    u32 sum = 0;
    for (u32 i = 0; i < n; i++) sum = sum * 31 + p[i];
    return sum;
}
DEVICE __attribute__((noinline)) u32 depth(u32 n, u32 seed) {
    volatile u32 own[3] = {seed, n, seed ^ n};
    return n == 0 ? own[0] : depth(n - 1, seed * 5 + 1) + own[2];
}
KERNEL stack(u32 *out, const u32 *in, u32 n) {
    u32 i = global_x(), local[16];
    LDS u32 shared[16];
    for (u32 k = 0; k < 16; k++) local[(k * 7 + i) & 15] = in[k] + i;
    if (local_x() < 16) shared[local_x()] = in[local_x()];
    barrier();
    // The same pointer leads to private, shared and global memory, lane by lane.
    const u32 *which = i % 3 == 0 ? local : i % 3 == 1 ? shared : in;
    u32 *more = (u32 *)__builtin_alloca(4 * n);
    for (u32 k = 0; k < n; k++) more[k] = i * k;
    out[i] = fold(which, 16) + depth(i % 7, i) + fold(more, n);
}
"""


@pytest.mark.parametrize("level", ("O0", "O2"))
@pytest.mark.parametrize("target", TARGETS)
def test_private_memory(target: str, level: str) -> None:
    """By a buffer or by scratch instructions, as the processor has it and as LLVM can be told; flat pointers into it."""
    ways = [()]
    if target in ("gfx900", "gfx90a", "gfx1030"):
        ways.append(("-Xclang", "-target-feature", "-Xclang", "+enable-flat-scratch"))
    values = np.random.default_rng(5).integers(0, 1 << 20, 16).astype(np.uint32)
    for flags in [(*way, *wave) for way in ways for wave in _wave_flags(target)[:2]]:
        out, n = np.zeros(256, np.uint32), 9
        code = lt.CodeObject.open(compiled.build(STACK, target, flags, level))
        module = lt.Device(target).load(code)
        result = module.run("stack", grid=256, block=128, args=[out, values, np.uint32(n)], strict=True)
        assert result.findings == []
        for i in range(256):
            local = np.zeros(16, np.int64)
            for k in range(16):
                local[(k * 7 + i) & 15] = int(values[k]) + i
            chosen = local if i % 3 == 0 else values
            total = sum(_fold(words) for words in (chosen, [i * k for k in range(n)])) + _depth(i % 7, i)
            assert out[i] == total & 0xFFFFFFFF, (flags, i)


def _fold(words) -> int:
    total = 0
    for word in words:
        total = total * 31 + int(word)
    return total


def _depth(n: int, seed: int) -> int:
    return seed if n == 0 else _depth(n - 1, (seed * 5 + 1) & 0xFFFFFFFF) + (seed ^ n)


PROGRESS = """
KERNEL lock(u32 *word, u32 *count) {
    if (local_x() != 0) return;
    u32 zero = 0;
    while (!__atomic_compare_exchange_n(word, &zero, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) zero = 0;
    u32 old = __atomic_load_n(count, __ATOMIC_RELAXED);
    __builtin_amdgcn_s_sleep(1);
    __atomic_store_n(count, old + 1, __ATOMIC_RELAXED);
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}
// Each workgroup waits for the one behind it, which a device that finishes one after the other never gets to.
KERNEL chain(u32 *flags, u32 *data, u32 groups) {
    u32 group = group_x();
    if (group + 1 < groups) while (__atomic_load_n(flags + group + 1, __ATOMIC_ACQUIRE) == 0) {}
    if (local_x() == 0) data[group] = group + (group + 1 < groups ? __atomic_load_n(data + group + 1, __ATOMIC_RELAXED) : 0);
    barrier();
    if (local_x() == 0) __atomic_store_n(flags + group, 1, __ATOMIC_RELEASE);
}
KERNEL meet(u32 *arrived, u32 *sums, u32 groups) {
    if (local_x() != 0) return;
    for (u32 round = 1; round <= 3; round++) {
        __atomic_fetch_add(&sums[group_x()], round, __ATOMIC_RELAXED);
        __atomic_fetch_add(arrived, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < round * groups) {}
        u32 next = (group_x() + 1) % groups;
        if (__atomic_load_n(&sums[next], __ATOMIC_RELAXED) < round * (round + 1) / 2) sums[next] = 1u << 31;
    }
}
"""


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("target", TARGETS)
def test_waiting_for_each_other(target: str, threads: int) -> None:
    module = lt.Device(target, threads=threads).load(compiled.build(PROGRESS, target))
    word, count = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    module.run("lock", grid=64 * 20, block=64, args=[word, count])
    assert count[0] == 20
    groups = 24
    flags, data = np.zeros(groups, np.uint32), np.zeros(groups, np.uint32)
    module.run("chain", grid=64 * groups, block=64, args=[flags, data, np.uint32(groups)])
    np.testing.assert_array_equal(data, [sum(range(g, groups)) for g in range(groups)])
    arrived, sums = np.zeros(1, np.uint32), np.zeros(150, np.uint32)
    module.run("meet", grid=64 * 150, block=64, args=[arrived, sums, np.uint32(150)], cooperative=True)
    assert (sums == 6).all()


@pytest.mark.parametrize("target", ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100"))
def test_the_workgroups_info(target: str, tmp_path) -> None:
    rdna = target.startswith("gfx1")
    body = """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v2, s3
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
  s_lshl_b32 s10, s2, 9
  s_waitcnt lgkmcnt(0)
  s_add_u32 s8, s8, s10
  s_addc_u32 s9, s9, 0
  global_store_dword v1, v2, s[8:9]
  s_endpgm
"""
    settings = [".amdhsa_system_sgpr_workgroup_id_x 1", ".amdhsa_system_sgpr_workgroup_info 1"]
    settings += [".amdhsa_accum_offset 8"] if target in ("gfx90a", "gfx942") else []
    text = compiled.kernel_in_assembly(target, body, 8, 24, *settings, wave=32 if rdna else 64)
    path = compiled.assembled(text, target, tmp_path / "info.hsaco")
    out = np.zeros((2, 128), np.uint32)
    lt.Device(target).load(path).run("k", grid=228, block=128, args=[out], strict=True)
    lanes = 32 if rdna else 64
    for group, items in enumerate((128, 100)):
        waves = -(-items // lanes)
        want = np.where(np.arange(items) < lanes, 1 << 31, 0) | waves
        np.testing.assert_array_equal(out[group, :items], want)


GRID_SYNC = """
// What AMD's device library does where there is no global wave sync, as its bitcode has it.
DEVICE __attribute__((noinline)) void grid_sync() {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    __builtin_amdgcn_s_barrier();
    if ((local_x() | local_y()) == 0) {
        char *sync = *(char **)((char *)__builtin_amdgcn_implicitarg_ptr() + OFFSET);
        u32 *counter = (u32 *)(sync + 32), groups = *(u32 *)(sync + 40);
        u32 before = __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
        if ((before & 0xffff) == groups - 1) __atomic_fetch_add(counter, 0x10000 - groups, __ATOMIC_RELAXED);
        else while (((__atomic_load_n(counter, __ATOMIC_RELAXED) ^ before) >> 16) == 0) __builtin_amdgcn_s_sleep(1);
    }
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
KERNEL cooperative(u32 *data, u32 *out, u32 rounds) {
    u32 group = group_x() + 5 * group_y(), i = group * 128 + local_x();
    for (u32 r = 0; r < rounds; r++) {
        data[i] = i * (r + 1);
        grid_sync();
        out[r * 1920 + i] = data[(i + 640) % 1920];
        grid_sync();
    }
    char *sync = *(char **)((char *)__builtin_amdgcn_implicitarg_ptr() + OFFSET);
    if (i == 0) out[3 * 1920] = *(u32 *)(sync + 8), out[3 * 1920 + 1] = *(u32 *)(sync + 12), out[3 * 1920 + 2] = *(u32 *)(sync + 24);
}
"""


@pytest.mark.parametrize("version", (4, 5))
@pytest.mark.parametrize("target", TARGETS)
def test_a_cooperative_grid_meets_where_the_hidden_argument_says(target: str, version: int) -> None:
    source = GRID_SYNC.replace("OFFSET", "48" if version == 4 else "88")
    module = lt.Device(target).load(compiled.build(source, target, (f"-mcode-object-version={version}",)))
    data, out = np.zeros(1920, np.uint32), np.zeros(3 * 1920 + 3, np.uint32)
    module.run("cooperative", grid=(640, 3), block=128, args=[data, out, np.uint32(3)], cooperative=True)
    want = (np.arange(1920) + 640) % 1920 * np.arange(1, 4)[:, None]
    np.testing.assert_array_equal(out[:-3].reshape(3, 1920), want)
    assert out[-3:].tolist() == [0, 1, 1920]
