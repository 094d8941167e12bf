"""What the device does not do with images: each refusal names the instruction and the field that says so."""

from __future__ import annotations

from dataclasses import replace

import images
import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial
from conformance.device import Batch, Refused
from conformance.targets import TARGETS
from images import FEW, LANES, Image, Kernel, machine, major, texels

import luthier as lt

#: What is refused: by which change of the resource's words, and the field that is named. Bits by generation.
REFUSED = [
    ("SW_MODE 27", lambda t: {3: 27 << 20}),
    ("TYPE 0xe", lambda t: {3: (9 ^ 14) << 28}),
    ("TYPE 0x1", lambda t: {3: (9 ^ 1) << 28}),
    ("MIN_LOD", lambda t: {(5 if major(t) > 10 else 1): 1 << (27 if major(t) > 10 else 8)}),
    ("COMPRESSION_EN", lambda t: {6: 1 << 21}),
    ("DST_SEL_Y 5", lambda t: {3: (0 ^ 5) << 3}),
    ("DST_SEL_X 2", lambda t: {3: 4 ^ 2}),
    ("FORMAT 0", lambda t: {1: images.DATA["32"] << 20 if major(t) == 9 else 20 << (17 if major(t) == 12 else 20)}),
    ("MAX_MIP", lambda t: {3: 1 << (15 if major(t) == 12 else 16)}),
    ("BASE_ARRAY", lambda t: {(5 if major(t) == 9 else 4): 1 << (0 if major(t) == 9 else 16)}),
    ("DIM 1 of a resource whose TYPE says D3", lambda t: {3: (9 ^ 10) << 28}),
]


@pytest.mark.parametrize(("target", "wave"), FEW)
def test_what_is_refused_names_its_field(target: str, wave: int) -> None:
    m = machine(target, wave)
    image = Image(target, "2d", "32", "UINT", 16, 4).simple()
    address = m.place(texels(np.random.default_rng(0), image))
    at = np.zeros((2, LANES), np.uint32)
    for field, change in REFUSED:
        words = image.words(address)
        for word, value in change(target).items():
            words[word] ^= np.uint32(value & 0xFFFFFFFF)
        if field.startswith("DIM") and major(target) == 9:
            continue  # the resource alone says it
        with pytest.raises(lt.DeviceError, match=f"image_load: .*{field}"):
            m.run(Kernel("load", "2d"), words, at)
    srgb = replace(image, size="8_8_8_8", number="UNORM").simple().words(address)
    srgb[1] ^= np.uint32(
        9 << 26
        if major(target) == 9
        else (56 ^ 130) << 20
        if major(target) == 10
        else (42 ^ 66) << (17 if major(target) == 12 else 20)
    )
    with pytest.raises(lt.DeviceError, match="FORMAT"):
        m.run(Kernel("load", "2d"), srgb, at)
    with pytest.raises(lt.DeviceError, match="DMASK|texel of 4 bytes"):
        m.run(Kernel("atomic.add", "2d", "i64"), image.words(address), at, np.ones((4, LANES)))
    luminance = replace(image, select=(4, 4, 4, 1)).words(address)
    with pytest.raises(lt.DeviceError, match="image_store: a store through the resource's DST_SEL"):
        m.run(Kernel("store", "2d"), luminance, at, np.ones((4, LANES)))
    if major(target) == 9:
        array = replace(image, kind="2darray", depth=3).words(address)
        with pytest.raises(lt.DeviceError, match="image_load: DA 0 of a resource whose TYPE says D2Array"):
            m.run(Kernel("load", "2d"), array, at)
        levels = replace(image, levels=3, view=(0, 2)).words(address)
        with pytest.raises(lt.DeviceError, match="MAX_MIP 2"):
            m.run(Kernel("load", "2d"), levels, at)
    narrow = replace(image, pitch=80, size="8").words(address)
    if target != "gfx1010":
        with pytest.raises(lt.DeviceError, match="PITCH 80"):
            m.run(Kernel("load", "2d"), narrow, at)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("image_sample_b v[8:11], v[4:6], s[52:59], s[60:63] dmask:0xf dim:SQ_RSRC_IMG_2D", "of textures, image_sample,"),
        ("image_gather4 v[8:11], v[4:5], s[52:59], s[60:63] dmask:0x1 dim:SQ_RSRC_IMG_2D", "which texels are gathered"),
        ("image_get_lod v[8:9], v[4:5], s[52:59], s[60:63] dmask:0x3 dim:SQ_RSRC_IMG_2D", "how a level of detail"),
        ("image_msaa_load v[8:11], v[4:6], s[52:59] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA", "several samples"),
        ("image_bvh_intersect_ray v[8:11], v[16:26], s[52:55]", "rays are not traced"),
        ("image_load v8, v[4:5], s[52:59] dmask:0x1 dim:SQ_RSRC_IMG_2D", "UNORM 0"),
        ("image_load v8, v[4:5], s[52:59] dim:SQ_RSRC_IMG_2D unorm", "DMASK 0"),
        ("image_load v8, v[4:5], s[52:59] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm lwe", "LWE"),
    ],
)
def test_what_the_device_does_not_do_is_refused_by_name(line: str, why: str) -> None:
    trial = Trial("refused", [line], [4, 5, 6, *range(16, 27)], [8])
    with pytest.raises(Refused, match=rf"{line.split()[0]}.*{why}"):
        Batch(TARGETS["gfx1100"], [trial]).run(trial, np.full((1, 16), 1, np.uint32), np.zeros((1, 14, 32), np.uint32))


@pytest.mark.parametrize("exec_", [0, 1])
def test_without_lanes_no_resource_is_looked_at(exec_: int) -> None:
    line = "image_load v8, v[4:5], s[52:59] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm"
    trial = Trial("none", ["s_mov_b32 s55, 1", line], [4, 5, 8], [8])
    record, rows = np.full((1, 16), 1, np.uint32), np.full((1, 3, 32), 7, np.uint32)
    record[0, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = exec_
    batch = Batch(TARGETS["gfx1100"], [trial])
    if exec_:
        with pytest.raises(Refused, match="image_load: the resource's TYPE 0x0"):
            batch.run(trial, record, rows)
    else:
        assert (batch.run(trial, record, rows)[1] == 7).all()
