"""Images as the tests build them: resource words from AMD's register lists, where texels lie from the rules for linear
surfaces, and kernels of one image instruction each, in LLVM's IR. Nothing here is the device's own."""

from __future__ import annotations

import functools
import itertools
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import luthier as lt

LANES = 64
#: TYPE, and coordinates of a texel.
KINDS = {"1d": (8, 1), "2d": (9, 2), "3d": (10, 3), "cube": (11, 3), "1darray": (12, 2), "2darray": (13, 3)}
#: (data format, number format) by their codes on gfx9; what gfx10 on has for both is in the order of this list's names.
DATA = {
    "8": 1, "16": 2, "8_8": 3, "32": 4, "16_16": 5, "10_11_11": 6, "11_11_10": 7, "10_10_10_2": 8, "2_10_10_10": 9,
    "8_8_8_8": 10, "32_32": 11, "16_16_16_16": 12, "32_32_32_32": 14, "5_6_5": 16, "1_5_5_5": 17, "5_5_5_1": 18,
    "4_4_4_4": 19,
}  # fmt: skip
NUMBER = {"UNORM": 0, "SNORM": 1, "USCALED": 2, "SSCALED": 3, "UINT": 4, "SINT": 5, "FLOAT": 7, "SRGB": 9}
#: The first code of each data format since gfx10, whose number formats follow, and of those of one number format.
GFX10 = {
    "8": 1, "16": 7, "8_8": 14, "32": 20, "16_16": 23, "10_11_11": 30, "11_11_10": 37, "10_10_10_2": 44, "2_10_10_10": 50,
    "8_8_8_8": 56, "32_32": 62, "16_16_16_16": 65, "32_32_32": 72, "32_32_32_32": 75, "5_6_5": 133, "1_5_5_5": 134,
    "5_5_5_1": 135, "4_4_4_4": 136,
}  # fmt: skip
GFX11 = {
    "8": 1, "16": 7, "8_8": 14, "32": 20, "16_16": 23, "10_11_11": 30, "11_11_10": 31, "10_10_10_2": 32, "2_10_10_10": 36,
    "8_8_8_8": 42, "32_32": 48, "16_16_16_16": 51, "32_32_32": 58, "32_32_32_32": 61, "5_6_5": 68, "1_5_5_5": 69,
    "5_5_5_1": 70, "4_4_4_4": 71,
}  # fmt: skip


def major(target: str) -> int:
    return int(target[3:-2])


def bits(size: str) -> list[int]:
    """Of X, Y, Z and W; the names begin at the highest bit."""
    return [int(n) for n in reversed(size.split("_"))]


def unified(target: str, size: str, kind: str) -> int:
    """IMG_FMT of gfx10 on."""
    new = major(target) >= 11
    if "32" in size.split("_"):
        numbers = ["UINT", "SINT", "FLOAT"]
    elif size in ("10_11_11", "11_11_10") and new:
        numbers = ["FLOAT"]
    elif size == "10_10_10_2" and new:
        numbers = ["UNORM", "SNORM", "UINT", "SINT"]
    else:
        numbers = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"]
    return (GFX11 if new else GFX10)[size] + numbers.index(kind)


@dataclass(frozen=True)
class Image:
    """An image of a target. ``depth`` is also the number of all slices of an array, of which those from ``first`` on are
    seen. ``levels`` are all mip levels, ``view`` the first and the last that are seen."""

    target: str
    kind: str
    size: str = "32"
    number: str = "UINT"
    width: int = 1
    height: int = 1
    depth: int = 1
    first: int = 0
    levels: int = 1
    view: tuple[int, int] = (0, 0)
    pitch: int | None = None
    uav: bool = False
    select: tuple[int, int, int, int] = (4, 5, 6, 7)

    @property
    def bytes(self) -> int:
        return sum(bits(self.size)) // 8

    @property
    def components(self) -> int:
        return len(bits(self.size))

    def simple(self) -> Image:
        """Components that the format has not are zero, W is one."""
        return replace(self, select=tuple(4 + k if k < self.components else int(k == 3) for k in range(4)))  # type: ignore[arg-type]

    def _row(self, level: int) -> tuple[int, int]:
        """Bytes of a row, and of what a slice has for it."""
        width = -(-self.width // (1 << level)) * self.bytes

        def up(n: int) -> int:
            return -(-width // n) * n

        if self.pitch:
            return self.pitch * self.bytes, self.pitch * self.bytes
        return up(128 if major(self.target) == 12 else 256), up(256)

    def _part(self, level: int) -> int:
        return self._row(level)[1] * -(-self.height // (1 << level))

    @property
    def slice(self) -> int:
        return sum(self._part(level) for level in range(self.levels))

    @property
    def total(self) -> int:
        return self.slice * self.depth

    def extent(self, level: int = 0) -> tuple[int, int, int]:
        """Width, height, and depth or slices of a level that is seen."""
        level += self.view[0]
        width, height = max(1, self.width >> level), max(1, self.height >> level)
        if self.kind == "3d" and not self.uav:
            return width, height, max(1, self.depth >> level)
        return width, height, self.depth - self.first

    def offsets(self, at: np.ndarray, level: np.ndarray | int = 0) -> np.ndarray:
        """Of texels from the first byte on; -1 for those outside. ``at`` are (coordinates, lanes) as unsigned numbers."""
        level = np.broadcast_to(np.asarray(level, np.int64), at.shape[1:])
        zero = np.zeros(at.shape[1:], np.int64)
        x = at[0].astype(np.int64)
        y = at[1].astype(np.int64) if self.kind not in ("1d", "1darray") else zero
        z = at[-1].astype(np.int64) if self.kind not in ("1d", "2d") else zero
        out = np.full(at.shape[1:], -1, np.int64)
        for seen in range(self.view[1] - self.view[0] + 1):
            width, height, depth = self.extent(seen)
            number = seen + self.view[0]
            before = sum(self._part(k) for k in range(number + 1, self.levels))
            first = self.first if self.kind in ("cube", "1darray", "2darray") or self.uav else 0
            place = (z + first) * self.slice + before + y * self._row(number)[0] + x * self.bytes
            inside = (x < width) & (y < height) & (z < depth) & (level == seen)
            out = np.where(inside, place, out)
        return out

    def words(self, address: int) -> np.ndarray:
        """The resource."""
        assert address % 256 == 0
        kind = KINDS[self.kind][0]
        generation = major(self.target)
        flat = self.kind in ("1d", "2d")
        w, h, d = self.width - 1, self.height - 1, 0 if flat else self.depth - 1
        base, last = self.view
        sel = sum(s << (3 * k) for k, s in enumerate(self.select))
        out = [address >> 8 & 0xFFFFFFFF, address >> 40, 0, sel | kind << 28, 0, 0, 0, 0]
        own = self.pitch - 1 if self.pitch and generation > 9 else 0
        assert not own or flat
        if generation == 9:
            pitch = self._row(0)[0] // self.bytes
            out[1] |= DATA[self.size] << 20 | NUMBER[self.number] << 26
            out[2] = w | h << 14 | 4 << 28
            out[3] |= base << 12 | last << 16
            out[4] = d | (pitch - 1) << 13
            out[5] = self.first | (self.levels - 1) << 28
        elif generation < 12:
            out[1] |= unified(self.target, self.size, self.number) << 20 | (w & 3) << 30
            out[2] = w >> 2 | h << 14 | (1 << 31 if generation == 10 else 0)
            out[3] |= base << 12 | last << 16
            out[4] = d | own | self.first << 16
            out[5] = int(self.uav) | 4 << 20 | ((self.levels - 1) << 4 if generation == 10 else 0)
            out[1] |= (self.levels - 1) << 16 if generation == 11 else 0
        else:
            out[1] |= (self.levels - 1) << 12 | unified(self.target, self.size, self.number) << 17 | base << 25 | (w & 3) << 30
            out[2] = w >> 2 | h << 14
            out[3] |= last << 15
            out[4] = d | own | self.first << 16
            out[5] = int(self.uav) << 4 | 4 << 20
        return np.array([x & 0xFFFFFFFF for x in out], np.uint32)


def _words(ty: str) -> tuple[str, int]:
    """The integer type that a value of a type is stored as, and its words."""
    count = int(ty[1]) if ty[0] == "v" else 1
    if ty.endswith("16"):
        words = (count + 1) // 2
        return ("i16" if count == 1 else "i32" if words == 1 else f"<{words} x i32>"), words
    return ("i32" if count == 1 else f"<{count} x i32>"), count


def _ir(ty: str) -> str:
    element = {"f32": "float", "f16": "half", "i32": "i32", "i64": "i64"}[ty[-3:]]
    return f"<{ty[1]} x {element}>" if ty[0] == "v" else element


@dataclass(frozen=True)
class Kernel:
    """A kernel that does one image operation in each of its lanes below ``count``; ``operation`` as LLVM's intrinsics have
    it: load, load.mip, store, store.mip, getresinfo, atomic.add."""

    operation: str
    kind: str
    ty: str = "v4f32"
    dmask: int = 15
    a16: bool = False
    used: bool = True

    @property
    def name(self) -> str:
        parts = [self.operation.replace(".", "_"), self.kind, self.ty, str(self.dmask)]
        return "_".join(parts + ["a16"] * self.a16 + ["unused"] * (not self.used))

    @property
    def coordinates(self) -> int:
        return 1 if self.operation == "getresinfo" else KINDS[self.kind][1] + self.operation.endswith(".mip")

    @property
    def atomic(self) -> bool:
        return self.operation.startswith("atomic")

    def text(self, features: str) -> str:
        lines: list[str] = []
        number = itertools.count()

        def emit(text: str) -> str:
            name = f"%n{next(number)}"
            lines.append(f"  {name} = {text}")
            return name

        def element(base: str, k: int) -> str:
            index = emit(f"add i32 %id, {LANES * k}")
            return emit(f"getelementptr i32, ptr addrspace(1) {base}, i32 {index}")

        def read(base: str, ty: str) -> str:
            stored, words = _words(ty)
            if ty == "i64":
                stored, words = "<2 x i32>", 2
            parts = [emit(f"load i32, ptr addrspace(1) {element(base, k)}") for k in range(words)]
            if stored == "i16":
                value = emit(f"trunc i32 {parts[0]} to i16")
            elif words == 1:
                value = parts[0]
            else:
                value = "poison"
                for k, part in enumerate(parts):
                    value = emit(f"insertelement <{words} x i32> {value}, i32 {part}, i32 {k}")
            return value if _ir(ty) == stored else emit(f"bitcast {stored} {value} to {_ir(ty)}")

        coordinates = []
        for k in range(self.coordinates):
            whole = emit(f"load i32, ptr addrspace(1) {element('%at', k)}")
            coordinates.append(emit(f"trunc i32 {whole} to i16") if self.a16 else whole)
        at = ", ".join(f"{'i16' if self.a16 else 'i32'} {c}" for c in coordinates)
        rsrc = emit("load <8 x i32>, ptr addrspace(4) %resource, align 32")
        short = f"{'i16' if self.a16 else 'i32'}.v8i32"
        name = f"@llvm.amdgcn.image.{self.operation}.{self.kind}.{self.ty}.{short}"
        tail = f"{at}, <8 x i32> {rsrc}, i32 0, i32 0)"
        if self.operation.startswith("store"):
            value = read("%data", self.ty)
            lines.append(f"  call void {name}({_ir(self.ty)} {value}, i32 {self.dmask}, {tail}")
        else:
            if self.atomic:
                values = [read("%data", self.ty)]
                if "cmpswap" in self.operation:
                    words = 2 if self.ty == "i64" else 1
                    pointer = emit(f"getelementptr i32, ptr addrspace(1) %data, i32 {LANES * words}")
                    values.append(read(pointer, self.ty))
                given = ", ".join(f"{_ir(self.ty)} {v}" for v in values)
                got = emit(f"call {_ir(self.ty)} {name}({given}, {tail}")
            else:
                got = emit(f"call {_ir(self.ty)} {name}(i32 {self.dmask}, {tail}")
            if self.used:
                stored, words = ("<2 x i32>", 2) if self.ty == "i64" else _words(self.ty)
                value = got if stored == _ir(self.ty) else emit(f"bitcast {_ir(self.ty)} {got} to {stored}")
                for k in range(words):
                    word = value if words == 1 else emit(f"extractelement {stored} {value}, i32 {k}")
                    word = emit(f"zext i16 {word} to i32") if stored == "i16" else word
                    lines.append(f"  store i32 {word}, ptr addrspace(1) {element('%out', k)}")
        body = "\n".join(lines)
        return f"""
define amdgpu_kernel void @{self.name}(ptr addrspace(4) %resource, ptr addrspace(1) %at, ptr addrspace(1) %data,
    ptr addrspace(1) %out, i32 %count) #0 {{
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %on = icmp ult i32 %id, %count
  br i1 %on, label %do, label %end
do:
{body}
  br label %end
end:
  ret void
}}
attributes #0 = {{ {features} "amdgpu-flat-work-group-size"="1,256" }}
"""


def build(target: str, kernels: Iterable[Kernel], wave: int = 32) -> bytes:
    """Compiles kernels with LLVM."""
    features = f'"target-features"="+wavefrontsize{wave}"' if major(target) > 9 else ""
    texts = [kernel.text(features) for kernel in dict.fromkeys(kernels)]
    attributes = texts[0][texts[0].index("attributes #0") :]
    text = "".join(t[: t.index("attributes #0")] for t in texts) + attributes
    with tempfile.TemporaryDirectory(prefix="luthier-images-") as folder:
        source, output = Path(folder) / "k.ll", Path(folder) / "k.hsaco"
        source.write_text('target triple = "amdgcn-amd-amdhsa"\n' + text)
        subprocess.run(
            ["clang-22", "-x", "ir", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-O2", "-w",
             str(source), "-o", str(output)],
            check=True,
        )  # fmt: skip
        return output.read_bytes()


class Machine:
    """A device with kernels, and images in its memory."""

    def __init__(self, target: str, code: bytes):
        self.device = lt.Device(target)
        self.module = self.device.load(lt.CodeObject.open(code))

    def place(self, memory: np.ndarray) -> int:
        address = self.device.core.alloc(memory.nbytes)
        self.device.core.write(address, memory.tobytes())
        return address

    def read(self, address: int, memory: np.ndarray) -> np.ndarray:
        return np.frombuffer(self.device.core.read(address, memory.nbytes), memory.dtype).reshape(memory.shape)

    def run(
        self,
        kernel: Kernel | str,
        words: np.ndarray,
        at: Sequence[Sequence[int]] | np.ndarray,
        data: np.ndarray | None = None,
        count: int = LANES,
        strict: bool | Sequence[str] = True,
    ) -> np.ndarray:
        """The words that the lanes got, (4, lanes); untouched ones are 0xdeadbeef."""
        name = kernel if isinstance(kernel, str) else kernel.name
        out = np.full((4, LANES), 0xDEADBEEF, np.uint32)
        coordinates = np.zeros((4, LANES), np.uint32)
        given = np.asarray(at).astype(np.int64).astype(np.uint32)
        coordinates[: len(given)] = given
        given = np.zeros((8, LANES), np.uint32)
        if data is not None:
            given[: len(data)] = data
        args = [words, coordinates, given, out, np.int32(count)]
        result = self.module.run(name, grid=LANES, block=LANES, args=args, strict=strict)
        assert result.findings == [], result.findings
        return out


#: One or two of each encoding, descriptor and layout; and waves of 64 lanes where there are two sizes.
MACHINES = [
    ("gfx900", 64), ("gfx906", 64), ("gfx90a", 64), ("gfx1010", 32), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 32),
    ("gfx1150", 64), ("gfx1200", 32), ("gfx1201", 64),
]  # fmt: skip
FEW = [("gfx906", 64), ("gfx90a", 64), ("gfx1010", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1201", 32)]
LOADS = [Kernel(op, kind) for op in ("load", "load.mip") for kind in KINDS]
STORES = [Kernel("store", "2d", ty, mask) for ty, mask in (("v4f32", 15), ("f32", 1), ("v2f32", 3), ("v2f32", 9), ("v4f16", 15))]
INTEGERS = ["swap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec", "cmpswap"]
BY_NAME = {"1": ("v4f32", 15), "2": ("v2f32", 10), "3": ("v3f32", 13), "4": ("f32", 4)}
KERNELS = [
    *LOADS,
    *STORES,
    *(Kernel("load", "2d", ty, mask) for ty, mask in BY_NAME.values()),
    *(Kernel("load", "2d", ty, mask) for ty, mask in (("v4f16", 15), ("v2f16", 12), ("f16", 2))),
    *(Kernel("load", kind, a16=True) for kind in KINDS),
    Kernel("load.mip", "3d", a16=True),
    *(Kernel("store", kind) for kind in KINDS),
    Kernel("store.mip", "2darray"),
    *(Kernel("getresinfo", kind) for kind in KINDS),
    Kernel("getresinfo", "2d", "v2f32", 9),
    *(Kernel(f"atomic.{op}", "2d", ty) for op in INTEGERS for ty in ("i32", "i64")),
    Kernel("atomic.add", "3d", "i32", used=False),
]


def floats(target: str) -> list[Kernel]:
    """Float atomics, where the target has them as intrinsics."""
    return {
        10: [Kernel(f"atomic.{op}", "2d", "f32") for op in ("fmin", "fmax")],
        12: [
            *(Kernel(f"atomic.{op}.flt", "2d", "f32") for op in ("add", "min", "max")),
            Kernel("atomic.pk.add.f16", "2d", "v2f16"),
        ],
    }.get(major(target), [])


@functools.cache
def machine(target: str, wave: int) -> Machine:
    extra = floats(target)
    return Machine(target, build(target, [*KERNELS, *extra], wave))


def texels(rng: np.random.Generator, image: Image) -> np.ndarray:
    return rng.integers(0, 256, image.total, np.uint8)


def coordinates(rng: np.random.Generator, image: Image, outside: bool = True) -> np.ndarray:
    """Of every lane, some outside: a little and far."""
    extent = {"1d": [0], "1darray": [0, 2], "2d": [0, 1]}.get(image.kind, [0, 1, 2])
    sizes = [image.extent()[k] for k in extent]
    at = np.array([rng.integers(0, n, LANES) for n in sizes])
    if outside:
        for lane in range(0, LANES, 3):
            k = rng.integers(len(sizes))
            at[k, lane] = rng.choice([-1, sizes[k], sizes[k] + 1, -(1 << 31), 0x7FFF, sizes[k] - 1])
    return at.astype(np.uint32)
