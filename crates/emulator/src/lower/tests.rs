//! Halves of registers: what an instruction makes of one half is what it makes of the other with the same contents.

use luthier_isa::{Field, Flags, Generation, Inst, Mode as Encoding, OpcodeInfo, Operand, Part, Reg, RegRange};

use super::{Builder, Limits};
use crate::mode::Mode;
use crate::registers::{Row, rows, scalar};
use crate::wave::Wave;

const LIMITS: Limits = Limits { vgprs: 256, agprs: 0, vgpr_block: 0, first_agpr: rows::AGPR };

/// An instruction on registers of its own: operand `k` in v[10 + 16 * k] and on, all halves the lower ones.
fn plain(info: &'static OpcodeInfo) -> Option<Inst> {
    let mut inst = Inst::new(info);
    for (k, operand) in info.operands.iter().enumerate().filter(|(_, operand)| operand.fixed.is_none()) {
        let vector = Operand::Reg(RegRange::new(Reg::vgpr(10 + 16 * k as u16), operand.units.max(1)));
        let vector = if operand.half { part_of(vector, Part::Low) } else { vector };
        let scalar = Operand::Reg(RegRange::new(Reg::sgpr(4 + 8 * k as u16), operand.units.max(1)));
        let others = [scalar, Operand::Imm(0), Operand::Literal(0x3c00)];
        [vector].into_iter().chain(others).find(|&value| inst.set_operand(k, value).is_ok())?;
    }
    for field in [Field::RowMask, Field::BankMask] {
        let _ = inst.set_field(field, 15);
    }
    if inst.truth_table().is_some() {
        // One in two of three, which all sources have a part in.
        inst.set_fields(&[(Field::Omod, 3), (Field::Abs, 5), (Field::Neg, 0)]).ok()?;
    }
    Some(inst)
}

fn part_of(value: Operand, part: Part) -> Operand {
    let Operand::Reg(range) = value else { return value };
    Operand::Reg(RegRange { part, ..range })
}

fn random(seed: u64) -> u32 {
    let z = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    // Numbers that are no NaN in either half: those of two sources may be told apart.
    (z >> 17) as u32 & 0x3fff_3fff
}

/// The VGPRs after an instruction, and the scalars. `swapped`: the register whose halves change places before.
fn run(mode: Encoding, inst: &Inst, swapped: Option<Reg>) -> Result<(Vec<Row>, Vec<u32>), String> {
    let mut builder = Builder::new(LIMITS, 0);
    builder.instruction(inst, 0, 0)?;
    let mut w = Wave::new();
    w.generation = mode.target().generation();
    w.mode = Mode(0x3f0);
    w.set_lanes(mode.wave().lanes());
    w.set_exec(0xffff_ffff);
    (0..96).for_each(|code| w.s[code] = random(1000 + code as u64));
    for n in 0..256u16 {
        let row = std::array::from_fn(|lane| {
            let word = random(u64::from(n) * 64 + lane as u64);
            if swapped == Some(Reg::vgpr(n)) { word.rotate_left(16) } else { word }
        });
        *w.row_mut(rows::VGPR + n) = Row(row);
    }
    for op in &builder.ops {
        // SAFETY: the handler was selected for this processor, the rows were checked when the builder made the op.
        let _ = unsafe { (op.run)(&mut w, op) };
    }
    if let Some(fault) = w.fault.take() {
        return Err(fault.message);
    }
    let vectors = (0..256).map(|n| *w.row(rows::VGPR + n)).collect();
    Ok((vectors, w.s[..usize::from(scalar::FIRST_CONST)].to_vec()))
}

fn swap(row: &Row) -> Row {
    Row(row.0.map(|word| word.rotate_left(16)))
}

#[test]
fn a_half_is_selected_once() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for mode in Encoding::all() {
        let target = mode.target();
        let halves = matches!(target.generation(), Generation::Gfx11 | Generation::Gfx12 | Generation::Gfx1250);
        if !halves || !crate::TARGETS.contains(&target) || mode.wave() != target.default_wave() {
            continue;
        }
        for info in mode.opcodes() {
            if !info.flags.contains(Flags::VALU) || !info.operands.iter().any(|operand| operand.half) {
                continue;
            }
            let Some(low) = plain(info) else { panic!("{}: cannot be built", info.llvm) };
            let Ok(expected) = run(mode, &low, None) else { continue };
            for (k, operand) in info.operands.iter().enumerate().filter(|(_, operand)| operand.half) {
                let Operand::Reg(range) = low.operand(operand) else { continue };
                let mut high = low;
                if high.set_operand(k, part_of(Operand::Reg(range), Part::High)).is_err() {
                    continue;
                }
                tried += 1;
                let got = run(mode, &high, Some(range.first));
                let unswap = |vectors: &mut Vec<Row>| {
                    let row = &mut vectors[usize::from(range.first.number())];
                    *row = swap(row);
                };
                let same = got.is_ok_and(|(mut vectors, scalars)| {
                    unswap(&mut vectors);
                    vectors.iter().zip(&expected.0).all(|(a, b)| a.0 == b.0) && scalars == expected.1
                });
                if !same {
                    wrong.push(format!("{} {high}", target.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}: {wrong:#?}", wrong.len());
    assert!(tried > 5000, "{tried} tried");
}

/// LLVM 22 assembles no OP_SEL here.
#[test]
fn op_sel_reads_the_upper_half_of_a_bf16_constant() {
    let mode = Encoding::from(luthier_isa::Target::Gfx1250);
    for (name, code, expected) in [("v_rcp_bf16_e64", 244, 0x3f00), ("v_cvt_f32_bf16_e64", 246, 4f32.to_bits())] {
        let mut inst = plain(mode.find(name).expect(name)).expect(name);
        inst.set_operand(1, Operand::Inline(code)).expect("a constant");
        inst.set_field(Field::OpSel, 1).expect("OP_SEL");
        let (vectors, _) = run(mode, &inst, None).expect("it runs");
        let got = vectors[10].0[3];
        assert_eq!(if name.starts_with("v_cvt") { got } else { got & 0xffff }, expected, "{inst}");
    }
}
