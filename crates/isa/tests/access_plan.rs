//! A plan says of every instruction what the instruction says itself.

mod common;

use common::{Rng, on_all_cores, random_words};
use luthier_isa::{Access, AccessPlan, Flags, Inst, Reg, RegAccess, Target, VgprMsb};

#[test]
fn plans_agree_with_instructions() {
    let targets: Vec<Target> = Target::ALL.iter().filter(|t| t.has_tables()).copied().collect();
    on_all_cores(&targets, |&target| {
        let plans: Vec<AccessPlan> = target.opcodes().iter().map(AccessPlan::of).collect();
        let mut rng = Rng(0x9ace);
        let mut seen = vec![0usize; plans.len()];
        for info in target.opcodes() {
            // Images have no plan of their own: the instruction is asked.
            for case in 0..if info.flags.contains(Flags::MIMG) { 20 } else { 200 } {
                let mut words = random_words(info, &mut rng);
                if rng.below(4) == 0 {
                    words[1] = rng.next() as u32;
                }
                if case == 0 {
                    // Some opcodes allow hardly any bits besides their own.
                    words = [0; 5];
                    let fresh = Inst::new(info);
                    words[..fresh.words().len()].copy_from_slice(fresh.words());
                }
                let bytes: Vec<u8> = words.iter().chain(&[0, 0]).flat_map(|w| w.to_le_bytes()).collect();
                let Ok(inst) = Inst::decode(target, &bytes) else { continue };
                let id = usize::from(inst.info().id.0);
                let (mut planned, mut asked): (Vec<RegAccess>, Vec<RegAccess>) = Default::default();
                plans[id].for_each(&inst, |a| planned.push(a));
                inst.for_each_access(|a| asked.push(a));
                assert_eq!(planned, asked, "{} {inst} {words:x?}", target.name());
                // Only gfx1250 has more than the first.
                let bits = [Some(VgprMsb::ZERO), Some(VgprMsb::from_bits(0xe4)), None];
                for &msb in &bits[..if target.vgprs() > 256 { 3 } else { 1 }] {
                    let inst = inst.at(msb);
                    let (mut written, mut read): (Vec<(Reg, Access)>, Vec<Reg>) = Default::default();
                    plans[id].for_each_write(&inst, |range, a| written.extend(range.units().map(|r| (r, a))));
                    plans[id].for_each_read(&inst, |range| read.extend(range.units()));
                    asked.clear();
                    inst.for_each_access(|a| asked.push(a));
                    let writes = asked.iter().filter(|a| a.access.writes()).map(|a| (a.reg, a.access));
                    assert_eq!(written, writes.collect::<Vec<_>>(), "{} {inst} {words:x?}", target.name());
                    let reads = asked.iter().filter(|a| a.access.reads()).map(|a| a.reg);
                    assert_eq!(read, reads.collect::<Vec<_>>(), "{} {inst} {words:x?}", target.name());
                }
                seen[id] += 1;
            }
        }
        let missing: Vec<&str> =
            target.opcodes().iter().zip(&seen).filter(|(_, n)| **n == 0).map(|(o, _)| o.mnemonic).collect();
        assert!(missing.len() * 20 < plans.len(), "{}: never decoded: {missing:?}", target.name());
    });
}
