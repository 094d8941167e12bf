"""Intrinsics of LLVM in hooks compute what their names say, by NumPy: those that the mock device runs and that are cheap to
say over again. That each of all is placed or refused is `test_every_intrinsic.py`'s."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"]
LANES = 64
#: For mbcnt.
MASK = 0x5A5A1234
KERNEL = "KERNEL idle(u32 *out) { out[local_x()] = 1; }"
U32, U64, I64 = np.uint32, np.uint64, np.int64


def signed(x):
    return x.astype(U32).view(np.int32).astype(I64)


def parts(x, bits):
    """The fields of a register, lowest first."""
    return [(x >> U32(at)) & U32((1 << bits) - 1) for at in range(0, 32, bits)]


def packed(fields, bits):
    return sum((f.astype(U64) & U64((1 << bits) - 1)) << U64(bits * n) for n, f in enumerate(fields)).astype(U32)


def ubfe(a, b, c):
    return (a >> (b & U32(31))) & ((U64(1) << (c & U32(31)).astype(U64)) - U64(1)).astype(U32)


def sbfe(a, b, c):
    width = (c & U32(31)).astype(I64)
    field = (signed(a) >> (b & U32(31)).astype(I64)) & ((1 << width) - 1)
    high = np.where(width > 0, (field >> np.maximum(width - 1, 0)) & 1, 0)
    return (field - (high << width)).astype(np.int32).view(U32)


def sad(bits):
    def of(a, b, c):
        pairs = zip(parts(a, bits), parts(b, bits))
        return (sum(abs(x.astype(I64) - y.astype(I64)) for x, y in pairs) + c).astype(U64).astype(U32)

    return of


def msad(a, b, c):
    pairs = zip(parts(a, 8), parts(b, 8))
    return (sum(np.where(y != 0, abs(x.astype(I64) - y.astype(I64)), 0) for x, y in pairs) + c).astype(U64).astype(U32)


def perm(a, b, c):
    source = [*parts(b, 8), *parts(a, 8)]
    return packed([np.choose(byte & U32(7), source) for byte in parts(c, 8)], 8)


def lerp(a, b, c):
    return packed([(x + y + (z & U32(1))) >> U32(1) for x, y, z in zip(parts(a, 8), parts(b, 8), parts(c, 8))], 8)


def i24(x):
    low = (x & U32(0xFFFFFF)).astype(I64)
    return low - ((low >> 23) << 24)


def u24(x):
    return (x & U32(0xFFFFFF)).astype(U64)


def low(x):
    return (x.astype(I64) & 0xFFFFFFFF).astype(U32)


def floats(x):
    return x.view(np.float32)


def med3(a, b, c):
    return np.median([floats(a), floats(b), floats(c)], axis=0).astype(np.float32).view(U32)


def fract(a, *_):
    return (floats(a) - np.floor(floats(a))).view(U32)


def clamped(x, least, most):
    return packed([np.clip(v, least, most) for v in x], 16)


def sffbh(a, *_):
    # How many bits below the sign are like it, with it; all ones if they all are.
    value = signed(a)
    plain = np.where(value < 0, ~value, value)
    zeros = 32 - np.array([int(v).bit_length() for v in plain])
    return low(np.where(plain == 0, -1, zeros))


def toward_zero(x):
    """Halves of floats, as bits."""
    near = x.astype(np.float16)
    down = np.nextafter(near, np.float16(0))
    return np.where(abs(near.astype(np.float64)) > abs(x.astype(np.float64)), down, near).view(np.uint16).astype(U32)


def lanes(a):
    return np.arange(len(a))


#: Name, what LLVM calls it with %a, %b and %c, and what that is. The numbers are random; `f`: they are floats.
MEANINGS = {
    "ubfe": ("i32 @llvm.amdgcn.ubfe.i32(i32 %a, i32 %b, i32 %c)", ubfe),
    "sbfe": ("i32 @llvm.amdgcn.sbfe.i32(i32 %a, i32 %b, i32 %c)", sbfe),
    "perm": ("i32 @llvm.amdgcn.perm(i32 %a, i32 %b, i32 %s)", lambda a, b, c: perm(a, b, c & U32(0x07070707))),
    "alignbyte": (
        "i32 @llvm.amdgcn.alignbyte(i32 %a, i32 %b, i32 %c)",
        lambda a, b, c: (((a.astype(U64) << U64(32)) | b.astype(U64)) >> (U64(8) * (c & U32(3)).astype(U64))).astype(U32),
    ),
    "sad.u8": ("i32 @llvm.amdgcn.sad.u8(i32 %a, i32 %b, i32 %c)", sad(8)),
    "sad.u16": ("i32 @llvm.amdgcn.sad.u16(i32 %a, i32 %b, i32 %c)", sad(16)),
    "sad.hi.u8": (
        "i32 @llvm.amdgcn.sad.hi.u8(i32 %a, i32 %b, i32 %c)",
        lambda a, b, c: ((sad(8)(a, b, U32(0)).astype(U64) << U64(16)) + c.astype(U64)).astype(U32),
    ),
    "msad.u8": ("i32 @llvm.amdgcn.msad.u8(i32 %a, i32 %b, i32 %c)", msad),
    "lerp": ("i32 @llvm.amdgcn.lerp(i32 %a, i32 %b, i32 %c)", lerp),
    "mul.u24": ("i32 @llvm.amdgcn.mul.u24.i32(i32 %a, i32 %b)", lambda a, b, c: low(u24(a) * u24(b))),
    "mul.i24": ("i32 @llvm.amdgcn.mul.i24.i32(i32 %a, i32 %b)", lambda a, b, c: low(i24(a) * i24(b))),
    "mulhi.u24": ("i32 @llvm.amdgcn.mulhi.u24(i32 %a, i32 %b)", lambda a, b, c: low((u24(a) * u24(b)) >> U64(32))),
    "mulhi.i24": ("i32 @llvm.amdgcn.mulhi.i24(i32 %a, i32 %b)", lambda a, b, c: low((i24(a) * i24(b)) >> 32)),
    "sffbh": ("i32 @llvm.amdgcn.sffbh.i32(i32 %a)", sffbh),
    "mbcnt": (
        "i32 @llvm.amdgcn.mbcnt.lo(i32 %m, i32 %c)",
        lambda a, b, c: low(
            np.array([bin(MASK & ((1 << min(lane, 32)) - 1)).count("1") for lane in range(LANES)])[: len(a)] + signed(c)
        ),
    ),
    "cvt.pk.u16": (
        "<2 x i16> @llvm.amdgcn.cvt.pk.u16(i32 %a, i32 %b)", lambda a, b, c: clamped([a.astype(I64), b.astype(I64)], 0, 0xFFFF)
    ),
    "cvt.pk.i16": (
        "<2 x i16> @llvm.amdgcn.cvt.pk.i16(i32 %a, i32 %b)", lambda a, b, c: clamped([signed(a), signed(b)], -0x8000, 0x7FFF)
    ),
    "ds.swizzle": ("i32 @llvm.amdgcn.ds.swizzle(i32 %a, i32 1055)", lambda a, b, c: a[lanes(a) ^ 1]),
    "ds.bpermute": ("i32 @llvm.amdgcn.ds.bpermute(i32 %i, i32 %a)", lambda a, b, c: a[(c & U32(124)) >> U32(2)]),
    "update.dpp": (
        "i32 @llvm.amdgcn.update.dpp.i32(i32 %b, i32 %a, i32 27, i32 15, i32 15, i1 true)", lambda a, b, c: a[lanes(a) ^ 3]
    ),
    "mov.dpp row_ror": (
        "i32 @llvm.amdgcn.update.dpp.i32(i32 %b, i32 %a, i32 291, i32 15, i32 15, i1 true)",
        lambda a, b, c: a[(lanes(a) & ~15) | ((lanes(a) - 3) & 15)],
    ),
    "readlane": ("i32 @llvm.amdgcn.readlane.i32(i32 %a, i32 5)", lambda a, b, c: np.full_like(a, a[5])),
    "readfirstlane": ("i32 @llvm.amdgcn.readfirstlane.i32(i32 %a)", lambda a, b, c: np.full_like(a, a[0])),
    "class f": ("i1 @llvm.amdgcn.class.f32(float %fa, i32 8)", lambda a, b, c: (floats(a) < 0).astype(U32)),
    "fmul.legacy f": (
        "float @llvm.amdgcn.fmul.legacy(float %fa, float %fb)", lambda a, b, c: (floats(a) * floats(b)).view(U32)
    ),
    "cvt.pkrtz f": (
        "<2 x half> @llvm.amdgcn.cvt.pkrtz(float %fa, float %fb)",
        lambda a, b, c: toward_zero(floats(a)) | toward_zero(floats(b)) << U32(16),
    ),
    "fmed3 f": ("float @llvm.amdgcn.fmed3.f32(float %fa, float %fb, float %fc)", med3),
    "fract f": ("float @llvm.amdgcn.fract.f32(float %fa)", fract),
    "frexp.mant f": (
        "float @llvm.amdgcn.frexp.mant.f32(float %fa)", lambda a, b, c: np.frexp(floats(a))[0].astype(np.float32).view(U32)
    ),
    "frexp.exp f": (
        "i32 @llvm.amdgcn.frexp.exp.i32.f32(float %fa)", lambda a, b, c: np.frexp(floats(a))[1].astype(np.int32).view(U32)
    ),
}  # fmt: skip


def text(call: str) -> str:
    kind, rest = call.split(" @", 1)
    name, args = rest.split("(", 1)
    types = ", ".join(arg.strip().split()[0] for arg in args.rstrip(")").split(","))
    back = "%r" if kind == "i32" else "%bits"
    cast = "" if kind == "i32" else "  %bits = zext i1 %r to i32\n" if kind == "i1" else f"  %bits = bitcast {kind} %r to i32\n"
    loads = "".join(
        f"  %at{v} = getelementptr i32, ptr addrspace(1) %in, i32 %n{v}\n  %{v} = load i32, ptr addrspace(1) %at{v}\n"
        f"  %f{v} = bitcast i32 %{v} to float\n"
        for v in "abc"
    )
    declared = {f"declare {kind} @{name}({types})"}
    declared |= {f"declare i32 @llvm.amdgcn.mbcnt.{half}(i32, i32)" for half in ("lo", "hi")}
    return (
        "\n".join(sorted(declared))
        + f"""
define void @hook(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %na = mul i32 %lane, 3
  %nb = add i32 %na, 1
  %nc = add i32 %na, 2
{loads}  %s = and i32 %c, {0x07070707}
  %m = or i32 0, {MASK}
  %i = and i32 %c, 124
  %r = call {kind} @{name}({args}
{cast}  %to = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 {back}, ptr addrspace(1) %to
  ret void
}}
"""
    )


class Computing(lt.Tool):
    """One hook for each meaning, all at one place."""

    def __init__(self, names):
        self.names = names
        self.libraries = {name: lt.HookLibrary(text(MEANINGS[name][0]), "ir") for name in names}
        self.given = {name: lt.DeviceArray(lt.u32, 3 * LANES, name=f"given.{name}") for name in names}
        self.out = {name: lt.DeviceArray(lt.u32, LANES, name=f"out.{name}") for name in names}

    def on_kernel(self, kernel):
        for name in self.names:
            kernel.insert_before(kernel.instructions[0], self.libraries[name]["hook"], self.given[name], self.out[name])


def numbers(name: str) -> np.ndarray:
    random = np.random.default_rng(len(name))
    if name.endswith(" f"):
        return (random.normal(size=(LANES, 3)) * 10.0 ** random.integers(-3, 4, (LANES, 3))).astype(np.float32).view(U32)
    values = random.integers(0, 1 << 32, (LANES, 3), dtype=U64).astype(U32)
    values[:8] = random.integers(0, 40, (8, 3))
    values[8, 0], values[9, 0] = 0, 0xFFFFFFFF
    return values


@pytest.mark.parametrize("target", TARGETS)
def test_intrinsics_compute_what_their_names_say(target):
    tool = Computing(list(MEANINGS))
    module = lt.Device(target).load(compiled.build(KERNEL, target), tools=[tool], check=True, on_rejected="report")
    refused = {}
    for rejected in module.instrumentation["rejected"]:
        refused[tool.names[rejected["point"]]] = rejected["reason"]
    assert not refused
    given = {name: numbers(name) for name in tool.names}
    for name, values in given.items():
        tool.given[name].write(values.ravel())
    module.run("idle", blocks=1, block=LANES if target.startswith("gfx9") else 32, args=[np.zeros(LANES, U32)], strict=True)
    lanes = LANES if target.startswith("gfx9") else 32
    for name in tool.names:
        a, b, c = given[name].T[:, :lanes]
        wanted = MEANINGS[name][1](a, b, c)
        found = tool.out[name].read()[:lanes]
        wrong = np.flatnonzero(found != wanted)
        assert not wrong.size, (name, wrong[:4], found[wrong[:4]], np.asarray(wanted)[wrong[:4]])
