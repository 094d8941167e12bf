//! Hooks where it is not known what a wave issued last: at a function's entry, behind a call. Placement waits for all that
//! may be under way there. The checker finds nothing in that, and misses each wait that is taken away.

use std::collections::BTreeMap;
use std::sync::Arc;

use luthier_isa::hazard::{Facts, Hazards};
use luthier_isa::op::Op;
use luthier_isa::{Decoder, Generation, Inst, Mode, Wave};
use luthier_lifter::{FunctionKind, Program};
use luthier_loader::CodeObject;

use super::hooks::{self, Hook};
use super::modes;
use super::mutate::removed;
use super::places::{Planned, with_plan};
use super::support::assemble_for;
use crate::check;
use crate::component::Component;
use crate::copy::{self, ChunkMap, Copied, KernelEntry, Task};
use crate::layout::chunk::{Chunk, ChunkId};
use crate::plan::Checked;
use crate::template::renamed::Renamed;
use crate::{Body, Where};

/// A kernel that calls a function, with registers that hooks look at.
fn calling(mode: Mode) -> Option<CodeObject> {
    let generation = mode.target().generation();
    let (call, back) = match generation {
        Generation::Gfx1250 => ("s_call_i64", "s_set_pc_i64"),
        _ => ("s_call_b64", "s_setpc_b64"),
    };
    let accum = match generation {
        Generation::Gfx90a | Generation::Gfx940 => ".amdhsa_accum_offset 32\n",
        _ => "",
    };
    let wave = match generation.is_gfx9_family() || generation == Generation::Gfx1250 {
        true => String::new(),
        false => format!(".amdhsa_wavefront_size32 {}\n", u32::from(mode.wave() == Wave::W32)),
    };
    let moves: String = (4..10).map(|n| format!("s_mov_b32 s{n}, {n}\nv_mov_b32_e32 v{n}, {n}\n")).collect();
    let uses: String = (4..10).map(|n| format!("s_xor_b32 s20, s20, s{n}\nv_xor_b32_e32 v20, v20, v{n}\n")).collect();
    let source = format!(
        ".text\n.protected k\n.globl k\n.p2align 8\n.type k,@function\nk:\n{moves}{call} s[30:31], f\n\
         s_mov_b32 s20, 0x55\nv_mov_b32_e32 v20, 1\ns_cmp_eq_u32 s20, 0\ns_cbranch_scc1 .Lend\n{uses}.Lend:\n\
         s_endpgm\n.size k, .-k\n.p2align 8\n.type f,@function\nf:\ns_mov_b32 s21, 0x44\nv_mov_b32_e32 v21, 1\n{uses}\
         {back} s[30:31]\n.size f, .-f\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 32\n\
         .amdhsa_next_free_sgpr 40\n{accum}{wave}.end_amdhsa_kernel\n"
    );
    assemble_for(mode, "calling", &source)
}

/// Kinds of places: where it is not known what was issued last, and where it is.
const KINDS: [(&str, bool); 9] = [
    ("function entry", true),
    ("before a function's first instruction", true),
    ("instead of a function's first instruction", true),
    ("behind a function's removed first instruction", true),
    ("after a call", true),
    ("before what follows a call", true),
    ("behind a call and a removed instruction", true),
    ("kernel entry", false),
    ("on an edge", false),
];

/// The plan's one hook at a place of this kind.
fn places(kind: &str, program: &Program, hook: &Body) -> Vec<Planned> {
    let function = program.functions().iter().find(|f| f.kind != FunctionKind::Kernel).expect("the function");
    let kernel = program.functions().iter().find(|f| f.kind == FunctionKind::Kernel).expect("the kernel");
    let first = |vaddr: u64| program.instr_at(vaddr).expect("its first instruction");
    let (f, k) = (first(function.vaddr), first(kernel.vaddr));
    let call = program.calls().first().expect("the call").instr;
    let branch = program.instrs().iter().find(|i| program.inst(*i).info().base == "s_cbranch_scc1").expect("a branch");
    let next = |i: luthier_lifter::InstrId| luthier_lifter::InstrId(i.0 + 1);
    let target = program.inst(branch).branch_target(program.vaddr(branch)).expect("its target");
    let one = |at, instr| vec![(at, instr, hook.clone())];
    let behind_removed = |i| vec![(Where::Instead, i, Body::Nothing), (Where::Before, next(i), hook.clone())];
    match kind {
        "function entry" => one(Where::Entry, f),
        "before a function's first instruction" => one(Where::Before, f),
        "instead of a function's first instruction" => one(Where::Instead, f),
        "behind a function's removed first instruction" => behind_removed(f),
        "after a call" => one(Where::After, call),
        "before what follows a call" => one(Where::Before, next(call)),
        "behind a call and a removed instruction" => behind_removed(next(call)),
        "kernel entry" => one(Where::Entry, k),
        _ => one(Where::Edge { to: target }, branch),
    }
}

/// An instruction that waits and does nothing else.
fn waits(inst: &Inst) -> bool {
    let operands: Vec<_> = inst.operands().map(|(_, value)| value).collect();
    let itself = inst.info().op() == Op::VMovB32 && operands.len() >= 2 && operands[0] == operands[1];
    itself || matches!(inst.info().op(), Op::SNop | Op::SWaitcntDepctr | Op::SWaitcntVscnt) || is_null_move(inst)
}

fn is_null_move(inst: &Inst) -> bool {
    inst.info().op() == Op::SMovB32 && inst.to_string().starts_with("s_mov_b32 null")
}

/// Inserted instructions by their words, each with whether it waits.
fn inserted(mode: Mode, chunk: &Chunk) -> Vec<(u32, Inst)> {
    let decoder = Decoder::new(mode);
    let (mut found, mut word) = (Vec::new(), 0);
    while word < chunk.words.len() {
        let bytes: Vec<u8> = chunk.words[word..].iter().take(5).flat_map(|w| w.to_le_bytes()).collect();
        let Ok(inst) = decoder.decode(&bytes) else { break };
        if chunk.origins.binary_search_by_key(&(word as u32), |o| o.0).is_err() {
            found.push((word as u32, inst));
        }
        word += inst.size() / 4;
    }
    found
}

/// Some of the instructions, in a row, need something of whatever was issued before.
fn needs_anything(env: &Component, insts: &[Inst]) -> bool {
    let mode = env.machine.mode;
    let mut wave = Hazards::brief();
    wave.assume_read(&env.carried.unread);
    wave.assume_anything(mode);
    wave.assume_written(mode, &env.carried.unread);
    insts.iter().any(|inst| {
        let (facts, mut missing) = (Facts::of(inst), false);
        wave.check(&facts, 0, |_| missing = true);
        missing
    })
}

fn copied(env: &Component, spots: &[copy::Spot], of_kernel: bool) -> Copied {
    let program = env.program;
    let function = program.function_ids().find(|f| (program.function(*f).kind == FunctionKind::Kernel) == of_kernel);
    let func = function.expect("one of each");
    let map = ChunkMap { of_function: vec![Some(ChunkId(0)); program.functions().len()] };
    let instrs = program.function_instrs(func);
    let spots: Vec<copy::Spot> = spots.iter().filter(|s| instrs.contains(s.instr)).copied().collect();
    let kernel = of_kernel.then(|| KernelEntry { vaddr: program.function(func).vaddr, preloads: false });
    let task =
        Task { env: &env.env, looked: &env.looked, map: &map, func, chunk: ChunkId(0), kernel, checked: Checked::All };
    let mut copied = copy::copy(&task, &spots, &mut Renamed::default()).unwrap();
    if of_kernel {
        let front = copy::prologue::front(&task, &spots, &copied.starts, None).unwrap();
        copy::prologue::join(&task, front, &mut copied).unwrap();
    }
    copied
}

#[test]
fn waits_where_anything_may_have_been_issued_are_neither_wrong_nor_missed() {
    // Made, noticed, and those that the hook needs.
    let mut table: BTreeMap<(&str, &str), [usize; 3]> = BTreeMap::new();
    let mut made = BTreeMap::<&str, usize>::new();
    for mode in modes() {
        let (Some(hooks), Some(object)) = (hooks::all(mode), calling(mode)) else { return };
        for hook in hooks.iter().filter(|h| h.name != "flat scratch") {
            for (kind, unknown) in KINDS {
                one_kind(mode, &object, hook, kind, |env, copied| {
                    let title = format!("{mode:?}: {} {kind}", hook.name);
                    assert_eq!(copied.violations, [], "{title}");
                    *made.entry(kind).or_default() += copied.made.len();
                    let all = inserted(mode, &copied.chunk);
                    let Some(start) = all.iter().position(|(_, inst)| waits(inst)) else { return };
                    let count = all[start..].iter().take_while(|(_, inst)| waits(inst)).count();
                    let follows: Vec<Inst> = all[start + count..].iter().map(|(_, inst)| *inst).collect();
                    let before: Vec<Inst> = all[..start].iter().map(|(_, inst)| *inst).collect();
                    let (from, to) = (all[start].0, all[start + count..].first().map_or(from_end(&all), |n| n.0));
                    let without = removed(&copied.chunk, from, to);
                    let noticed = !check::seams(env, ChunkId(0), &without).is_empty();
                    let needed = unknown && needs_anything(env, &[before, follows].concat());
                    let entry = table.entry((kind, mode.target().name())).or_default();
                    entry[0] += 1;
                    entry[1] += usize::from(noticed);
                    entry[2] += usize::from(needed);
                    assert!(noticed || !needed, "{title}: the checker does not miss the waits at word {from}");
                });
            }
        }
    }
    println!("{:<50} {:<10} {:>6} {:>8} {:>8}", "taken away", "", "runs", "noticed", "needed");
    for ((kind, target), [runs, noticed, needed]) in &table {
        println!("{kind:<50} {target:<10} {runs:>6} {noticed:>8} {needed:>8}");
    }
    for (kind, unknown) in KINDS {
        assert!(made[kind] > 0, "{kind}: nothing was inserted");
        let needed: usize = table.iter().filter(|((k, _), _)| *k == kind).map(|(_, counts)| counts[2]).sum();
        assert!(!unknown || needed > 20, "{kind}: {needed} runs of waits were needed");
    }
}

fn from_end(all: &[(u32, Inst)]) -> u32 {
    all.last().map_or(0, |(word, inst)| word + inst.size() as u32 / 4)
}

fn one_kind(mode: Mode, object: &CodeObject, hook: &Hook, kind: &str, mut each: impl FnMut(&Component, &Copied)) {
    let _ = mode;
    let of_kernel = !kind.contains("function");
    let args: Arc<[crate::Arg]> = hook.args.clone().into();
    let body = Body::Hook { hook: 0, args };
    with_plan(
        object,
        hook,
        |program| places(kind, program, &body),
        |component, spots| {
            let copied = copied(component, spots, of_kernel);
            each(component, &copied);
        },
    );
}
