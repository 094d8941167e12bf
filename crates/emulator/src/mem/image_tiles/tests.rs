//! Whole images beside AMD's addrlib (ROCr 5.2.3's copy of it, compiled and asked for the address of every texel).

use super::*;
use Family::{Gfx9, Gfx101, Gfx103};
use Shape::{D2Array, D3};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Family {
    Gfx9,
    Gfx101,
    Gfx103,
}

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
    (Gfx101, D2Array, 21, 0x41a06d6bdbe1820c),
    (Gfx101, D2Array, 22, 0xa462c7b06167080c),
    (Gfx101, D2Array, 25, 0xe55e8a2cb9a2c20c),
    (Gfx101, D2Array, 26, 0x4820e4713f28480c),
    (Gfx101, D3, 5, 0x517825a97e2b0858),
    (Gfx101, D3, 9, 0xc228290315a50858),
    (Gfx101, D3, 21, 0x517825a97e2b0858),
    (Gfx101, D3, 25, 0xc228290315a50858),
    (Gfx103, D2Array, 1, 0x742263e78f8cae0c),
    (Gfx103, D2Array, 2, 0x585a99a9d620680c),
    (Gfx103, D2Array, 5, 0x41a06d6bdbe1820c),
    (Gfx103, D2Array, 6, 0x25d8a32e22753c0c),
    (Gfx103, D2Array, 9, 0xe55e8a2cb9a2c20c),
    (Gfx103, D2Array, 10, 0xc996bfef00367c0c),
    (Gfx103, D2Array, 21, 0x41a06d6bdbe1820c),
    (Gfx103, D2Array, 22, 0x25d8a32e22753c0c),
    (Gfx103, D2Array, 25, 0xe55e8a2cb9a2c20c),
    (Gfx103, D2Array, 26, 0xc996bfef00367c0c),
    (Gfx103, D3, 5, 0x517825a97e2b0858),
    (Gfx103, D3, 9, 0xc228290315a50858),
    (Gfx103, D3, 21, 0x517825a97e2b0858),
    (Gfx103, D3, 25, 0xc228290315a50858),
];

fn tiles(family: Family, shape: Shape, mode: u32, bytes: u64, one_pipe: bool) -> Result<Tiles, String> {
    let generation = if family == Gfx9 { Generation::Gfx90a } else { Generation::Gfx10 };
    let (width, height) = if shape == D3 { (70, 40) } else { (300, 141) };
    let newer = family == Gfx103;
    Tiles::of(mode, &Surface { generation, newer, shape, base: 0x10000, width, height, pitch: None, bytes, one_pipe })
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
fn modes_that_depend_on_the_gpu_are_refused_where_nobody_says_what_it_has() {
    for &(family, shape, mode, _) in ADDRLIB {
        assert_eq!(tiles(family, shape, mode, 4, false).is_ok(), mode < 16, "{mode}");
    }
    let why = tiles(Gfx9, D2Array, 26, 4, false).err();
    assert_eq!(why.as_deref(), Some("SW_MODE 26 is not modelled: its tiles depend on the GPU's pipes and banks"));
    assert!(tiles(Gfx103, D3, 24, 4, true).is_err() && tiles(Gfx9, Shape::Cube, 6, 4, true).is_err());
    assert!(tiles(Gfx9, Shape::D1, 6, 4, true).is_err() && tiles(Gfx9, D2Array, 31, 4, true).is_err());
}
