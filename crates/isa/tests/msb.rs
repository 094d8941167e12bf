//! The registers past v255 of gfx1250: llvm-objdump follows `s_set_vgpr_msb`, and remarks on every register that it
//! changes. So do we, for every opcode and for arbitrary encodings, under bits that differ from slot to slot.

mod common;

use std::collections::BTreeMap;

use common::{Rng, name, objdump, random_words, sample, scratch, without_remarks};
use luthier_isa::{Field, Inst, Mode, MsbChange, Operand, Reg, RegRange, RegSet, Target, VgprMsb, msb};

/// No two slots have the same bits, and each has each of the four; and all ones.
const STATES: [u8; 5] = [0b00_11_10_01, 0b01_00_11_10, 0b10_01_00_11, 0b11_10_01_00, 0xff];

fn modes() -> [Mode; 2] {
    [Target::Gfx1250, Target::Gfx1251].map(Mode::from)
}

fn set(mode: Mode, bits: u8) -> Inst {
    let info = mode.find("s_set_vgpr_msb").expect("gfx1250 has it");
    Inst::build(info, &[Operand::Imm(bits.into())]).expect("an immediate")
}

/// Words of a cell: the instruction that sets the bits, the one that is looked at, and what fills the rest.
const CELL: usize = 8;

fn compare(mode: Mode, what: &str, instructions: &[(Inst, u8)]) {
    let mut words = Vec::new();
    for (inst, bits) in instructions {
        let mut cell = set(mode, *bits).words().to_vec();
        cell.extend(inst.words());
        cell.resize(CELL, 0xbf80_0000);
        words.extend(cell);
    }
    let folder = scratch(&format!("msb-{what}-{}", name(mode)));
    let lines: BTreeMap<u64, _> = objdump(mode, &words, &folder).into_iter().map(|l| (l.address, l)).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    let (mut wrong, mut remarks, mut other) = (Vec::new(), 0, 0);
    for (at, (inst, bits)) in (4..).step_by(4 * CELL).zip(instructions) {
        let theirs = lines[&at].text.as_deref().unwrap_or("(no instruction)");
        let ours = inst.at(Some(VgprMsb::from_bits(*bits))).to_string();
        remarks += usize::from(ours.contains("/*v"));
        // What else LLVM prints is the matter of other tests, which list its faults.
        if without_remarks(theirs) != inst.to_string() {
            other += 1;
        } else if ours != theirs {
            wrong.push(format!("{bits:#04x} {}\n  ours   {ours}\n  LLVM's {theirs}", inst.info().llvm));
        }
    }
    let (all, count) = (instructions.len(), wrong.len());
    assert!(wrong.is_empty(), "{count} of {all} differ:\n{}", wrong[..count.min(40)].join("\n"));
    assert!(remarks * 2 > all, "only {remarks} of {all} name a VGPR");
    assert!(other * 500 < all, "{other} of {all} are other instructions to LLVM");
}

#[test]
fn every_opcodes_operands_are_in_llvms_slots() {
    for mode in modes() {
        let samples = mode.opcodes().iter().filter(|info| info.base.starts_with("v_") || !info.base.starts_with("s_"));
        let all: Vec<(Inst, u8)> = samples.map(sample).flat_map(|inst| STATES.map(|bits| (inst, bits))).collect();
        compare(mode, "opcodes", &all);
    }
}

#[test]
fn arbitrary_encodings_name_llvms_registers() {
    let count = std::env::var("LUTHIER_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    for mode in modes() {
        let vector: Vec<_> = mode.opcodes().iter().filter(|info| !info.base.starts_with("s_")).collect();
        let mut rng = Rng(0x5eed_f45b);
        let mut all = Vec::new();
        while all.len() < count {
            let info = vector[rng.below(vector.len() as u64) as usize];
            let words = random_words(info, &mut rng);
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            if let Ok(inst) = Inst::decode(mode, &bytes) {
                all.push((inst, rng.next() as u8));
            }
        }
        compare(mode, "random", &all);
    }
}

#[test]
fn accesses_follow_the_text() {
    let mode = Mode::from(Target::Gfx1250);
    let decode = |words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        Inst::decode(mode, &bytes).unwrap()
    };
    let touched = |inst: &Inst, bits: Option<u8>| {
        let (mut reads, mut kills) = (RegSet::EMPTY, RegSet::EMPTY);
        inst.at(bits.map(VgprMsb::from_bits)).for_each_access(|a| {
            if a.access.reads() && a.reg.is_vgpr() {
                reads.insert(a.reg);
            } else if a.access.writes() && a.reg.is_vgpr() {
                kills.insert(a.reg);
            }
        });
        let text = |set: RegSet| set.iter().map(|r| r.to_string()).collect::<Vec<_>>().join(" ");
        (text(reads), text(kills))
    };
    // v_add_f32_e32 v0, v1, v2
    let add = decode(&[0x0600_0501]);
    assert_eq!(touched(&add, Some(0)), ("v1 v2".into(), "v0".into()));
    assert_eq!(touched(&add, Some(0b10_00_11_01)), ("v257 v770".into(), "v512".into()));
    let any = "v0 v1 v2 v256 v257 v258 v512 v513 v514 v768 v769 v770";
    assert_eq!(touched(&add, None), (any.into(), String::new()), "all may be read, none is surely written");
    // A tuple may go on behind v255: global_load_b128 v[254:257], v1, s[0:1].
    let load = decode(&[0xee05_c000, 0x0000_00fe, 0x0000_0001]);
    assert_eq!(load.to_string(), "global_load_b128 v[254:257], v1, s[0:1]");
    assert_eq!(touched(&load, Some(0)), ("v1".into(), "v254 v255 v256 v257".into()));
    assert_eq!(touched(&load, Some(0b10_00_00_01)), ("v257".into(), "v766 v767 v768 v769".into()));
    let vdst = load.info().operands.iter().find(|o| o.field == Field::Vdst).unwrap();
    assert_eq!(VgprMsb::from_bits(0xff).operand(&load, vdst), None, "past v1023");
    assert!(!VgprMsb::from_bits(0xff).fits(&load) && VgprMsb::from_bits(0x3f).fits(&load));
    // Changing an operand to what the bits allow.
    let mut changed = add.at(Some(VgprMsb::from_bits(0b10_00_00_01)));
    let one = |n| Operand::Reg(RegRange::new(Reg::vgpr(n), 1));
    changed.set_operand(0, one(515)).unwrap();
    assert_eq!(changed.to_string(), "v_add_f32_e32 v3 /*v515*/, v1 /*v257*/, v2");
    assert!(changed.set_operand(0, one(3)).is_err() && changed.set_operand(1, one(515)).is_err());
    assert_eq!(changed.words(), [0x0606_0501]);
}

#[test]
fn what_sets_the_bits() {
    let mode = Mode::from(Target::Gfx1250);
    let change = |words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        msb::change(&Inst::decode(mode, &bytes).unwrap())
    };
    let sets = |bits| MsbChange::Sets(VgprMsb::from_bits(bits));
    assert_eq!(change(&[0xbf86_4144]), sets(0x44), "the high byte is the state before");
    assert_eq!(change(&[0xbf80_0000]), MsbChange::Keeps);
    // s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 4), 0x39005: destination 1, first source 2, second 3, third 0.
    assert_eq!(change(&[0xb980_1801, 0x0003_9005]), sets(0b01_00_11_10));
    // Another register; MODE from a scalar register, with these bits and without.
    assert_eq!(change(&[0xb980_1802, 0x0003_9005]), MsbChange::Keeps);
    assert_eq!(change(&[0xb900_3b01]), MsbChange::Unknown);
    assert_eq!(change(&[0xb900_1801]), MsbChange::Keeps);
    for bits in 0..=255 {
        let state = VgprMsb::from_bits(bits);
        assert_eq!(VgprMsb::from_mode(state.in_mode(0xfff0_0fff)), state);
        assert_eq!(state.in_mode(0xffff_ffff) & 0xfff0_0fff, 0xfff0_0fff);
    }
    let old = Inst::decode(Target::Gfx1201, &0x0600_0501u32.to_le_bytes()).unwrap();
    assert_eq!(msb::slot(old.info(), Field::Src0), None, "RDNA4 has 256 registers");
}

#[test]
fn sets_hold_the_upper_registers() {
    let (low, high) = (Reg::vgpr(3), Reg::vgpr(1023));
    let mut set: RegSet = [low, high].into_iter().collect();
    assert_eq!((set.len(), set.iter().last()), (2, Some(high)));
    let only_low: RegSet = [low].into_iter().collect();
    assert!(set != only_low && set.contains_all(&only_low) && !only_low.contains_all(&set));
    set.remove(high);
    assert_eq!(set, only_low, "whatever it had before");
    set.insert(high);
    let mut rest = set;
    rest.subtract(&only_low);
    assert!(!rest.intersects(&only_low) && rest.intersects(&set) && rest.iter().eq([high]));
    let mut all = only_low;
    all.union_with(&rest);
    assert_eq!(all, set);
    assert_eq!(Reg::vgpr(254).offset(3), Reg::vgpr(257));
    assert!((0..1024).all(|n| Reg::vgpr(n).number() == n && Reg::vgpr(n).is_vgpr() && !Reg::vgpr(n).is_agpr()));
    assert!((0..256).all(|n| Reg::agpr(n).number() == n && Reg::agpr(n).is_agpr() && !Reg::agpr(n).is_vgpr()));
}
