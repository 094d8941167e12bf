"""Control operations that compilers do not make: GCN's forks, loops over half waves, dynamic VGPRs, traps, killing a wave.

Forks and loops are compared with what AMD's manuals say of them, worked out here once more, lane by lane.
"""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

FORK = """
// Lanes of the mask multiply, the others add; `order` says which path was gone first. A join does not bring the lanes of the
// other path back: code that wants them keeps EXEC.
KERNEL i_fork(const u64 *masks, u32 *out, u32 *order) {
    u32 i = local_x(), v = i;
    u64 mask = masks[group_x()];
    u32 first = 0, csp = 0;
    asm volatile(
        "s_mov_b32 s20, 0\\n s_mov_b64 s[22:23], exec\\n"
        "s_getreg_b32 s21, hwreg(HW_REG_MODE, 29, 3)\\n"
        "s_cbranch_i_fork %[mask], Lpass%=\\n"
        "s_cmp_eq_u32 s20, 0\\n s_cselect_b32 s20, 1, s20\\n"
        "v_add_u32 %[v], 1000, %[v]\\n"
        "s_branch Ljoin%=\\n"
        "Lpass%=:\\n"
        "s_cmp_eq_u32 s20, 0\\n s_cselect_b32 s20, 2, s20\\n"
        "v_mul_u32_u24 %[v], 3, %[v]\\n"
        "Ljoin%=:\\n"
        "s_cbranch_join s21\\n"
        "s_mov_b64 exec, s[22:23]\\n"
        "s_mov_b32 %[first], s20\\n"
        : [v] "+v"(v), [first] "=s"(first) : [mask] "s"(mask)
        : "s0", "s1", "s2", "s3", "s20", "s21", "s22", "s23", "scc");
    out[group_x() * 64 + i] = v;
    if (i == 0) order[group_x()] = first;
}
// A fork within a fork: four ways by the two lowest bits of the lane's number.
KERNEL nested(u32 *out) {
    u32 i = local_x(), v = 0;
    asm volatile(
        "s_mov_b32 s22, 0\\n s_mov_b64 s[32:33], exec\\n"
        "s_mov_b32 s24, 0xaaaaaaaa\\n s_mov_b32 s25, s24\\n"
        "s_mov_b32 s26, 0xcccccccc\\n s_mov_b32 s27, s26\\n"
        "s_cbranch_i_fork s[24:25], Lodd%=\\n"
        "v_add_u32 %[v], 1, %[v]\\n"
        "s_branch Lin%=\\n"
        "Lodd%=:\\n"
        "v_add_u32 %[v], 2, %[v]\\n"
        "Lin%=:\\n"
        "s_getreg_b32 s23, hwreg(HW_REG_MODE, 29, 3)\\n s_mov_b64 s[30:31], exec\\n"
        "Lhere%=:\\n"
        "s_getpc_b64 s[28:29]\\n"
        "s_add_u32 s28, s28, Lhigh%= - Lhere%= - 4\\n s_addc_u32 s29, s29, 0\\n"
        "s_cbranch_g_fork s[26:27], s[28:29]\\n"
        "v_add_u32 %[v], 16, %[v]\\n"
        "s_branch Linner%=\\n"
        "Lhigh%=:\\n"
        "v_add_u32 %[v], 32, %[v]\\n"
        "Linner%=:\\n"
        "s_cbranch_join s23\\n"
        "s_mov_b64 exec, s[30:31]\\n"
        "s_cbranch_join s22\\n"
        "s_mov_b64 exec, s[32:33]\\n"
        : [v] "+v"(v) :
        : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s22", "s23", "s24", "s25", "s26", "s27", "s28",
          "s29", "s30", "s31", "s32", "s33", "scc");
    out[i] = v;
}
"""


@pytest.mark.parametrize("target", ("gfx900", "gfx90a", "gfx942"))
def test_forks(target: str) -> None:
    rng = np.random.default_rng(3)
    masks = np.concatenate([rng.integers(0, 1 << 64, 6, dtype=np.uint64), np.array([0, 2**64 - 1, 1, 2**63], np.uint64)])
    out, order = np.zeros((10, 64), np.uint32), np.zeros(10, np.uint32)
    try:
        path = compiled.build(FORK, target)
    except Exception:
        assert target == "gfx942", "only CDNA3 has no forks"
        return
    module = lt.Device(target).load(path)
    module.run("i_fork", grid=640, block=64, args=[masks, out, order])
    lanes = np.arange(64)
    passes = (masks[:, None] >> lanes.astype(np.uint64) & np.uint64(1)).astype(bool)
    np.testing.assert_array_equal(out, np.where(passes, lanes * 3, lanes + 1000))
    count = passes.sum(1)
    assert order.tolist() == [2 if n == 64 or 0 < n <= 64 - n else 1 for n in count]
    out = np.zeros(64, np.uint32)
    module.run("nested", grid=64, block=64, args=[out])
    np.testing.assert_array_equal(out, np.where(lanes & 1, 2, 1) + np.where(lanes & 2, 32, 16))


LOOP = """
KERNEL halves(const u64 *masks, u32 *out, u32 *passes) {
    u32 i = local_x(), v = 0, n;
    u64 mask = masks[group_x()];
    asm volatile(
        "s_mov_b64 s[20:21], exec\\n s_mov_b64 exec, %[mask]\\n s_mov_b32 s22, 0\\n"
        "s_subvector_loop_begin s23, Lend%=\\n"
        "Lbody%=:\\n"
        "s_add_u32 s22, s22, 1\\n"
        "v_mov_b32 %[v], s22\\n"
        "s_subvector_loop_end s23, Lbody%=\\n"
        "Lend%=:\\n"
        "s_mov_b32 %[n], s22\\n"
        "v_add_nc_u32 %[v], 100, %[v]\\n"
        "s_mov_b64 exec, s[20:21]\\n"
        : [v] "+v"(v), [n] "=&s"(n) : [mask] "s"(mask) : "s20", "s21", "s22", "s23", "scc");
    out[group_x() * 64 + i] = v;
    if (i == 0) passes[group_x()] = n;
}
"""


@pytest.mark.parametrize("target", ("gfx1010", "gfx1030", "gfx1100", "gfx1151"))
def test_a_loop_over_half_waves(target: str) -> None:
    masks = np.array([2**64 - 1, 5, 5 << 40, 0, 0x8000000180000001], np.uint64)
    out, passes = np.zeros((5, 64), np.uint32), np.zeros(5, np.uint32)
    module = lt.Device(target).load(compiled.build(LOOP, target, ("-mwavefrontsize64",)))
    module.run("halves", grid=320, block=64, args=[masks, out, passes])
    lanes = np.arange(64)
    active = (masks[:, None] >> lanes.astype(np.uint64) & np.uint64(1)).astype(bool)
    has = np.stack([active[:, :32].any(1), active[:, 32:].any(1)], 1)
    assert passes.tolist() == has.sum(1).tolist()
    turn = np.where(lanes < 32, 1, 1 + has[:, :1])
    np.testing.assert_array_equal(out, np.where(active, turn + 100, 0))


ENDS = """
KERNEL kill(u32 *out) {
    u32 wave = __builtin_amdgcn_readfirstlane(local_x() / 64);
    asm volatile("s_setkill 0");
    out[local_x()] = 1;
    asm volatile("s_waitcnt vmcnt(0)");
    if (wave == 1) asm volatile("s_setkill 1");
    out[local_x()] = 2;
}
KERNEL debug(u32 *out) { out[0] = 1; __builtin_debugtrap(); out[1] = 2; }
KERNEL abort_(u32 *out) { out[0] = 1; __builtin_trap(); }
KERNEL back() { asm volatile("s_rfe_b64 s[0:1]"); }
KERNEL id(u32 *out) {
    u32 wave;
    asm volatile(WAVE_ID : "=s"(wave));
    out[local_x()] = wave;
}
"""


@pytest.mark.parametrize("target", ("gfx900", "gfx90a", "gfx1030", "gfx1100"))
def test_ends_and_traps(target: str) -> None:
    get = {
        "gfx900": "s_getreg_b32 %0, hwreg(HW_REG_HW_ID, 4, 2)",
        "gfx90a": "s_getreg_b32 %0, hwreg(HW_REG_HW_ID, 4, 2)",
        "gfx1030": "s_getreg_b32 %0, hwreg(HW_REG_HW_ID1, 8, 2)",
        "gfx1100": "s_getreg_b32 %0, hwreg(HW_REG_HW_ID1, 8, 2)",
    }[target]
    flags = () if target.startswith("gfx9") else ("-mwavefrontsize64",)
    source = ENDS.replace("WAVE_ID", f'"{get}"').replace("s_waitcnt", "s_nop 0\\n s_waitcnt")
    device = lt.Device(target)
    module = device.load(compiled.build(source, target, flags))
    out = np.zeros(192, np.uint32)
    module.run("kill", grid=192, block=192, args=[out])
    np.testing.assert_array_equal(out, np.repeat([2, 1, 2], 64))
    out = np.zeros(2, np.uint32)
    module.run("debug", grid=64, block=64, args=[out])
    assert out.tolist() == [1, 2]
    with pytest.raises(lt.DeviceError, match="llvm.trap, which aborts the queue"):
        module.run("abort_", grid=64, block=64, args=[out])
    with pytest.raises(lt.DeviceError, match="no trap handler to return from"):
        module.run("back", grid=64, block=64)


def test_a_waves_number() -> None:
    source = ENDS.replace("WAVE_ID", '"s_get_waveid_in_workgroup %0\\n s_waitcnt lgkmcnt(0)"')
    out = np.zeros(256, np.uint32)
    lt.Device("gfx1010").load(compiled.build(source, "gfx1010", ("-mno-wavefrontsize64",))).run(
        "id", grid=256, block=256, args=[out]
    )
    np.testing.assert_array_equal(out, np.arange(256) // 32)


DYNAMIC = """
KERNEL grow(const u32 *asks, u32 *scc, u32 *out) {
    u32 i = local_x(), ask = asks[0], ok, v = i;
    asm volatile("s_cmp_eq_u32 0, 1\\n s_alloc_vgpr %[ask]\\n s_cselect_b32 %[ok], 1, 0\\n" : [ok] "=s"(ok) : [ask] "s"(ask) : "scc");
    scc[0] = ok;
    asm volatile("v_add_nc_u32 v40, 7, %[v]\\n v_mov_b32 %[v], v40\\n" : [v] "+v"(v) :: "v40");
    out[i] = v;
}
KERNEL keeps(u32 *out) {
    u32 i = local_x(), v = i;
    asm volatile("s_alloc_vgpr 64\\n v_add_nc_u32 v20, 5, %[v]\\n s_alloc_vgpr 30\\n v_mov_b32 %[v], v20\\n" : [v] "+v"(v) :: "v20", "scc");
    out[i] = v;
}
KERNEL loses(u32 *out) {
    u32 i = local_x(), v = i;
    asm volatile("s_alloc_vgpr 64\\n v_mov_b32 v40, %[v]\\n s_alloc_vgpr 16\\n s_alloc_vgpr 64\\n v_mov_b32 %[v], v40\\n" : [v] "+v"(v) :: "v40", "scc");
    out[i] = v;
}
"""


def _dynamic(target: str) -> bytes:
    """The kernels with the descriptor's bit for dynamic VGPRs set, which no assembler sets for amdhsa."""
    data = bytearray(compiled.build(DYNAMIC, target).read_bytes())
    for kernel in ("grow", "keeps", "loses"):
        at = _descriptor(data, kernel)
        word, bit = (44, 17) if target == "gfx1250" else (52, 6)
        value = int.from_bytes(data[at + word : at + word + 4], "little") | 1 << bit
        data[at + word : at + word + 4] = value.to_bytes(4, "little")
    return bytes(data)


def _descriptor(data: bytes, kernel: str) -> int:
    import io

    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(bytes(data)))
    (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name(f"{kernel}.kd")
    section = elf.get_section(symbol["st_shndx"])
    return symbol["st_value"] - section["sh_addr"] + section["sh_offset"]


@pytest.mark.parametrize("target", ("gfx1201", "gfx1250"))
def test_dynamic_vgprs(target: str) -> None:
    module = lt.Device(target).load(_dynamic(target))
    for ask in (33, 41, 128, 32, 1, 129, 511):
        scc, out = np.full(1, 9, np.uint32), np.zeros(32, np.uint32)
        args = [np.array([ask], np.uint32), scc, out]
        granted = -(-ask // 16) * 16 if ask <= 128 else 16
        if granted <= 40:
            with pytest.raises(lt.DeviceError, match=f"v40 is beyond the {granted} VGPRs"):
                module.run("grow", grid=32, block=32, args=args)
            result = module.run("grow", grid=32, block=32, args=args, strict=True)
            assert "unallocated-register" in {f["kind"] for f in result.findings}
        else:
            module.run("grow", grid=32, block=32, args=args)
            np.testing.assert_array_equal(out, np.arange(32) + 7)
        assert scc[0] == (ask <= 128)
    out = np.zeros(32, np.uint32)
    assert module.run("keeps", grid=32, block=32, args=[out], strict=True).findings == []
    np.testing.assert_array_equal(out, np.arange(32) + 5)
    found = module.run("loses", grid=32, block=32, args=[out], strict=True).findings
    assert {f["kind"] for f in found} == {"undefined-register"}


def test_a_fixed_allocation_is_not_asked() -> None:
    scc, out = np.full(1, 9, np.uint32), np.zeros(32, np.uint32)
    module = lt.Device("gfx1201").load(compiled.build(DYNAMIC, "gfx1201"))
    module.run("grow", grid=32, block=32, args=[np.array([500], np.uint32), scc, out])
    np.testing.assert_array_equal(out, np.arange(32) + 7)
    assert scc[0] == 0, "as it was before"
