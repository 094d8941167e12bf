//! Exports and interpolation, as GCN5, RDNA1 and RDNA2 have them.

use std::fmt;

use crate::{Field, Format, Inst};

/// A vertex parameter of `v_interp_mov_f32`.
fn parameter(code: u32) -> String {
    match code {
        0 => "p10".to_string(),
        1 => "p20".to_string(),
        2 => "p0".to_string(),
        n => format!("invalid_param_{n}"),
    }
}

fn attribute(number: u32, channel: u32) -> String {
    format!("attr{number}.{}", ["x", "y", "z", "w"][channel as usize & 3])
}

/// In VOP3's form of an interpolation: what stands before its second source, in the place of the first.
pub fn interpolated(inst: &Inst) -> Option<(String, bool)> {
    let is_one = inst.info().format == Format::Vop3a && inst.info().base.starts_with("v_interp");
    let raw = inst.field(Field::Src0).filter(|_| is_one)?;
    let attribute = attribute(raw & 0x3f, raw >> 6 & 3);
    if inst.info().base == "v_interp_mov_f32" {
        let code = inst.field(Field::Src1).unwrap_or(0);
        return Some((format!("{}, {attribute}", parameter(code)), false));
    }
    Some((attribute, raw >> 8 != 0))
}

/// The attribute that an instruction of the format VINTRP interpolates, and which of its values.
pub fn interpolation(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let field = |field| inst.field(field).unwrap_or(0);
    if inst.info().base == "v_interp_mov_f32" {
        write!(f, ", {}", parameter(field(Field::Vsrc0)))?;
    }
    write!(f, ", {}", attribute(field(Field::Attr), field(Field::AttrChan)))
}

/// An export's target and its sources, those that are switched off named so.
pub fn export(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // RDNA1 adds a position, and primitives.
    let newer = !inst.info().mode.target().generation().is_gfx9_family();
    let field = |field| inst.field(field).unwrap_or(0);
    match field(Field::Tgt) {
        n @ 0..=7 => write!(f, " mrt{n}")?,
        8 => f.write_str(" mrtz")?,
        9 => f.write_str(" null")?,
        n @ 12..=15 => write!(f, " pos{}", n - 12)?,
        16 if newer => f.write_str(" pos4")?,
        20 if newer => f.write_str(" prim")?,
        n @ 32..=63 => write!(f, " param{}", n - 32)?,
        n => write!(f, " invalid_target_{n}")?,
    }
    // Compressed, each register has two of the components.
    let compressed = field(Field::Compr) != 0;
    let sources = [Field::Vsrc0, Field::Vsrc1, Field::Vsrc2, Field::Vsrc3];
    for component in 0..4 {
        let source = sources[if compressed { component / 2 } else { component }];
        let separator = if component == 0 { " " } else { ", " };
        if field(Field::En) >> component & 1 != 0 {
            write!(f, "{separator}v{}", field(source))?;
        } else {
            write!(f, "{separator}off")?;
        }
    }
    Ok(())
}
