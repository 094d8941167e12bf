"""Textures: `image_sample` and its kin on linear images of one level, against NumPy. The reference is HIP's page on texture
fetching, written as a sum over all texels, each with the weight that the distance from the coordinate gives it. Kernels are
LLVM's (llvm.amdgcn.image.sample.*)."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import images
import numpy as np
import pytest
from images import LANES, Image, major

import luthier as lt

MACHINES = [
    ("gfx906", 64), ("gfx90a", 64), ("gfx1010", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1150", 64), ("gfx1201", 32),
]  # fmt: skip
#: Spatial coordinates of each kind.
SPATIAL = {"1d": 1, "2d": 2, "3d": 3, "1darray": 1, "2darray": 2}
CLAMPS = {"wrap": 0, "mirror": 1, "edge": 2, "border": 6}


@dataclass(frozen=True)
class Sample:
    """A kernel that samples once in each lane. ``operation``: sample, sample.lz or sample.l."""

    operation: str
    kind: str
    counts: bool = False

    @property
    def name(self) -> str:
        return f"{self.operation.replace('.', '_')}_{self.kind}_{int(self.counts)}"

    def text(self, features: str) -> str:
        count = images.KINDS[self.kind][1] + (self.operation == "sample.l")
        lines = []
        for k in range(count):
            lines += [
                f"  %i{k} = add i32 %id, {LANES * k}",
                f"  %p{k} = getelementptr float, ptr addrspace(1) %at, i32 %i{k}",
                f"  %c{k} = load float, ptr addrspace(1) %p{k}",
            ]
        at = ", ".join(f"float %c{k}" for k in range(count))
        name = f"@llvm.amdgcn.image.{self.operation}.{self.kind}.v4f32.f32.v8i32.v4i32"
        for k in range(4):
            lines.append(f"  %o{k} = add i32 %id, {LANES * k}")
        lines += [
            "  %t = load <8 x i32>, ptr addrspace(4) %resource, align 32",
            "  %sp = getelementptr i32, ptr addrspace(4) %resource, i32 8",
            "  %s = load <4 x i32>, ptr addrspace(4) %sp, align 16",
            f"  %r = call <4 x float> {name}(i32 15, {at}, <8 x i32> %t, <4 x i32> %s, i1 {'true' if self.counts else 'false'}, i32 0, i32 0)",
        ]
        for k in range(4):
            lines += [
                f"  %e{k} = extractelement <4 x float> %r, i32 {k}",
                f"  %q{k} = getelementptr float, ptr addrspace(1) %out, i32 %o{k}",
                f"  store float %e{k}, ptr addrspace(1) %q{k}",
            ]
        body = "\n".join(lines)
        return f"""
define amdgpu_kernel void @{self.name}(ptr addrspace(4) %resource, ptr addrspace(1) %at, ptr addrspace(1) %out) #0 {{
  %id = call i32 @llvm.amdgcn.workitem.id.x()
{body}
  ret void
}}
attributes #0 = {{ {features} "amdgpu-flat-work-group-size"="1,256" }}
"""


def operations(target: str) -> list[str]:
    return ["sample"] if target == "gfx90a" else ["sample", "sample.lz", "sample.l"]


@functools.cache
def machine(target: str, wave: int) -> images.Machine:
    kernels = [Sample(op, kind, counts) for op in operations(target) for kind in SPATIAL for counts in (False, True)]
    return images.Machine(target, images.build(target, kernels, wave))


def sampler(clamp: str, linear: bool, counts: bool = False) -> np.ndarray:
    code = CLAMPS[clamp]
    return np.array([code | code << 3 | code << 6 | counts << 15, 4095 << 12, 0x500000 * linear, 0], np.uint32)


def run(target: str, wave: int, kernel: Sample, words: np.ndarray, sampler: np.ndarray, at: np.ndarray) -> np.ndarray:
    out, given = np.full((4, LANES), np.nan, np.float32), np.zeros((4, LANES), np.float32)
    given[: len(at)] = at
    result = machine(target, wave).module.run(
        kernel.name, grid=LANES, block=LANES, args=[np.concatenate([words, sampler]), given, out], strict=True
    )
    assert result.findings == [], result.findings
    return out


def weights(coordinate: float, size: int, clamp: str, linear: bool, counts: bool) -> np.ndarray:
    """The weight of each texel of a row, for a coordinate of eight bits of fraction."""
    at = np.float64(coordinate) * (1 if counts else size)
    at = np.rint(at * 256) / 256
    out = np.zeros(size)
    # Copies of the row to its left and right, as far as coordinates of these tests go.
    for copy in range(-4, 5):
        for texel in range(size):
            place = copy * size + texel
            shown = size - 1 - texel if clamp == "mirror" and copy % 2 else texel
            if linear:
                weight = max(0.0, 1 - abs(at - (place + 0.5)))
            else:
                weight = float(place <= at < place + 1)
            if clamp in ("wrap", "mirror") or copy == 0:
                out[shown] += weight
            elif clamp == "edge":
                out[0 if copy < 0 else size - 1] += weight
    return out


def reference(values: np.ndarray, image: Image, at: np.ndarray, clamp: str, linear: bool, counts: bool) -> np.ndarray:
    """Of (slices, rows, columns, components)."""
    out = np.zeros((values.shape[3], LANES))
    spatial = SPATIAL[image.kind]
    sizes = [image.width, image.height, image.depth]
    for lane in range(LANES):
        ways = [weights(at[k, lane], sizes[k], clamp, linear, counts) for k in range(spatial)]
        ways += [np.ones(1)] * (3 - spatial)
        if image.kind in ("1darray", "2darray"):
            slice_ = int(np.clip(np.rint(at[spatial, lane]), 0, image.depth - 1))
            ways[2] = (np.arange(image.depth) == slice_).astype(float)
        out[:, lane] = np.einsum("z,y,x,zyxc->c", ways[2], ways[1], ways[0], values)
    return out.astype(np.float32)


def sampled(rng: np.random.Generator, image: Image, counts: bool) -> np.ndarray:
    """Coordinates in the image, on its texels' edges and middles, and a little outside."""
    sizes = [image.width, image.height, image.depth][: SPATIAL[image.kind]]
    rows = []
    for size in sizes:
        exact = rng.integers(-size, 2 * size, LANES) + rng.choice([0, 0.5, 0.25, 37 / 256], LANES)
        free = rng.uniform(-1.5 * size, 2.5 * size, LANES)
        rows.append(np.where(rng.integers(0, 2, LANES) == 0, exact, free) / (1 if counts else size))
    if image.kind in ("1darray", "2darray"):
        rows.append(rng.integers(-1, image.depth + 1, LANES))
    return np.array(rows, np.float32)


def filled(rng: np.random.Generator, image: Image) -> tuple[np.ndarray, np.ndarray]:
    """An image's memory, and its values as (slices, rows, columns, components)."""
    memory = images.texels(rng, image)
    count, number = image.components, image.number
    kind = {("32", "FLOAT"): np.float32, ("8_8_8_8", "UNORM"): np.uint8, ("16_16", "SNORM"): np.int16}[
        image.size.replace("32_32", "32"), number
    ]
    shape = (image.depth if image.kind not in ("1d", "2d") else 1, image.height, image.width)
    values = np.zeros((*shape, count))
    for z, y, x in itertools.product(*map(range, shape)):
        at = {"1d": [x], "2d": [x, y], "1darray": [x, z]}.get(image.kind, [x, y, z])
        offset = int(image.offsets(np.array(at, np.uint32).reshape(-1, 1))[0])
        if kind is np.float32:
            memory[offset : offset + image.bytes] = rng.uniform(-100, 100, count).astype(np.float32).view(np.uint8)
        raw = memory[offset : offset + image.bytes].view(kind).astype(np.float64)
        scale = {np.float32: 1.0, np.uint8: 255.0, np.int16: 32767.0}[kind]
        values[z, y, x] = np.float32(np.maximum(raw / scale, -1.0 if kind is np.int16 else -np.inf))
    return memory, values


FORMATS = [("32", "FLOAT"), ("32_32", "FLOAT"), ("8_8_8_8", "UNORM"), ("16_16", "SNORM")]


@pytest.mark.parametrize(("target", "wave"), MACHINES)
@pytest.mark.parametrize("kind", SPATIAL)
def test_textures_are_what_hips_formulas_say(target: str, wave: int, kind: str) -> None:
    rng = np.random.default_rng(images.KINDS[kind][0])
    height = 1 if kind in ("1d", "1darray") else 5
    depth = 1 if kind in ("1d", "2d") else 3
    trials = itertools.product(CLAMPS, (False, True), (False, True))
    for n, (clamp, linear, counts) in enumerate(trials):
        if counts and clamp in ("wrap", "mirror"):
            continue
        size, number = FORMATS[n % len(FORMATS)]
        image = Image(target, kind, size, number, 7 + n % 3, height, depth).simple()
        memory, values = filled(rng, image)
        words = image.words(machine(target, wave).place(memory))
        at = sampled(rng, image, counts)
        want = reference(values, image, at, clamp, linear, counts)
        for operation in operations(target):
            # The instruction says that coordinates count texels, or the sampler does.
            for by_instruction in {counts, False}:
                kernel = Sample(operation, kind, by_instruction)
                got = run(target, wave, kernel, words, sampler(clamp, linear, counts and not by_instruction), at)
                # The sum of the reference is in another order; a point is exact.
                note = f"{clamp} linear={linear} counts={counts} {operation}"
                np.testing.assert_allclose(got[: len(want)], want, rtol=0, atol=2e-5 if linear else 0, err_msg=note)
                rest = np.array([0, 0, 0, 1], np.float32)[len(want) :, None]
                np.testing.assert_array_equal(got[len(want) :], np.broadcast_to(rest, got[len(want) :].shape))


@pytest.mark.parametrize(("target", "wave"), [("gfx90a", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1201", 32)])
def test_points_of_whole_numbers_are_exact(target: str, wave: int) -> None:
    rng = np.random.default_rng(5)
    image = Image(target, "2d", "32", "UINT", 9, 4).simple()
    memory = images.texels(rng, image)
    words = image.words(machine(target, wave).place(memory))
    at = np.array([rng.integers(0, 9, LANES) + 0.5, rng.integers(0, 4, LANES) + 0.5], np.float32)
    offsets = image.offsets(np.floor(at).astype(np.uint32))
    got = run(target, wave, Sample("sample", "2d", True), words, sampler("edge", False), at)
    want = [int.from_bytes(memory[o : o + 4].tobytes(), "little") for o in offsets]
    np.testing.assert_array_equal(got[0].view(np.uint32), np.array(want, np.uint32))


@pytest.mark.parametrize(("target", "wave"), [("gfx906", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1201", 32)])
def test_what_is_refused_of_a_texture_names_its_field(target: str, wave: int) -> None:
    rng = np.random.default_rng(6)
    image = Image(target, "2d", "32", "FLOAT", 9, 4).simple()
    m = machine(target, wave)
    words = image.words(m.place(images.texels(rng, image)))
    at = np.zeros((2, LANES), np.float32)
    for change, field in [
        ((0, 3), "CLAMP_X 3"), ((3, 3 << 30), "BORDER_COLOR_TYPE 3"), ((2, 1 << 20), "XY_MIN_FILTER 0 with XY_MAG_FILTER 1"),
        ((2, 10 << 20), "XY_MAG_FILTER 2"), ((0, 1 << 29), "FILTER_MODE 1"),
    ]:  # fmt: skip
        wanted = sampler("border" if "BORDER" in field else "wrap", False)
        wanted[change[0]] |= np.uint32(change[1])
        with pytest.raises(lt.DeviceError, match=f"image_sample: the sampler's {field}"):
            run(target, wave, Sample("sample", "2d"), words, wanted, at)
    with pytest.raises(lt.DeviceError, match="count texels, and wrap"):
        run(target, wave, Sample("sample", "2d"), words, sampler("wrap", False, True), at)
    whole = Image(target, "2d", "32", "UINT", 9, 4).simple().words(int(words[0]) << 8)
    with pytest.raises(lt.DeviceError, match="a linear filter of whole numbers"):
        run(target, wave, Sample("sample", "2d"), whole, sampler("edge", True), at)
    if major(target) > 9:
        levels = Image(target, "2d", "32", "FLOAT", 9, 4, levels=3, view=(0, 2)).simple().words(int(words[0]) << 8)
        with pytest.raises(lt.DeviceError, match="3 levels of detail"):
            run(target, wave, Sample("sample", "2d"), levels, sampler("edge", True), at)
