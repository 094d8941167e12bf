"""Images without a sampler: loads, stores, atomics and sizes of linear images, on each generation against NumPy. Kernels are
LLVM's (llvm.amdgcn.image.*), resources and layouts the tests' own: images.py."""

from __future__ import annotations

import struct
from dataclasses import replace

import images
import numpy as np
import pytest
import test_typed_buffers as typed
from conformance.assembly import SCALARS, Trial, sgpr
from conformance.device import Batch
from conformance.targets import Target
from images import (
    BY_NAME,
    FEW,
    INTEGERS,
    KINDS,
    LANES,
    MACHINES,
    Image,
    Kernel,
    Machine,
    coordinates,
    floats,
    machine,
    major,
    texels,
)

import luthier as lt
from luthier.device.launching import Launch


def element(memory: np.ndarray, offset: int, size: int) -> int:
    return int.from_bytes(memory[offset : offset + size].tobytes(), "little")


def components(image: Image, raw: int) -> list[int]:
    widths = images.bits(image.size)
    return [raw >> sum(widths[:k]) & ((1 << width) - 1) for k, width in enumerate(widths)]


def loaded(image: Image, memory: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """What the four components of loads are, as 32 bits."""
    one = 1 if image.number in ("UINT", "SINT") else 0x3F800000
    widths = images.bits(image.size)
    out = np.zeros((4, LANES), np.uint32)
    for lane, offset in enumerate(offsets):
        parts = components(image, element(memory, int(offset), image.bytes)) if offset >= 0 else [0] * len(widths)
        for k, select in enumerate(image.select):
            if select == 1:
                out[k, lane] = one
            elif select >= 4 and offset >= 0:
                part = np.array([parts[select - 4]], np.int64)
                value = typed._meaning(part, widths[select - 4], image.number)
                out[k, lane] = typed._register(value, image.number)[0]
    return out


def shapes(target: str, kind: str) -> list[Image]:
    """Images of a kind, with rows that are not whole blocks, and what the generation has besides."""
    first = 6 if kind == "cube" else 2
    slices = 18 if kind == "cube" else 5
    height = 1 if kind in ("1d", "1darray") else 7
    plain = Image(target, kind, "16_16", "UINT", 71, height, slices if kind not in ("1d", "2d") else 1)
    out = [plain, replace(plain, size="32_32", width=3), replace(plain, size="8", width=200)]
    if KINDS[kind][0] > 10:
        out.append(replace(plain, first=first))
    if major(target) > 9:
        tall = replace(plain, width=77, height=1 if height == 1 else 37, levels=5)
        out += [replace(tall, view=(0, 4)), replace(tall, view=(2, 3))]
        if kind == "3d":
            out.append(replace(plain, uav=True, first=3))
    if kind in ("1d", "2d") and target not in ("gfx1010",):
        out.append(replace(plain, pitch=192, size="32"))
    if kind == "2d" and major(target) in (9, 12):
        out.append(replace(plain, pitch=128 if major(target) == 9 else 96, size="16_16"))
    return [image.simple() for image in out]


@pytest.mark.parametrize(("target", "wave"), MACHINES)
@pytest.mark.parametrize("kind", KINDS)
def test_loads_of_every_kind(target: str, wave: int, kind: str) -> None:
    rng = np.random.default_rng(KINDS[kind][0])
    m = machine(target, wave)
    for image in shapes(target, kind):
        memory = texels(rng, image)
        words = image.words(m.place(memory))
        at = coordinates(rng, image)
        want = loaded(image, memory, image.offsets(at))
        np.testing.assert_array_equal(m.run(Kernel("load", kind), words, at), want)
        levels = rng.integers(0, image.view[1] - image.view[0] + 2, LANES).astype(np.uint32)
        want = loaded(image, memory, image.offsets(at, levels))
        np.testing.assert_array_equal(m.run(Kernel("load.mip", kind), words, [*at, levels]), want)
        narrow = np.array([c & 0xFFFF for c in at])
        want = loaded(image, memory, image.offsets(narrow))
        # What the upper halves of the coordinates hold does not matter.
        noise = narrow | 0xABC0000
        np.testing.assert_array_equal(m.run(Kernel("load", kind, a16=True), words, noise), want)


FORMATS = [
    (size, number)
    for size in images.DATA
    for number in ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT")
    if (number == "UNORM" if size in ("5_6_5", "1_5_5_5", "5_5_5_1", "4_4_4_4") else typed._meaningful(size, number))
]


def has_format(target: str, size: str, number: str) -> bool:
    if major(target) >= 11:
        if size in ("10_11_11", "11_11_10"):
            return number == "FLOAT"
        return not (size == "10_10_10_2" and number.endswith("SCALED"))
    return True


@pytest.mark.parametrize(("target", "wave"), FEW)
def test_formats(target: str, wave: int) -> None:
    """Every format that the generation has: loaded in 32 and in 16 bits, and what was loaded stored again as it was."""
    rng = np.random.default_rng(5)
    m = machine(target, wave)
    at = np.array([np.arange(LANES) % 16, np.arange(LANES) // 16])
    tried = 0
    for size, number in FORMATS:
        if not has_format(target, size, number):
            continue
        tried += 1
        image = Image(target, "2d", size, number, 16, 4).simple()
        widths = images.bits(size)
        raws = [typed._raw(rng, b, number, LANES) for b in widths]
        memory = texels(rng, image)
        for lane, offset in enumerate(image.offsets(at)):
            whole = sum(int(raw[lane]) << sum(widths[:k]) for k, raw in enumerate(raws))
            memory[offset : offset + image.bytes] = list(whole.to_bytes(image.bytes, "little"))
        address = m.place(memory)
        words = image.words(address)
        got = m.run(Kernel("load", "2d"), words, at)
        want = loaded(image, memory, image.offsets(at))
        np.testing.assert_array_equal(got, want, f"{size} {number}")
        values = [typed._meaning(raw, b, number) for raw, b in zip(raws, widths)]
        halves = [typed._half(v, b, number) for v, b in zip(values, widths)]
        one = 1 if number in ("UINT", "SINT") else 0x3C00
        halves += [np.full(LANES, one if k == 3 else 0, np.uint32) for k in range(len(widths), 4)]
        short = m.run(Kernel("load", "2d", "v4f16"), words, at)
        np.testing.assert_array_equal(short[0], halves[0] | halves[1] << 16, f"{size} {number}")
        np.testing.assert_array_equal(short[1], halves[2] | halves[3] << 16, f"{size} {number}")
        np.testing.assert_array_equal(m.run(Kernel("load", "2d", "v2f16", 12), words, at)[0], short[1])
        np.testing.assert_array_equal(m.run(Kernel("load", "2d", "f16", 2), words, at)[0], short[0] >> 16)
        # Where it was stored from 32 bits, and then from 16 if those hold it, nothing has changed.
        whole = (image.offsets(at)[:, None] + np.arange(image.bytes)).ravel()
        m.device.core.write(address, np.zeros_like(memory).tobytes())
        m.run(Kernel("store", "2d"), words, at, got)
        np.testing.assert_array_equal(m.read(address, memory)[whole], memory[whole], f"{size} {number}")
        exact = number in ("UINT", "SINT") or (number == "FLOAT" and max(widths) < 32) or max(widths) <= 8
        if exact and max(widths) <= 16:
            m.device.core.write(address, np.zeros_like(memory).tobytes())
            m.run(Kernel("store", "2d", "v4f16"), words, at, short)
            np.testing.assert_array_equal(m.read(address, memory)[whole], memory[whole], f"{size} {number}")
    assert tried >= 40


@pytest.mark.parametrize(("target", "wave"), MACHINES)
def test_selected_components(target: str, wave: int) -> None:
    rng = np.random.default_rng(7)
    m = machine(target, wave)
    for select in [(6, 5, 4, 7), (4, 5, 6, 7), (1, 0, 7, 5), (7, 7, 4, 1)]:
        image = Image(target, "2d", "8_8_8_8", "UNORM", 20, 6, select=select)
        memory = texels(rng, image)
        address = m.place(memory)
        at = coordinates(rng, image)
        want = loaded(image, memory, image.offsets(at))
        for ty, mask in BY_NAME.values():
            got = m.run(Kernel("load", "2d", ty, mask), image.words(address), at)
            chosen = [k for k in range(4) if mask >> k & 1]
            np.testing.assert_array_equal(got[: len(chosen)], want[chosen])
            assert (got[len(chosen) :] == 0xDEADBEEF).all()


@pytest.mark.parametrize(("target", "wave"), MACHINES)
@pytest.mark.parametrize("kind", KINDS)
def test_stores_of_every_kind(target: str, wave: int, kind: str) -> None:
    """Some lanes are off and some outside; texels differ between lanes."""
    rng = np.random.default_rng(KINDS[kind][0] + 20)
    m = machine(target, wave)
    for image in shapes(target, kind):
        memory = texels(rng, image)
        address = m.place(memory)
        extent = image.extent()
        cells = rng.permutation(np.prod(extent))[:LANES]
        x, y, z = cells % extent[0], cells // extent[0] % extent[1], cells // (extent[0] * extent[1])
        at = np.full((KINDS[kind][1], LANES), 0xFFFFFFFF, np.uint32)
        rows = {"1d": [x], "2d": [x, y], "1darray": [x, z]}.get(kind, [x, y, z])
        at[:, : len(cells)] = np.array(rows)
        at[:, 5] += np.uint32(0x8000)
        data = np.zeros((4, LANES), np.uint32)
        widths = images.bits(image.size)
        for k, width in enumerate(widths):
            data[k] = rng.integers(0, 1 << width, LANES)
        count = 41
        m.run(Kernel("store", kind), image.words(address), at, data, count)
        want = memory.copy()
        for lane, offset in enumerate(image.offsets(at)[:count]):
            if offset >= 0:
                raw = sum(int(data[k, lane]) << sum(widths[:k]) for k in range(len(widths)))
                want[offset : offset + image.bytes] = list(raw.to_bytes(image.bytes, "little"))
        assert (want != memory).any()
        np.testing.assert_array_equal(m.read(address, memory), want)


@pytest.mark.parametrize(("target", "wave"), MACHINES)
def test_stores_of_some_components(target: str, wave: int) -> None:
    """What is left out is zero, on gfx12 the first component's value (LLVM: DefaultComponentZero, DefaultComponentBroadcast)."""
    rng = np.random.default_rng(11)
    m = machine(target, wave)
    at = np.array([np.arange(LANES) % 16, np.arange(LANES) // 16])
    for select in [(4, 5, 6, 7), (6, 5, 4, 7)]:
        image = Image(target, "2d", "16_16_16_16", "UINT", 16, 4, select=select)
        for ty, mask in (("f32", 1), ("v2f32", 3), ("v2f32", 9)):
            memory = texels(rng, image)
            address = m.place(memory)
            data = rng.integers(0, 1 << 16, (4, LANES)).astype(np.uint32)
            m.run(Kernel("store", "2d", ty, mask), image.words(address), at, data)
            given = [k for k in range(4) if mask >> k & 1]
            want = memory.copy().view(np.uint16)
            for lane, offset in enumerate(image.offsets(at)):
                for k in range(4):
                    rest = data[0, lane] if major(target) == 12 else 0
                    value = data[given.index(k), lane] if k in given else rest
                    want[offset // 2 + select[k] - 4] = value
            np.testing.assert_array_equal(m.read(address, memory).view(np.uint16), want)


def _changed(op: str, old: int, data: int, compare: int, width: int) -> int:
    mask = (1 << width) - 1

    def signed(x: int) -> int:
        return x - (x >> (width - 1) << width)

    return {
        "swap": data,
        "add": old + data & mask,
        "sub": old - data & mask,
        "smin": min(signed(old), signed(data)) & mask,
        "smax": max(signed(old), signed(data)) & mask,
        "umin": min(old, data),
        "umax": max(old, data),
        "and": old & data,
        "or": old | data,
        "xor": old ^ data,
        "inc": 0 if old >= data else old + 1,
        "dec": data if old == 0 or old > data else old - 1,
        "cmpswap": data if old == compare else old,
    }[op]


@pytest.mark.parametrize(("target", "wave"), MACHINES)
@pytest.mark.parametrize("ty", ["i32", "i64"])
def test_atomics_on_integers(target: str, wave: int, ty: str) -> None:
    rng = np.random.default_rng(13)
    m = machine(target, wave)
    width = int(ty[1:])
    words = width // 32
    image = Image(target, "2d", "32" if words == 1 else "32_32", "UINT", 11, 7).simple()
    for op in INTEGERS:
        memory = texels(rng, image)
        address = m.place(memory)
        cells = rng.permutation(11 * 7)[:LANES]
        at = np.array([cells % 11, cells // 11]).astype(np.uint32)
        at[0, [3, 40]] = 11, 0xFFFFFFFF  # outside
        data = rng.integers(0, 1 << 32, (4, LANES)).astype(np.uint32)
        places = image.offsets(at)
        old = [element(memory, int(o), image.bytes) if o >= 0 else 0 for o in places]
        for lane in range(0, LANES, 2):  # what some compare with is there
            for k in range(words):
                data[words + k, lane] = old[lane] >> (32 * k) & 0xFFFFFFFF
        count = 59
        got = m.run(Kernel(f"atomic.{op}", "2d", ty), image.words(address), at, data, count)
        want, memory = memory.copy(), m.read(address, memory)

        given = [
            [sum(int(data[first + k, lane]) << (32 * k) for k in range(words)) for first in (0, words)] for lane in range(LANES)
        ]
        for lane, offset in enumerate(places[:count]):
            if offset >= 0:
                new = _changed(op, old[lane], *given[lane], width)
                want[offset : offset + image.bytes] = list(new.to_bytes(image.bytes, "little"))
            for k in range(words):
                assert got[k, lane] == old[lane] >> (32 * k) & 0xFFFFFFFF, op
        np.testing.assert_array_equal(memory, want, op)


@pytest.mark.parametrize(("target", "wave"), MACHINES)
def test_atomics_that_return_nothing_add_up(target: str, wave: int) -> None:
    m = machine(target, wave)
    image = Image(target, "3d", "32", "SINT", 5, 3, 2).simple()
    memory = np.zeros(image.total, np.uint8)
    address = m.place(memory)
    at = np.array([np.zeros(LANES), np.ones(LANES), np.arange(LANES) % 3])
    data = np.arange(LANES, dtype=np.uint32)[None]
    m.run(Kernel("atomic.add", "3d", "i32", used=False), image.words(address), at, data)
    got = m.read(address, memory).view(np.uint32)
    want = np.zeros_like(got)
    for lane, offset in enumerate(image.offsets(at)):
        if offset >= 0:
            want[offset // 4] += lane
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("target", "wave"), [m for m in MACHINES if floats(m[0])])
def test_atomics_on_floats(target: str, wave: int) -> None:
    rng = np.random.default_rng(17)
    m = machine(target, wave)
    at = np.array([np.arange(LANES) % 16, np.arange(LANES) // 16])
    for kernel in floats(target):
        packed = kernel.ty == "v2f16"
        image = Image(target, "2d", "16_16" if packed else "32", "FLOAT", 16, 4).simple()
        ty = np.float16 if packed else np.float32
        memory = np.zeros(image.total, np.uint8)
        numbers = memory.view(ty)
        numbers[:] = (rng.standard_normal(numbers.size) * 8).astype(ty)
        if not packed:
            numbers[:2] = -0.0, 0.0
        address = m.place(memory)
        data = (rng.standard_normal((LANES, 2 if packed else 1)) * 8).astype(ty)
        if not packed:
            data[:2, 0] = 0.0, -0.0
        got = m.run(kernel, image.words(address), at, np.ascontiguousarray(data).view(np.uint32).reshape(1, LANES))
        want = memory.copy().view(ty)
        for lane, offset in enumerate(image.offsets(at)):
            assert got[0, lane] == element(memory, int(offset), 4)
            for k, value in enumerate(data[lane]):
                old = want[offset // ty().itemsize + k]
                less = value < old or (value == old == 0 and np.signbit(value) and not np.signbit(old) and major(target) == 12)
                more = value > old or (value == old == 0 and np.signbit(old) and not np.signbit(value) and major(target) == 12)
                name = kernel.operation
                new = old + value if "add" in name else value if (less if "min" in name else more) else old
                want[offset // ty().itemsize + k] = new
        np.testing.assert_array_equal(m.read(address, memory), want.view(np.uint8), kernel.name)


@pytest.mark.parametrize(("target", "wave"), MACHINES)
def test_sizes(target: str, wave: int) -> None:
    """image_get_resinfo looks at no texel: of tiled images too, and of those with mip levels on gfx9."""
    m = machine(target, wave)
    for kind in KINDS:
        tall = 1 if kind in ("1d", "1darray") else 37
        deep = 1 if kind in ("1d", "2d") else 18
        for image in [
            Image(target, kind, width=77, height=tall, depth=deep, levels=6, view=(1, 4)),
            Image(target, kind, width=1, height=1, depth=deep, levels=1),
            *([Image(target, kind, width=5, height=3, depth=9, uav=True, first=4)] if kind == "3d" and major(target) > 9 else []),
            *([Image(target, kind, width=8, height=tall, depth=18, first=6)] if KINDS[kind][0] > 10 else []),
        ]:
            words = image.words(1 << 40)
            words[3] |= 9 << 20  # any SW_MODE
            level = np.arange(LANES) % 8
            want = np.zeros((4, LANES), np.uint32)
            want[3] = image.view[1] - image.view[0] + 1
            for lane in range(LANES):
                if level[lane] <= image.view[1] - image.view[0]:
                    w, h, d = image.extent(int(level[lane]))
                    want[:3, lane] = {"1d": (w, 0, 0), "2d": (w, h, 0), "1darray": (w, d, 0)}.get(kind, (w, h, d))
            got = m.run(Kernel("getresinfo", kind), words, level[None])
            np.testing.assert_array_equal(got, want, str(image))
            if kind == "2d":
                got = m.run(Kernel("getresinfo", "2d", "v2f32", 9), words, level[None])
                np.testing.assert_array_equal(got[:2], want[[0, 3]])


@pytest.mark.parametrize(("target", "wave"), MACHINES)
def test_no_image_is_zeros(target: str, wave: int) -> None:
    m = machine(target, wave)
    none = np.zeros(8, np.uint32)
    at = np.zeros((3, LANES), np.uint32)
    assert (m.run(Kernel("load", "2d"), none, at) == 0).all()
    assert (m.run(Kernel("getresinfo", "2d"), none, at) == 0).all()
    assert (m.run(Kernel("atomic.swap", "2d", "i32"), none, at, at + 1)[0] == 0).all()
    m.run(Kernel("store", "2d"), none, at, at)


@pytest.mark.parametrize("target", ["gfx906", "gfx90a", "gfx1030", "gfx1100", "gfx1201"])
def test_every_wait_for_an_image_is_missed(target: str) -> None:
    """Strict mode: without a wait, what an image gives is read too early; so is an address that a load has not brought yet."""
    kernels = [
        Kernel("load", "3d"),
        Kernel("atomic.umax", "2d", "i32"),
        Kernel("getresinfo", "2d"),
        Kernel("load", "2d", "v4f16"),
    ]
    for kernel in kernels:
        code = images.build(target, [kernel])
        image = Image(target, kernel.kind, "32", "UINT", 16, 4).simple()
        loaded_code = lt.CodeObject.open(code)
        (text,) = [s for s in loaded_code.inspect()["sections"] if s["name"] == ".text"]
        instructions = [i for f in loaded_code.program.functions for b in f.blocks for i in b.instructions]
        (image_at,) = [i.address for i in instructions if i.mnemonic.startswith("image_")]
        waits = [i.address for i in instructions if i.mnemonic in ("s_waitcnt", "s_wait_loadcnt")]
        assert min(waits) < image_at < max(waits)
        for wait in waits:
            at = wait - text["address"] + text["offset"]
            broken = bytearray(code)
            struct.pack_into("<I", broken, at, 0xBF800000)
            m = Machine(target, bytes(broken))
            words = image.words(m.place(np.zeros(image.total, np.uint8)))
            # Without arguments, or a resource, the kernel goes astray before.
            astray = "|not modelled|no allocation" if wait < image_at else ""
            with pytest.raises((AssertionError, lt.DeviceError), match=f"missing-wait{astray}"):
                m.run(kernel, words, np.zeros((3, LANES)), np.ones((1, LANES)))


def _target(target: str) -> Target:
    return Target(target, "", 64 if major(target) == 9 else 32, major(target))


@pytest.mark.parametrize("target", ["gfx900", "gfx90a", "gfx1010", "gfx1100", "gfx1201"])
def test_what_assembly_can_say_beyond_llvm(target: str) -> None:
    """Texels as they are (pck), addresses in any order (NSA), resources of four words, fault registers, cache bits."""
    t = _target(target)
    rng = np.random.default_rng(23)
    new, dim = t.major > 9, " dim:SQ_RSRC_IMG_2D" if t.major > 9 else ""
    unorm = " unorm" if t.major < 12 else ""
    near = "[v4, v5]" if t.major == 12 else "v[4:5]"
    resource = ["s_load_dwordx8 s[48:55], s[20:21], 0x0", "s_load_dwordx8 s[56:63], s[20:21], 0x20"]
    resource = [line.replace("s[20:21]", f"s[{sgpr('S0')}:{sgpr('S0') + 1}]") for line in resource]
    # Of a resource of four words the others do not matter.
    upper = ["s_mov_b64 s[64:65], s[48:49]", "s_mov_b64 s[66:67], s[50:51]", *(f"s_mov_b32 s{k}, -1" for k in range(68, 72))]
    resource += ["s_wait_kmcnt 0x0" if t.major == 12 else "s_waitcnt lgkmcnt(0)", *upper]
    one = f"s[48:55] dmask:0x1{dim}{unorm}"
    lines = [
        f"image_load_pck v8, {near}, {one}",
        f"image_load_pck_sgn v9, {near}, {one}",
        f"image_load v10, {near}, {one} " + ("th:TH_LOAD_NT scope:SCOPE_SYS" if t.major == 12 else "glc slc"),
        f"image_load_mip v11, {'[v4, v5, v6]' if t.major == 12 else 'v[4:6]'}, {one}",
    ]
    if target != "gfx90a":
        lines.append(f"image_load v[12:13], {near}, {one} tfe")
    if new:
        lines += [
            f"image_load v14, [v5, v4], {one}",
            f"image_load v15, {near}, {one} r128".replace("48:55", "64:71"),
        ]
    trial = Trial("beyond", lines, [4, 5, 6, *range(8, 16)], list(range(8, 16)), before=resource, sgprs=80)
    store = Trial(
        "stores",
        [f"image_store_pck v8, {near}, s[56:63] dmask:0x1{dim}{unorm}"],
        [4, 5, 8],
        [8],
        before=resource,
        sgprs=80,
    )
    batch = Batch(t, [trial, store])
    image = Image(target, "2d", "8", "SNORM", 6, 6).simple()
    other = Image(target, "2d", "16", "FLOAT", 6, 6).simple()
    memory, second = texels(rng, image), texels(rng, other)
    memory[memory == 0x80] = 1
    places = [batch.buffer(memory), batch.buffer(second)]
    words = batch.buffer(np.concatenate([image.words(places[0]), other.words(places[1])]))
    record = np.zeros((1, 16), np.uint32)
    record[0, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
    record[0, SCALARS["MODE"]] = 0x3F0
    record[0, SCALARS["S0"] : SCALARS["S0"] + 2] = np.array([words], np.uint64).view(np.uint32)
    at = rng.integers(0, 7, (3, t.lanes)).astype(np.uint32)
    at[2] = rng.integers(0, 2, t.lanes)
    old = rng.integers(0, 1 << 32, (8, t.lanes)).astype(np.uint32)
    _, got = batch.run(trial, record, np.concatenate([at, old])[None])

    def raw(offsets: np.ndarray) -> np.ndarray:
        return np.where(offsets >= 0, memory[np.maximum(offsets, 0)], 0).astype(np.uint8)

    def number(offsets: np.ndarray) -> np.ndarray:
        return np.maximum(raw(offsets).view(np.int8) / 127.0, -1).astype(np.float32).view(np.uint32)

    offsets = image.offsets(at[:2])
    np.testing.assert_array_equal(got[0, 0], raw(offsets))
    np.testing.assert_array_equal(got[0, 1], raw(offsets).view(np.int8).astype(np.int32).view(np.uint32))
    np.testing.assert_array_equal(got[0, 2], number(offsets))
    np.testing.assert_array_equal(got[0, 3], number(image.offsets(at[:2], at[2])))
    np.testing.assert_array_equal(got[0, 4], number(offsets) if target != "gfx90a" else old[4])
    np.testing.assert_array_equal(got[0, 5], old[5])  # set by a fault alone
    np.testing.assert_array_equal(got[0, 6], number(image.offsets(at[1::-1])) if new else old[6])
    np.testing.assert_array_equal(got[0, 7], number(offsets) if new else old[7])
    at[:2] = np.arange(t.lanes) % 6, np.arange(t.lanes) // 6
    batch.run(store, record, np.concatenate([at[:2], old[:1]])[None])
    want = second.copy().view(np.uint16)
    for lane, offset in enumerate(other.offsets(at[:2])):
        if offset >= 0:
            want[offset // 2] = old[0, lane] & 0xFFFF
    after = np.frombuffer(batch.device.core.read(places[1], second.nbytes), np.uint16)
    np.testing.assert_array_equal(after, want)


@pytest.mark.parametrize("target", ["gfx906", "gfx1030", "gfx1201"])
def test_undefined_registers_are_found(target: str) -> None:
    t = _target(target)
    dim, unorm = (" dim:SQ_RSRC_IMG_2D" if t.major > 9 else ""), (" unorm" if t.major < 12 else "")
    near = "[v4, v5]" if t.major == 12 else "v[4:5]"
    before = [f"s_load_dwordx8 s[48:55], s[{sgpr('S0')}:{sgpr('S0') + 1}], 0x0"]
    before += ["s_wait_kmcnt 0x0" if t.major == 12 else "s_waitcnt lgkmcnt(0)"]
    cases = {
        "nothing": (["s_nop 0"], [4, 5, 8], None),
        "address": ([f"image_load v9, {near}, s[48:55] dmask:0x1{dim}{unorm}"], [4], "decides an address"),
        "data": ([f"image_store v8, {near}, s[48:55] dmask:0x1{dim}{unorm}"], [4, 5], "what memory gets is undefined"),
        "half": ([f"image_store v8, {near}, s[48:55] dmask:0x1{dim}{unorm} d16"], [4, 5, 8], None),
        "unused": ([f"image_store v[8:9], {near}, s[48:55] dmask:0x3{dim}{unorm}"], [4, 5, 8], None),
    }
    trials = {name: Trial(name, lines, loads, [4], before=before) for name, (lines, loads, _) in cases.items()}
    batch = Batch(t, list(trials.values()))
    image = Image(target, "2d", "16", "UINT", 16, 4).simple()
    words = batch.buffer(image.words(batch.buffer(np.zeros(image.total, np.uint8))))
    record = np.zeros((1, 16), np.uint32)
    record[0, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
    record[0, SCALARS["S0"] : SCALARS["S0"] + 2] = np.array([words], np.uint64).view(np.uint32)
    usual: list[str] = []
    for name, (_, loads, message) in cases.items():
        buffers = [record, np.zeros((len(loads), t.lanes), np.uint32), np.zeros(16, np.uint32), np.zeros(t.lanes, np.uint32)]
        kernarg = np.array([batch.buffer(b) for b in buffers], np.uint64).tobytes()
        shape = (t.lanes, 1, 1)
        kinds = ["undefined-register", "missing-wait"]
        report = batch.device.core.launch(batch.module, Launch(trials[name].symbol, shape, shape, strict=kinds), kernarg)
        found = [f["message"] for f in report["findings"]]
        usual = found if name == "nothing" else usual  # the kernel around it stores registers that nothing has written
        assert len(found) == len(usual) + (message is not None)
        assert message is None or any(message in text for text in found)
