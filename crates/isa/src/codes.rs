//! What the codes of scalar source operands name. Unit numbers follow gfx9's codes; where a generation moves a register,
//! this is where it is found again.

use crate::Reg;
use crate::generation::Generation;

/// The meaning of a source code below 256.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    Reg(Reg),
    /// An inline constant.
    Inline,
    /// A read-only source that is no register of ours, or none at all; with the number that it has in
    /// [`crate::Operand::Special`] on all generations.
    Special(u16),
    /// A literal follows.
    Literal,
    /// A literal of 64 bits follows.
    Literal64,
    Nothing,
}

/// `null` in [`crate::Operand::Special`], whatever its code.
pub const NULL: u16 = 125;

pub fn meaning(generation: Generation, code: u32) -> Code {
    match generation {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 | Generation::Gfx10 => match code {
            0..=124 | 126..=127 => register(code),
            128..=208 | 240..=248 => Code::Inline,
            125 | 230..=231 | 235..=239 | 251..=254 => Code::Special(code as u16),
            255 => Code::Literal,
            _ => Code::Nothing,
        },
        // m0 and null have changed places.
        Generation::Gfx11 | Generation::Gfx12 => match code {
            0..=123 | 126..=127 => register(code),
            124 => Code::Special(NULL),
            125 => Code::Reg(Reg::M0),
            128..=208 | 240..=248 => Code::Inline,
            230..=231 | 235..=239 | 251..=254 => Code::Special(code as u16),
            255 => Code::Literal,
            _ => Code::Nothing,
        },
        Generation::Gfx1250 => match code {
            254 => Code::Literal64,
            _ => meaning(Generation::Gfx12, code),
        },
    }
}

fn register(code: u32) -> Code {
    Reg::from_index(code as usize).map_or(Code::Nothing, Code::Reg)
}

/// The code of a scalar register; `None` if the generation has no code for it.
pub fn of(generation: Generation, reg: Reg) -> Option<u32> {
    (0..128).find(|&code| meaning(generation, code) == Code::Reg(reg))
}

/// The code of a special source, given its number in [`crate::Operand::Special`].
pub fn of_special(generation: Generation, special: u16) -> Option<u32> {
    (0..256).find(|&code| meaning(generation, code) == Code::Special(special))
}

/// The name of a special source.
pub fn special_name(code: u16) -> &'static str {
    match code {
        125 => "null",
        230 => "src_flat_scratch_base_lo",
        231 => "src_flat_scratch_base_hi",
        235 => "src_shared_base",
        236 => "src_shared_limit",
        237 => "src_private_base",
        238 => "src_private_limit",
        239 => "src_pops_exiting_wave_id",
        251 => "src_vccz",
        252 => "src_execz",
        253 => "src_scc",
        _ => "src_lds_direct",
    }
}
