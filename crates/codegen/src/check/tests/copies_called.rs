//! Finished copies with hooks that are called, broken in every way that a copier could break them.

use std::collections::BTreeMap;

use luthier_isa::{Decoder, Inst, Mode, Operand, RegRange};

use super::{PRESSURES, hooks, kernels, modes, places};
use crate::check;
use crate::layout::chunk::{Chunk, ChunkId, Fixup, Place};
use crate::splice::called::Body;

/// Calls of one copy that are broken.
const MOST: usize = 3;

type Broken = Vec<(&'static str, Chunk)>;

#[test]
fn every_way_of_breaking_what_a_finished_copy_calls_is_noticed() {
    let mut table: BTreeMap<&str, (usize, usize, String)> = BTreeMap::new();
    let mut copies = 0;
    for mode in modes() {
        let Some(hooks) = hooks::all(mode) else { return };
        let Some(object) = kernels::busy(mode, PRESSURES[0].0, PRESSURES[0].1) else { return };
        for hook in hooks.iter().filter(|hook| hook.called) {
            places::copies(&object, hook, |env, copied| {
                copies += 1;
                assert_eq!(copied.violations, [], "{mode:?} {}", hook.name);
                let calls: Vec<(u32, &Body)> = copied.bodies.calls().collect();
                assert!(!calls.is_empty(), "{mode:?} {}: nothing is called", hook.name);
                let step = calls.len().div_ceil(MOST);
                for (word, body) in calls.iter().step_by(step) {
                    for (what, chunk) in broken(mode, &copied.chunk, *word, body) {
                        let found = check::called(env, ChunkId(0), &chunk, copied.bodies.calls());
                        let entry = table.entry(what).or_default();
                        entry.0 += 1;
                        entry.1 += usize::from(!found.is_empty());
                        if found.is_empty() && entry.2.is_empty() {
                            entry.2 = format!("{mode:?} {}, the call at word {word}", hook.name);
                        }
                    }
                }
            });
        }
    }
    println!("{copies} copies\n{:<60} {:>8} {:>8}", "mutation", "made", "noticed");
    for (what, (made, noticed, _)) in &table {
        println!("{what:<60} {made:>8} {noticed:>8}");
    }
    let missed: Vec<_> = table.iter().filter(|(_, (made, noticed, _))| made != noticed).collect();
    assert!(missed.is_empty(), "{missed:?}");
    assert!(table.len() == 9 && table.values().all(|(made, ..)| *made > 10), "{table:?}");
}

/// The copy with one call, or what it calls, broken.
fn broken(mode: Mode, chunk: &Chunk, word: u32, body: &Body) -> Broken {
    let mut all = Broken::new();
    let mut tell = |what: &'static str, change: &mut dyn FnMut(&mut Chunk)| {
        let mut changed = chunk.clone();
        change(&mut changed);
        all.push((what, changed));
    };
    let nop = Inst::new(mode.plain(luthier_isa::Op::SNop).unwrap()).words()[0];
    let label = aim(chunk, word);
    let start = chunk.labels[label as usize].word;
    tell("the call is not there", &mut |chunk| chunk.words[word as usize] = nop);
    tell("the way back is kept elsewhere", &mut |chunk| {
        let bytes: Vec<u8> = chunk.words[word as usize..].iter().take(5).flat_map(|w| w.to_le_bytes()).collect();
        let mut call = Decoder::new(mode).decode(&bytes).unwrap();
        let link = call.operands().find_map(|(_, value)| value.reg()).unwrap();
        let other = RegRange { first: link.first.offset(2), ..link };
        call.set_operand(0, Operand::Reg(other)).unwrap();
        chunk.words[word as usize] = call.words()[0];
    });
    tell("the call leads to the application", &mut |chunk| aim_at(chunk, word, 0));
    tell("the call leads behind the first instruction", &mut |chunk| {
        let behind = chunk.label_at(start + body.insts[0].size() as u32 / 4, false);
        aim_at(chunk, word, behind);
    });
    tell("the call leads nowhere", &mut |chunk| {
        chunk.fixups.retain(|f| !matches!(f, Fixup::Branch { at, .. } if *at == word));
    });
    let mut at = start as usize;
    for (n, inst) in body.insts.iter().enumerate() {
        let size = inst.size() / 4;
        let last = n + 1 == body.insts.len();
        let what = if last { "the return is not there" } else { "an instruction of the body is not there" };
        if chunk.words[at..at + size].iter().any(|word| *word != nop) {
            tell(what, &mut |chunk| chunk.words[at..at + size].fill(nop));
        }
        let literal = body.literals.iter().any(|l| l.inst == n);
        if literal {
            tell("a literal refers to nothing", &mut |chunk| {
                chunk.fixups.retain(|f| !matches!(f, Fixup::Relative { at: literal, .. } if (at..at + size).contains(&(*literal as usize))));
            });
        } else {
            tell("an instruction of the body has another bit", &mut |chunk| chunk.words[at] ^= 1);
        }
        at += size;
    }
    all
}

/// The label that a word is aimed at.
fn aim(chunk: &Chunk, word: u32) -> u32 {
    let aims = chunk.fixups.iter().find_map(|fixup| match *fixup {
        Fixup::Branch { at, to: Place::Label { label, .. } } if at == word => Some(label),
        _ => None,
    });
    aims.expect("each call is aimed")
}

fn aim_at(chunk: &mut Chunk, word: u32, to: u32) {
    for fixup in &mut chunk.fixups {
        match fixup {
            Fixup::Branch { at, to: Place::Label { label, .. } } if *at == word => *label = to,
            _ => {}
        }
    }
}
