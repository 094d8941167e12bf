//! Which images an instruction may take for which others. What it does with them: tests/device/test_images.py.

use std::sync::Arc;

use super::*;
use crate::memory::Memory;

/// Word 3 of a resource, whose SW_MODE is in bits 24:20.
const MODE: usize = 3;

/// `image_load v8, v[0:2], s[0:7] dmask:1 unorm da` of gfx90a on an image of 8 by 4 words, whose rows have 64, or on what
/// `change` makes of it. All lanes ask for the texel at (2, 1) of their slice. Gives what the first got, or why it got nothing.
fn load(slices: [u32; 2], change: impl Fn(&mut [u32; 8])) -> Result<u32, String> {
    let mut memory = Memory::new();
    let base = memory.allocate(1 << 16, true).expect("room").next_multiple_of(1 << 12);
    let texels: Vec<u8> = (0..512u32).flat_map(u32::to_le_bytes).collect();
    memory.write(base, &texels).expect("is there");
    let mut w = Wave::new();
    w.memory = Arc::new(memory);
    let mut words =
        [(base >> 8) as u32, (base >> 40) as u32 | 4 << 20 | 4 << 26, 7 | 3 << 14, 9 << 28 | 4, 63 << 13, 0, 0, 0];
    change(&mut words);
    w.s[..8].copy_from_slice(&words);
    w.set_exec(3);
    for (row, values) in [(0, [2, 2]), (1, [1, 1]), (2, slices)] {
        w.row_mut(row).0[..2].copy_from_slice(&values);
    }
    let form = Form::parse("image_load").expect("is known") | 1 << 8 | Form::ARRAY | 32 << 32;
    let op = Op { dst: 8, imm: 0, imm2: form, sdst: 0, ..Op::NOTHING };
    match image(&mut w, &op) {
        Flow::Next => Ok(w.row(8).0[0]),
        _ => Err(w.fault.expect("says why").message),
    }
}

#[test]
fn image_passes_for_an_array_if_only_its_first_slice_is_meant() {
    assert_eq!(load([0, 0], |_| {}), Ok(64 + 2));
    let why = "image_load: slice 1 of a resource whose TYPE says D2 is not modelled";
    assert_eq!(load([0, 1], |_| {}).err().as_deref(), Some(why));
}

#[test]
fn image_in_tiles_is_read_where_they_need_no_pipes() {
    // Rows of a block of 4 KB: bits x0 x1 y0 x2 of a word's number.
    assert_eq!(load([0, 0], |words| words[MODE] |= 6 << 20), Ok(2 | 1 << 2));
    let why = "the resource's SW_MODE 22 is not modelled: its tiles depend on the GPU's pipes and banks";
    assert_eq!(load([0, 0], |words| words[MODE] |= 22 << 20).err(), Some(format!("image_load: {why}")));
}
