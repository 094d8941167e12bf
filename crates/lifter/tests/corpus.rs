//! Every gfx90a object of the corpus: instructions and branch targets as llvm-objdump gives them, and the count of
//! what stays unresolved.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use luthier_isa::Reg;
use luthier_lifter::{Liveness, Program, Terminator};
use luthier_loader::CodeObject;

/// Instruction addresses, and branch targets by the branch's address.
#[derive(Default)]
struct Dump {
    instructions: BTreeSet<u64>,
    branches: BTreeMap<u64, u64>,
}

fn dump(path: &std::path::Path) -> Dump {
    let text = String::from_utf8(common::run(Command::new(common::tool("llvm-objdump")).arg("-d").arg(path))).unwrap();
    let mut out = Dump::default();
    let mut symbols: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines() {
        if let Some((address, name)) = line.strip_suffix(">:").and_then(|l| l.split_once(" <")) {
            symbols.insert(name, u64::from_str_radix(address, 16).unwrap());
        }
    }
    for line in text.lines().filter(|l| l.starts_with('\t')) {
        let Some((assembly, comment)) = line.rsplit_once("// ") else { continue };
        let Some((address, rest)) = comment.split_once(':') else { continue };
        let address = u64::from_str_radix(address, 16).unwrap();
        out.instructions.insert(address);
        let mnemonic = assembly.split_whitespace().next().unwrap_or("");
        if mnemonic == "s_branch" || mnemonic.starts_with("s_cbranch") {
            let place = rest.split_once('<').unwrap().1.trim_end().trim_end_matches('>');
            let (name, offset) = match place.rsplit_once("+0x") {
                Some((name, offset)) if symbols.contains_key(name) => (name, u64::from_str_radix(offset, 16).unwrap()),
                _ => (place, 0),
            };
            out.branches.insert(address, symbols[name] + offset);
        }
    }
    out
}

#[luthier_needs::needs(corpus)]
#[test]
fn agrees_with_objdump() {
    let (mut instructions, mut branches, mut unresolved, mut calls, mut files) = (0, 0, 0, 0, 0);
    for path in common::gfx90a_objects() {
        let object = CodeObject::parse(std::fs::read(&path).unwrap()).unwrap();
        let program = Program::lift(&object).unwrap();
        let dump = dump(&path);
        let name = path.display();
        let starts: BTreeSet<u64> =
            (0..program.blocks().len() as u32).map(|b| program.block_vaddr(luthier_lifter::BlockId(b))).collect();
        for (at, target) in &dump.branches {
            assert!(
                starts.contains(target),
                "{name}: the branch at {at:#x} goes to {target:#x}, which starts no block"
            );
        }
        // And nothing else starts one, but what follows control instructions, and entries.
        let targets: BTreeSet<u64> = dump.branches.values().copied().collect();
        let entries: BTreeSet<u64> = program.functions().iter().map(|f| f.vaddr).collect();
        for b in 1..program.blocks().len() as u32 {
            let (block, before) = (luthier_lifter::BlockId(b), luthier_lifter::BlockId(b - 1));
            let vaddr = program.block_vaddr(block);
            let after_control = program.block(before).terminator != Terminator::Fallthrough;
            let jumped = program.preds(block).iter().any(|p| program.block(*p).terminator == Terminator::Jump);
            assert!(
                targets.contains(&vaddr) || entries.contains(&vaddr) || after_control || jumped,
                "{name}: nothing starts a block at {vaddr:#x}"
            );
        }
        // objdump shows symbols only; ours may have fewer (padding outside of them), never others.
        for i in program.instrs().iter() {
            let vaddr = program.vaddr(i);
            assert!(dump.instructions.contains(&vaddr), "{name}: no instruction starts at {vaddr:#x}");
        }
        for f in program.functions() {
            let range = f.vaddr..f.vaddr + f.size;
            let (theirs, ours) = (dump.instructions.range(range.clone()).count(), {
                let id = program.function_at(f.vaddr).unwrap();
                program.function_instrs(id).len()
            });
            assert_eq!(theirs, ours, "{name}: instructions of {}", f.name);
            assert!(f.is_instrumentable(), "{name}: {} is refused: {:?}", f.name, f.refusal);
        }
        instructions += program.instrs().len();
        branches += dump.branches.len();
        calls += program.calls().len();
        unresolved += program.issues().len();
        files += 1;
        program.issues().iter().for_each(|i| println!("{name}: {i}"));
    }
    println!("{files} objects, {instructions} instructions, {branches} branches, {calls} calls, {unresolved} issues");
}

/// What the block's edges say must agree with what its last instruction can do, and predecessors with successors.
#[luthier_needs::needs(corpus)]
#[test]
fn graphs_are_consistent() {
    for path in common::gfx90a_objects() {
        let program = Program::lift(&CodeObject::parse(std::fs::read(&path).unwrap()).unwrap()).unwrap();
        for f in program.function_ids() {
            let function = program.function(f);
            for b in function.blocks.iter() {
                let block = program.block(b);
                assert_eq!(block.func, f);
                assert!(!block.instrs.is_empty());
                for s in program.succs(b) {
                    assert!(function.blocks.contains(*s));
                    assert!(program.preds(*s).contains(&b));
                }
                assert_eq!(program.block_of(block.instrs.first), b);
            }
        }
    }
}

/// At a kernel's entry, only what the dispatch sets up may be live.
#[luthier_needs::needs(corpus)]
#[test]
fn kernels_read_only_what_they_are_given() {
    let mut checked = 0;
    for path in common::gfx90a_objects() {
        let object = CodeObject::parse(std::fs::read(&path).unwrap()).unwrap();
        let program = Program::lift(&object).unwrap();
        for kernel in object.kernels() {
            let f = program.function_at(kernel.entry).unwrap();
            if !program.calls_of(f).is_empty() {
                continue;
            }
            // With branches there may be paths that are never taken; with EXEC changing, lanes that are never read.
            let straight = program.function(f).blocks.iter().all(|b| program.succs(b).len() < 2)
                && !program.function_instrs(f).iter().any(|i| {
                    let mut writes = false;
                    program.inst(i).for_each_access(|a| writes |= a.reg == Reg::EXEC_LO && a.access.writes());
                    writes
                });
            if !straight {
                continue;
            }
            let live = Liveness::of(&program, f);
            for reg in live.at_start(program.function(f).entry).active.iter() {
                let given = match reg {
                    // 16 user SGPRs at most, then the workgroup ids and the scratch offset.
                    r if r.is_sgpr() => r.number() < 16 + 5,
                    r if r.is_vgpr() || r.is_agpr() => r.is_vgpr() && r.number() < 3,
                    _ => reg != Reg::SCC && reg != Reg::VCC_LO,
                };
                assert!(given, "{}: {} reads {reg}, which nothing sets", path.display(), kernel.name);
            }
            checked += 1;
        }
    }
    println!("{checked} kernels without a choice");
}
