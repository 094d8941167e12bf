//! What SDWA's second word allows: gfx9 and gfx10.

use crate::{Format, OpcodeInfo};

/// A comparison's scalar destination counts only if its SD bit says that there is one.
const SD: u64 = 1 << 47;

/// A comparison whose destination is VCC: the bits of the register mean nothing.
pub fn has_no_destination(info: &OpcodeInfo, pair: u64) -> bool {
    info.format == Format::SdwaC && pair & SD == 0
}

/// Sources are vector registers, any, or scalar ones and constants, if their S bits say so.
pub fn is_legal(info: &OpcodeInfo, pair: u64) -> bool {
    let scalar = |code: u64| matches!(code, 0..=208 | 230..=231 | 235..=248 | 251..=254);
    let second = info.format != Format::Sdwa1;
    // Reserved: a selector of 7, a rule for the unused bits of 3. A comparison has a register in the latter's place.
    let select = |low: u32| pair >> low & 7 != 7;
    let destination = info.format == Format::SdwaC || select(40) && pair >> 43 & 3 != 3;
    destination
        && select(48)
        && (!second || select(56))
        && (pair >> 55 & 1 == 0 || scalar(pair >> 32 & 0xff))
        && (!second || pair >> 63 & 1 == 0 || scalar(pair >> 9 & 0xff))
}
