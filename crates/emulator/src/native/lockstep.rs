//! Native code of real kernels against the interpreter: each run that the compilers' code has, on random registers.
//!
//! A few objects of each processor; with `LUTHIER_NATIVE_DEEP=1` all of the corpus.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use luthier_isa::{Inst, Target, VgprMsb, Wave as WaveSize};
use luthier_loader::CodeObject;

use super::machine::Machine;
use super::phase::Terms;
use super::tests::{Random, machines};
use super::{Native, native_on, phase};
use crate::lds::Lds;
use crate::lower::{Builder, Ending, Limits};
use crate::memory::Memory;
use crate::mode::Mode;
use crate::op::{Flow, Op};
use crate::registers::{Row, rows, scalar};
use crate::wave::Wave;

const TARGETS: [Target; 6] =
    [Target::Gfx90a, Target::Gfx942, Target::Gfx1030, Target::Gfx1100, Target::Gfx1201, Target::Gfx1250];
const LDS: usize = 1 << 14;
const DEVICE: u64 = 1 << 16;
/// Instructions that are lowered together.
const CHUNK: usize = 200;

/// Objects of a processor, the smallest first.
fn objects(folder: &Path, target: Target, out: &mut Vec<(u64, PathBuf)>) {
    for path in folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            objects(&path, target, out);
        } else if path.extension().is_some_and(|end| end == "hsaco")
            && path.parent().is_some_and(|parent| parent.ends_with(target.name()))
        {
            out.push((path.metadata().map_or(0, |meta| meta.len()), path));
        }
    }
    out.sort();
}

/// Micro-ops of the code, some instructions at a time.
fn lowered(target: Target, code: &[u8]) -> Vec<Vec<Op>> {
    let limits = Limits { vgprs: if target.vgprs() > 256 { 1024 } else { 256 }, ..Limits::WHOLE };
    let builder = || Builder::new(limits, 0);
    let (mut all, mut now, mut number, mut at) = (Vec::new(), builder(), 0u16, 0usize);
    while at < code.len() {
        let inst = Inst::decode(target, &code[at..]).ok().map(|inst| inst.at(Some(VgprMsb::ZERO)));
        let size = inst.as_ref().map_or(4, |inst| inst.size());
        let before = now.ops.len();
        let goes_on = inst.is_some_and(|inst| matches!(now.instruction(&inst, at as u64, number), Ok(Ending::Open)));
        (at, number) = (at + size, number + 1);
        if !goes_on {
            now.ops.truncate(before);
        }
        if !goes_on || usize::from(number) == CHUNK {
            all.push(std::mem::replace(&mut now, builder()).ops);
            number = 0;
        }
    }
    all.push(now.ops);
    all
}

/// What registers hold: anything, or places in LDS and device memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Anything,
    Offsets,
    Addresses,
}

/// Denormals kept, and flushed.
const MODES: [Mode; 2] = [Mode(0x1f0), Mode(0x1c0)];

fn wave(target: Target, seed: u64, exec: u64, held: Held, mode: Mode) -> Wave {
    let mut random = Random::new(seed);
    let mut w = Wave::new();
    let wave64 = target.default_wave() == WaveSize::W64;
    w.set_lanes(if wave64 { 64 } else { 32 });
    w.mode = mode;
    w.generation = target.generation();
    let mut memory = Memory::new();
    let place = memory.allocate(DEVICE, true).expect("there is room");
    let words: Vec<u8> = (0..DEVICE / 4).flat_map(|_| random.word(1000).to_le_bytes()).collect();
    memory.write(place, &words).expect("inside");
    memory.resolve(&mut w.recent, place, 4, true).expect("inside");
    w.memory = Arc::new(memory);
    let middle = place + DEVICE / 2;
    for register in 0..rows::TEMP {
        let first = 4 * random.below(1000) as u32;
        *w.row_mut(register) = Row(std::array::from_fn(|lane| match held {
            Held::Anything => random.word(1000),
            _ if register % 2 != 0 && held == Held::Addresses => (middle >> 32) as u32,
            Held::Addresses => (middle as u32).wrapping_add(first + 4 * lane as u32),
            Held::Offsets => first + 4 * lane as u32,
        }));
    }
    for code in (0..106).step_by(2) {
        let value = u64::from(random.word(1000)) << 32 | u64::from(random.word(1000));
        w.set_s64(code, if held == Held::Offsets { middle } else { value });
    }
    w.set_s64(scalar::VCC, u64::from(random.next()) << 32 | u64::from(random.next()));
    w.set_exec(exec);
    w.lds = Rc::new(Lds::new(LDS));
    (0..LDS as u32 / 4).for_each(|word| w.lds.store32(4 * word, random.word(1000)).expect("inside"));
    w
}

/// How it ends: what stopped it, where, and in which lane.
fn run(w: &mut Wave, ops: &[Op]) -> (Flow, Option<u16>, Option<u32>) {
    for op in ops {
        // SAFETY: handlers of this host, on rows that there are.
        let flow = unsafe { (op.run)(w, op) };
        if flow != Flow::Next {
            return (flow, Some(w.stopped.take().unwrap_or(op.inst)), w.fault.as_ref().and_then(|fault| fault.lane));
        }
    }
    (Flow::Next, None, None)
}

/// What LDS and device memory hold. The allocation begins where memory gives out addresses first.
fn contents(w: &Wave) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = vec![0; DEVICE as usize];
    w.memory.read(Memory::new().next_address(DEVICE), &mut bytes).expect("inside");
    (w.lds.bytes(), bytes)
}

fn compare(target: Target, machine: Machine, ops: &[Op], native: &Native, seed: u64, held: Held, mode: Mode) {
    for exec in [!0, 0x0fff_ffff_0000_ffff] {
        let [mut ours, mut theirs] = [0; 2].map(|_| wave(target, seed, exec, held, mode));
        let (found, wanted) = (run(&mut ours, &native.ops), run(&mut theirs, ops));
        let about = || {
            let names: Vec<_> = ops.iter().map(|op| (op.kind, op.kind.operation(), op.dst, op.src)).collect();
            format!("{target:?} {machine:?} exec {exec:#x} seed {seed} {held:?} {mode:?} {names:?}")
        };
        assert_eq!(found, wanted, "{}", about());
        assert!(contents(&ours) == contents(&theirs), "memory: {}", about());
        if wanted.0 != Flow::Next {
            continue;
        }
        assert_eq!(ours.s, theirs.s, "scalars: {}", about());
        for row in 0..rows::TEMP {
            let (ours, theirs) = (ours.row(row).0, theirs.row(row).0);
            if let Some(lane) = (0..64).find(|&lane| ours[lane] != theirs[lane]) {
                panic!("row {row} lane {lane}: {:#x}, not {:#x}: {}", ours[lane], theirs[lane], about());
            }
        }
    }
}

#[luthier_needs::needs(corpus)]
#[test]
fn runs_of_the_corpus_compute_what_the_interpreter_does() {
    let corpus = luthier_needs::corpus!();
    let deep = std::env::var_os("LUTHIER_NATIVE_DEEP").is_some();
    let Some(machine) = machines().pop() else { return };
    for target in TARGETS {
        let mut files = Vec::new();
        objects(&corpus, target, &mut files);
        let (most_files, most_runs) = if deep { (usize::MAX, usize::MAX) } else { (6, 120) };
        let (mut runs, mut micro_ops) = (0, 0);
        for (_, file) in files.iter().take(most_files) {
            let object = std::fs::read(file).ok().and_then(|bytes| CodeObject::parse(bytes).ok()).expect("an object");
            let Some(text) = object.section(".text") else { continue };
            for ops in lowered(target, object.section_bytes(text)) {
                let mut at = 0;
                while at < ops.len() && runs < most_runs {
                    let wave64 = target.default_wave() == WaveSize::W64;
                    let mode = MODES[usize::from(runs % 4 == 3)];
                    let terms = Terms::new(machine, wave64, mode, false);
                    let (end, _) = phase::next_run(&ops, at, terms);
                    let run = &ops[at..end];
                    at = end.max(phase::after_instruction(&ops, at));
                    let Some(native) = native_on(machine, run, wave64, mode, false) else { continue };
                    (runs, micro_ops) = (runs + 1, micro_ops + run.len() - native.ops.len());
                    for held in [Held::Anything, Held::Offsets, Held::Addresses] {
                        compare(target, machine, run, &native, runs as u64, held, mode);
                    }
                }
            }
        }
        println!(
            "{}: {runs} runs of {} objects, {micro_ops} micro-ops saved",
            target.name(),
            files.len().min(most_files)
        );
        assert!(files.is_empty() || runs > 20, "{}: {runs} runs", target.name());
    }
}
