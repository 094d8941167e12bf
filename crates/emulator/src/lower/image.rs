//! Image instructions.

use luthier_isa::{Field, Generation, Inst, OpcodeInfo, Operand, Target};

use super::memory::WIDEST;
use super::{Builder, code_of};
use crate::mem::image_ops::{self, Form};
use crate::op::Op;

impl Builder {
    pub(super) fn image(&mut self, inst: &Inst) -> Result<(), String> {
        let info = inst.info();
        let mut form = Form::parse(info.base).ok_or_else(|| absent(info))?;
        let target = info.mode.target();
        let field = |field| inst.field(field).unwrap_or(0);
        let flag = |is: bool, bit: u64| if is { bit } else { 0 };
        form |= u64::from(field(Field::Dmask)) << 8 | u64::from(field(Field::Dim)) << 24;
        form |= flag(field(Field::D16) != 0, Form::D16);
        form |= flag(field(Field::A16) != 0, Form::A16);
        form |= flag(field(Field::R128) != 0, Form::R128);
        form |= flag(field(Field::Lwe) != 0, Form::WARNS);
        form |= flag(field(Field::Da) != 0, Form::ARRAY);
        form |= flag(!inst.discards_result(), Form::RETURNS);
        form |= flag(inst.field(Field::Unorm) == Some(0), Form::NORMALISED);
        form |= flag(has_pitch(target), Form::PITCH);
        form |= u64::from(self.limits.vgprs) << 32;
        let mut op = Op::NOTHING;
        let (mut address, mut resource) = (0, None);
        for (operand, value) in inst.operands() {
            let Operand::Reg(range) = value else { continue };
            let place = || {
                self.limits
                    .row_of(range.first)
                    .ok_or_else(|| format!("{}: {range} is no vector register", info.mnemonic))
            };
            match operand.field {
                Field::Vdata => (op.dst, op.src[1]) = (place()?, place()?),
                Field::Srsrc => resource = code_of(range.first),
                Field::Ssamp => op.ssrc = code_of(range.first).ok_or_else(|| absent(info))?,
                _ => {
                    for row in place()?..place()? + u16::from(range.count) {
                        if address < 4 {
                            op.imm |= u64::from(row) << (16 * address);
                        }
                        address += 1;
                    }
                }
            }
        }
        op.imm2 = form | address.min(4) << 28;
        op.sdst = resource.ok_or_else(|| absent(info))?;
        self.push_handler(image_ops::image, op, WIDEST);
        Ok(())
    }
}

/// Whether an image may have rows that are longer than its width needs: since gfx10.3.
fn has_pitch(target: Target) -> bool {
    match target.generation() {
        Generation::Gfx10 => !matches!(target, Target::Gfx1010 | Target::Gfx1011 | Target::Gfx1012 | Target::Gfx1013),
        generation => !generation.is_gfx9_family(),
    }
}

/// Why an image instruction is refused.
pub(super) fn absent(info: &OpcodeInfo) -> String {
    let why = match info.base {
        base if base.contains("_bvh") => "rays are not traced",
        "image_get_lod" => "how a level of detail is computed is not documented",
        base if base.contains("_msaa_") => "images with several samples for a texel are laid out in tiles only",
        base if base.contains("_gather4") => "which texels are gathered is not documented to the bit",
        _ => "of textures, image_sample, image_sample_l and image_sample_lz are",
    };
    format!("{} is not modelled: {why}", info.mnemonic)
}
