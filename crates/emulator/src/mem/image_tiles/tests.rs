//! Whole images beside AMD's addrlib (ROCr's copy of it, of 5.2.3 and for gfx11 and gfx12 of 6.3, compiled and asked for the
//! address of every texel).

use super::*;
use Shape::{D2Array, D3};
use orders::Family::{self, Gfx9, Gfx11, Gfx12, Gfx101, Gfx103};

/// Of images of 300 by 141 texels in two slices, and of 70 by 40 by 35, with one pipe and one bank: the offsets of all
/// texels, slice by slice and row by row, for texels of 1, 2, 4, 8 and 16 bytes. From each to the next,
/// sum = sum * 0x9e3779b97f4a7c15 + offset.
#[rustfmt::skip]
const ADDRLIB: &[(Family, Shape, u32, u64)] = &[
    (Gfx9, D2Array, 1, 0x742263e78f8cae0c),
    (Gfx9, D2Array, 2, 0x9e71d0ed863d1f0c),
    (Gfx9, D2Array, 5, 0x41a06d6bdbe1820c),
    (Gfx9, D2Array, 6, 0x6befda71d291f30c),
    (Gfx9, D2Array, 9, 0xe55e8a2cb9a2c20c),
    (Gfx9, D2Array, 10, 0x0fadf732b053330c),
    (Gfx9, D2Array, 21, 0x41a06d6bdbe1820c),
    (Gfx9, D2Array, 22, 0x6befda71d291f30c),
    (Gfx9, D2Array, 25, 0xe55e8a2cb9a2c20c),
    (Gfx9, D2Array, 26, 0x0fadf732b053330c),
    (Gfx9, D3, 4, 0xa3eeb55f3ad19308),
    (Gfx9, D3, 5, 0xc26020ed47b9ca98),
    (Gfx9, D3, 6, 0x367256fc15ee3e98),
    (Gfx9, D3, 8, 0x149eb8b8d24b9308),
    (Gfx9, D3, 9, 0x33102446df33ca98),
    (Gfx9, D3, 10, 0x690e16b24d773e98),
    (Gfx9, D3, 20, 0xa3eeb55f3ad19308),
    (Gfx9, D3, 21, 0xc26020ed47b9ca98),
    (Gfx9, D3, 22, 0x367256fc15ee3e98),
    (Gfx9, D3, 24, 0x149eb8b8d24b9308),
    (Gfx9, D3, 25, 0x33102446df33ca98),
    (Gfx9, D3, 26, 0x690e16b24d773e98),
    (Gfx101, D2Array, 1, 0x742263e78f8cae0c),
    (Gfx101, D2Array, 2, 0xd6e4be2c1512340c),
    (Gfx101, D2Array, 5, 0x41a06d6bdbe1820c),
    (Gfx101, D2Array, 6, 0xa462c7b06167080c),
    (Gfx101, D2Array, 9, 0xe55e8a2cb9a2c20c),
    (Gfx101, D2Array, 10, 0x4820e4713f28480c),
    (Gfx101, D2Array, 17, 0xe55e8a2cb9a2c20c),
    (Gfx101, D2Array, 18, 0x4820e4713f28480c),
    (Gfx101, D2Array, 21, 0x41a06d6bdbe1820c),
    (Gfx101, D2Array, 22, 0xa462c7b06167080c),
    (Gfx101, D2Array, 25, 0xe55e8a2cb9a2c20c),
    (Gfx101, D2Array, 26, 0x4820e4713f28480c),
    (Gfx101, D2Array, 27, 0x4820e4713f28480c),
    (Gfx101, D3, 5, 0x517825a97e2b0858),
    (Gfx101, D3, 9, 0xc228290315a50858),
    (Gfx101, D3, 17, 0xc228290315a50858),
    (Gfx101, D3, 21, 0x517825a97e2b0858),
    (Gfx101, D3, 25, 0xc228290315a50858),
    (Gfx101, D3, 26, 0x3a48f6b197ccd9d8),
    (Gfx101, D3, 27, 0x0d1e4ba4e07f6358),
    (Gfx103, D2Array, 1, 0x742263e78f8cae0c),
    (Gfx103, D2Array, 2, 0x585a99a9d620680c),
    (Gfx103, D2Array, 5, 0x41a06d6bdbe1820c),
    (Gfx103, D2Array, 6, 0x25d8a32e22753c0c),
    (Gfx103, D2Array, 9, 0xe55e8a2cb9a2c20c),
    (Gfx103, D2Array, 10, 0xc996bfef00367c0c),
    (Gfx103, D2Array, 17, 0xe55e8a2cb9a2c20c),
    (Gfx103, D2Array, 18, 0xc996bfef00367c0c),
    (Gfx103, D2Array, 21, 0x41a06d6bdbe1820c),
    (Gfx103, D2Array, 22, 0x25d8a32e22753c0c),
    (Gfx103, D2Array, 25, 0xe55e8a2cb9a2c20c),
    (Gfx103, D2Array, 26, 0xc996bfef00367c0c),
    (Gfx103, D2Array, 27, 0x83b0433e7ae5034c),
    (Gfx103, D2Array, 31, 0x1b7d5387613e034c),
    (Gfx103, D3, 5, 0x517825a97e2b0858),
    (Gfx103, D3, 9, 0xc228290315a50858),
    (Gfx103, D3, 17, 0xc228290315a50858),
    (Gfx103, D3, 21, 0x517825a97e2b0858),
    (Gfx103, D3, 25, 0xc228290315a50858),
    (Gfx103, D3, 26, 0x3a48f6b197ccd9d8),
    (Gfx103, D3, 27, 0xf9f7de404815ae98),
    (Gfx103, D3, 31, 0xd9f0bec3d2872e98),
    (Gfx11, D2Array, 2, 0x356a37ac0bc1761c),
    (Gfx11, D2Array, 6, 0x02e8413058164a1c),
    (Gfx11, D2Array, 10, 0xa6a65df135d78a1c),
    (Gfx11, D2Array, 18, 0xa6a65df135d78a1c),
    (Gfx11, D2Array, 22, 0x02e8413058164a1c),
    (Gfx11, D2Array, 26, 0xa6a65df135d78a1c),
    (Gfx11, D2Array, 27, 0x1d9269923c02ca1c),
    (Gfx11, D2Array, 30, 0x7697e54a52bf8a1c),
    (Gfx11, D2Array, 31, 0x405c4585a4eaca1c),
    (Gfx11, D3, 5, 0xc998f3580052d9d8),
    (Gfx11, D3, 9, 0x3a48f6b197ccd9d8),
    (Gfx11, D3, 17, 0x3a48f6b197ccd9d8),
    (Gfx11, D3, 21, 0xc998f3580052d9d8),
    (Gfx11, D3, 25, 0x3a48f6b197ccd9d8),
    (Gfx11, D3, 26, 0x3a48f6b197ccd9d8),
    (Gfx11, D3, 27, 0x2c37efca00f33618),
    (Gfx11, D3, 29, 0xbcc5fcd3349cd9d8),
    (Gfx11, D3, 31, 0x15210bcec8933618),
    (Gfx12, D2Array, 1, 0x356a37ac0bc1761c),
    (Gfx12, D2Array, 2, 0x02e8413058164a1c),
    (Gfx12, D2Array, 3, 0xa6a65df135d78a1c),
    (Gfx12, D2Array, 4, 0x7697e54a52bf8a1c),
    (Gfx12, D3, 1, 0xe5bea72033a3e618),
    (Gfx12, D3, 2, 0x8fb62f72e3de6e18),
    (Gfx12, D3, 3, 0xc251ef291b676e18),
    (Gfx12, D3, 4, 0x4d34e4225bb76e18),
    (Gfx12, D3, 5, 0xc998f3580052d9d8),
    (Gfx12, D3, 6, 0x3a48f6b197ccd9d8),
    (Gfx12, D3, 7, 0xbcc5fcd3349cd9d8),
];

/// Of images of 4096 by 4096 texels and 128 slices: the same sum, of texels whose x and y are in [`FAR`] and z in [`SLICES`].
/// The fourth column counts the sizes of texels that addrlib gives this mode, from one byte on.
#[rustfmt::skip]
const FAR_ADDRLIB: &[(Family, Shape, u32, u32, u64)] = &[
    (Gfx9, D2Array, 1, 5, 0x4699291359999752),
    (Gfx9, D2Array, 2, 5, 0xf9f8768520825012),
    (Gfx9, D2Array, 5, 5, 0xb29d1c94a07e4352),
    (Gfx9, D2Array, 6, 5, 0x65fc6a066766fc12),
    (Gfx9, D2Array, 9, 5, 0x8f8593bd790b6352),
    (Gfx9, D2Array, 10, 5, 0x42e4e12f3ff41c12),
    (Gfx9, D2Array, 21, 5, 0xb29d1c94a07e4352),
    (Gfx9, D2Array, 22, 5, 0x65fc6a066766fc12),
    (Gfx9, D2Array, 25, 5, 0x8f8593bd790b6352),
    (Gfx9, D2Array, 26, 5, 0x42e4e12f3ff41c12),
    (Gfx9, D3, 4, 5, 0x3891738dbd69ea66),
    (Gfx9, D3, 5, 5, 0x25c4c7d0fe2e5412),
    (Gfx9, D3, 6, 5, 0xb29d1c94a07e4352),
    (Gfx9, D3, 8, 5, 0x07705f23ec8e6a66),
    (Gfx9, D3, 9, 5, 0xf4a3b3672d52d412),
    (Gfx9, D3, 10, 5, 0x8f8593bd790b6352),
    (Gfx9, D3, 20, 5, 0x3891738dbd69ea66),
    (Gfx9, D3, 21, 5, 0x25c4c7d0fe2e5412),
    (Gfx9, D3, 22, 5, 0xb29d1c94a07e4352),
    (Gfx9, D3, 24, 5, 0x07705f23ec8e6a66),
    (Gfx9, D3, 25, 5, 0xf4a3b3672d52d412),
    (Gfx9, D3, 26, 5, 0x8f8593bd790b6352),
    (Gfx101, D2Array, 1, 5, 0x4699291359999752),
    (Gfx101, D2Array, 2, 5, 0x0a29b582bd5b5c52),
    (Gfx101, D2Array, 5, 5, 0xb29d1c94a07e4352),
    (Gfx101, D2Array, 6, 5, 0x762da90404400852),
    (Gfx101, D2Array, 9, 5, 0x8f8593bd790b6352),
    (Gfx101, D2Array, 10, 5, 0x5316202cdccd2852),
    (Gfx101, D2Array, 17, 5, 0x8f8593bd790b6352),
    (Gfx101, D2Array, 18, 5, 0x5316202cdccd2852),
    (Gfx101, D2Array, 21, 5, 0xb29d1c94a07e4352),
    (Gfx101, D2Array, 22, 5, 0x762da90404400852),
    (Gfx101, D2Array, 24, 4, 0xd97d7911357b6086),
    (Gfx101, D2Array, 25, 5, 0x8f8593bd790b6352),
    (Gfx101, D2Array, 26, 5, 0x5316202cdccd2852),
    (Gfx101, D2Array, 27, 5, 0x5316202cdccd2852),
    (Gfx101, D3, 5, 5, 0x32f02a326baf7592),
    (Gfx101, D3, 9, 5, 0x01cf15c89ad3f592),
    (Gfx101, D3, 17, 5, 0x01cf15c89ad3f592),
    (Gfx101, D3, 21, 5, 0x32f02a326baf7592),
    (Gfx101, D3, 24, 4, 0xd97d7911357b6086),
    (Gfx101, D3, 25, 5, 0x01cf15c89ad3f592),
    (Gfx101, D3, 26, 5, 0x15a0463224a952a2),
    (Gfx101, D3, 27, 5, 0x5316202cdccd2852),
    (Gfx103, D2Array, 1, 5, 0x4699291359999752),
    (Gfx103, D2Array, 2, 5, 0x975b49123bf52852),
    (Gfx103, D2Array, 5, 5, 0xb29d1c94a07e4352),
    (Gfx103, D2Array, 6, 5, 0x035f3c9382d9d452),
    (Gfx103, D2Array, 9, 5, 0x8f8593bd790b6352),
    (Gfx103, D2Array, 10, 5, 0xe047b3bc5b66f452),
    (Gfx103, D2Array, 17, 5, 0x8f8593bd790b6352),
    (Gfx103, D2Array, 18, 5, 0xe047b3bc5b66f452),
    (Gfx103, D2Array, 21, 5, 0xb29d1c94a07e4352),
    (Gfx103, D2Array, 22, 5, 0x035f3c9382d9d452),
    (Gfx103, D2Array, 24, 4, 0x8146b616f78d8086),
    (Gfx103, D2Array, 25, 5, 0x8f8593bd790b6352),
    (Gfx103, D2Array, 26, 5, 0xe047b3bc5b66f452),
    (Gfx103, D2Array, 27, 5, 0x8807497bde1fdf92),
    (Gfx103, D2Array, 28, 4, 0x244a94b321836086),
    (Gfx103, D2Array, 31, 5, 0xc9df3b687dc47f92),
    (Gfx103, D3, 5, 5, 0x32f02a326baf7592),
    (Gfx103, D3, 9, 5, 0x01cf15c89ad3f592),
    (Gfx103, D3, 17, 5, 0x01cf15c89ad3f592),
    (Gfx103, D3, 21, 5, 0x32f02a326baf7592),
    (Gfx103, D3, 24, 4, 0x8146b616f78d8086),
    (Gfx103, D3, 25, 5, 0x01cf15c89ad3f592),
    (Gfx103, D3, 26, 5, 0x15a0463224a952a2),
    (Gfx103, D3, 27, 5, 0x8807497bde1fdf92),
    (Gfx103, D3, 28, 4, 0x244a94b321836086),
    (Gfx103, D3, 31, 5, 0xc9df3b687dc47f92),
    (Gfx11, D2Array, 2, 5, 0xcf3abc83ece5724a),
    (Gfx11, D2Array, 6, 5, 0x3b3eb00533ca1e4a),
    (Gfx11, D2Array, 10, 5, 0x1827272e0c573e4a),
    (Gfx11, D2Array, 18, 5, 0x1827272e0c573e4a),
    (Gfx11, D2Array, 22, 5, 0x3b3eb00533ca1e4a),
    (Gfx11, D2Array, 24, 4, 0x8280e4f016327a3a),
    (Gfx11, D2Array, 26, 5, 0x1827272e0c573e4a),
    (Gfx11, D2Array, 27, 5, 0x5a3475605e6ab64a),
    (Gfx11, D2Array, 28, 4, 0xa44f9a1a3fb27a3a),
    (Gfx11, D2Array, 30, 5, 0x57b1264e0f2b3e4a),
    (Gfx11, D2Array, 31, 5, 0xe9d04da5087eb64a),
    (Gfx11, D3, 5, 5, 0x46c15a9bf584d2a2),
    (Gfx11, D3, 9, 5, 0x15a0463224a952a2),
    (Gfx11, D3, 17, 5, 0x15a0463224a952a2),
    (Gfx11, D3, 21, 5, 0x46c15a9bf584d2a2),
    (Gfx11, D3, 24, 4, 0x8280e4f016327a3a),
    (Gfx11, D3, 25, 5, 0x15a0463224a952a2),
    (Gfx11, D3, 26, 5, 0x15a0463224a952a2),
    (Gfx11, D3, 27, 5, 0x5a3475605e6ab64a),
    (Gfx11, D3, 28, 4, 0xa44f9a1a3fb27a3a),
    (Gfx11, D3, 29, 5, 0xb379d94de56a52a2),
    (Gfx11, D3, 31, 5, 0xe9d04da5087eb64a),
    (Gfx12, D2Array, 1, 5, 0xcf3abc83ece5724a),
    (Gfx12, D2Array, 2, 5, 0x3b3eb00533ca1e4a),
    (Gfx12, D2Array, 3, 5, 0x1827272e0c573e4a),
    (Gfx12, D2Array, 4, 5, 0x57b1264e0f2b3e4a),
    (Gfx12, D3, 1, 5, 0xcf3abc83ece5724a),
    (Gfx12, D3, 2, 5, 0x3b3eb00533ca1e4a),
    (Gfx12, D3, 3, 5, 0x1827272e0c573e4a),
    (Gfx12, D3, 4, 5, 0x57b1264e0f2b3e4a),
    (Gfx12, D3, 5, 5, 0x46c15a9bf584d2a2),
    (Gfx12, D3, 6, 5, 0x15a0463224a952a2),
    (Gfx12, D3, 7, 5, 0xb379d94de56a52a2),
];
/// Of images of one dimension, 300 texels in three slices, likewise for all sizes of texels.
#[rustfmt::skip]
const LINES_ADDRLIB: &[(Family, u32, u64)] = &[
    (Gfx101, 27, 0xf4b7a714fab9c02a),
    (Gfx103, 27, 0x0d4aa80f7d4d964a),
    (Gfx103, 31, 0x03eb6d8dd6f5c64a),
    (Gfx11, 27, 0xcfb5c0d7bb503822),
    (Gfx12, 1, 0xc08b0a3e4cf67822),
    (Gfx12, 2, 0xbc58bf3d7ebcc022),
    (Gfx12, 3, 0x0243c96e19320022),
    (Gfx12, 4, 0xc96a4b8fc4b60022),
];
const FAR: [u32; 15] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4095, 1717];
const SLICES: [u32; 10] = [0, 1, 2, 4, 8, 16, 32, 64, 127, 85];

fn tiles(family: Family, shape: Shape, mode: u32, bytes: u64, one_pipe: bool) -> Result<Tiles, String> {
    let size = if shape == D3 { (70, 40) } else { (300, 141) };
    sized(family, shape, mode, bytes, one_pipe, size)
}

fn sized(
    family: Family,
    shape: Shape,
    mode: u32,
    bytes: u64,
    one_pipe: bool,
    (width, height): (u32, u32),
) -> Result<Tiles, String> {
    let generation = match family {
        Gfx9 => Generation::Gfx90a,
        Gfx101 | Gfx103 => Generation::Gfx10,
        Gfx11 => Generation::Gfx11,
        Gfx12 => Generation::Gfx12,
    };
    let newer = family == Gfx103;
    Tiles::of(mode, &Surface { generation, newer, shape, base: 0x40000, width, height, pitch: None, bytes, one_pipe })
}

#[test]
fn every_texel_is_where_addrlib_has_it() {
    for &(family, shape, mode, expected) in ADDRLIB {
        let (width, height, depth) = if shape == D3 { (70, 40, 35) } else { (300, 141, 2) };
        let mut sum = 0u64;
        for texel in 0..5 {
            let tiles = tiles(family, shape, mode, 1 << texel, true).expect("is modelled");
            for z in 0..depth {
                for y in 0..height {
                    for x in 0..width {
                        sum = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(tiles.offset([x, y, z]));
                    }
                }
            }
        }
        assert_eq!(sum, expected, "{family:?} {shape:?}, SW_MODE {mode}");
    }
}

#[test]
fn texels_of_lines_are_where_addrlib_has_them() {
    for &(family, mode, expected) in LINES_ADDRLIB {
        let mut sum = 0u64;
        for texel in 0..5 {
            let tiles = sized(family, Shape::D1Array, mode, 1 << texel, true, (300, 1)).expect("is modelled");
            for z in 0..3 {
                for x in 0..300 {
                    sum = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(tiles.offset([x, 0, z]));
                }
            }
        }
        assert_eq!(sum, expected, "{family:?}, SW_MODE {mode}");
    }
    assert!(
        [(Gfx12, 5), (Gfx11, 31)]
            .iter()
            .all(|&(family, mode)| sized(family, Shape::D1, mode, 4, true, (300, 1)).is_err())
    );
}

#[test]
fn texels_far_apart_are_where_addrlib_has_them() {
    for &(family, shape, mode, sizes, expected) in FAR_ADDRLIB {
        let mut sum = 0u64;
        for texel in 0..sizes {
            let tiles = sized(family, shape, mode, 1 << texel, true, (4096, 4096)).expect("is modelled");
            for z in SLICES {
                for y in FAR {
                    for x in FAR {
                        sum = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(tiles.offset([x, y, z]));
                    }
                }
            }
        }
        assert_eq!(sum, expected, "{family:?} {shape:?}, SW_MODE {mode}");
        assert_eq!(tiles(family, shape, mode, 16, true).is_ok(), sizes == 5, "{family:?} {shape:?}, SW_MODE {mode}");
    }
}

#[test]
fn modes_that_depend_on_the_gpu_are_refused_where_nobody_says_what_it_has() {
    for &(family, shape, mode, _) in ADDRLIB {
        assert_eq!(tiles(family, shape, mode, 4, false).is_ok(), mode < 16 && family != Gfx12, "{mode}");
    }
    let why = tiles(Gfx9, D2Array, 26, 4, false).err();
    assert_eq!(why.as_deref(), Some("SW_MODE 26 is not modelled: its tiles depend on the GPU's pipes and banks"));
    assert!(tiles(Gfx103, D3, 24, 16, true).is_err() && tiles(Gfx9, Shape::Cube, 6, 4, true).is_err());
    assert!(tiles(Gfx9, Shape::D1, 6, 4, true).is_err() && tiles(Gfx9, D2Array, 31, 4, true).is_err());
}
