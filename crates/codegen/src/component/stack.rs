//! Whether a component's stack is as deep as its kernels' descriptors say, although they call it dynamic: LLVM does so of
//! whatever may call itself for all that it knows while it compiles.

use std::collections::HashMap;

use luthier_isa::op::Op;
use luthier_isa::{Inst, Operand, Reg, RegRange};
use luthier_lifter::{BlockId, FuncId, FunctionKind, Program, Terminator};

const POINTER: RegRange = RegRange::new(Reg::sgpr(32), 1);
/// The frame pointer and the base pointer.
const FRAME: [RegRange; 2] = [RegRange::new(Reg::sgpr(33), 1), RegRange::new(Reg::sgpr(34), 1)];

/// No function calls itself, at any distance, and each moves the stack pointer by constants only.
pub fn is_bounded(program: &Program, functions: &[FuncId]) -> bool {
    let known = functions.iter().all(|f| !program.has_unresolved(*f));
    known && !recurses(program, functions) && functions.iter().all(|f| moves_by_constants(program, *f))
}

fn recurses(program: &Program, functions: &[FuncId]) -> bool {
    // Absent: not seen; false: on the way; true: done.
    let mut state: HashMap<FuncId, bool> = HashMap::new();
    let mut work: Vec<(FuncId, usize)> = Vec::new();
    for &root in functions {
        if state.contains_key(&root) {
            continue;
        }
        state.insert(root, false);
        work.push((root, 0));
        while let Some((f, next)) = work.pop() {
            let Some(&callee) = program.callees(f).get(next) else {
                state.insert(f, true);
                continue;
            };
            work.push((f, next + 1));
            match state.get(&callee) {
                Some(false) => return true,
                Some(true) => {}
                None => {
                    state.insert(callee, false);
                    work.push((callee, 0));
                }
            }
        }
    }
    false
}

/// What an instruction does to the registers of the stack.
enum Change {
    None,
    /// The pointer moves by a constant, or to one.
    Constant,
    /// The pointer goes back to where one of [`FRAME`] says.
    Back(usize),
    /// One of [`FRAME`] is the pointer, or so far from it.
    Frame(usize),
    /// One of [`FRAME`] gets what it was before, or anything else.
    Other(usize),
    Unknown,
}

fn moves_by_constants(program: &Program, func: FuncId) -> bool {
    let kernel = program.function(func).kind == FunctionKind::Kernel;
    let mut set_up = [false; 2];
    let mut back = [false; 2];
    for block in program.function(func).blocks.iter() {
        let mut other = [false; 2];
        for i in program.block(block).instrs.iter() {
            match change(program.inst(i), kernel) {
                Change::None | Change::Constant => {}
                Change::Back(n) if !other[n] => back[n] = true,
                Change::Frame(n) => set_up[n] = true,
                Change::Other(n) => other[n] = true,
                Change::Back(_) | Change::Unknown => return false,
            }
        }
        // What comes back does so at a function's end; anywhere else it may be anything.
        if other.contains(&true) && !returns(program, block) {
            return false;
        }
    }
    (0..2).all(|n| set_up[n] || !back[n])
}

fn returns(program: &Program, block: BlockId) -> bool {
    matches!(program.block(block).terminator, Terminator::Return { .. } | Terminator::End)
}

fn change(inst: &Inst, kernel: bool) -> Change {
    let mut written = [false; 3];
    inst.for_each_access(|a| {
        if a.access.writes() {
            let all = [POINTER, FRAME[0], FRAME[1]];
            (0..3).filter(|n| all[*n].first == a.reg).for_each(|n| written[n] = true);
        }
    });
    let frame = (0..2).find(|n| written[n + 1]);
    if !written[0] {
        let Some(n) = frame else { return Change::None };
        return if sets_frame(inst, FRAME[n]) { Change::Frame(n) } else { Change::Other(n) };
    }
    let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
    let constant = |value: &Operand| value.is_constant() || matches!(value, Operand::Imm(_));
    let pointer = Operand::Reg(POINTER);
    match (inst.info().op(), operands.as_slice()) {
        (Op::SMovB32, [to, by]) if *to == pointer && constant(by) && kernel => Change::Constant,
        (Op::SMovkI32, [to, _]) if *to == pointer && kernel => Change::Constant,
        (Op::SMovB32, [to, Operand::Reg(from)]) if *to == pointer => {
            FRAME.iter().position(|frame| frame == from).map_or(Change::Unknown, Change::Back)
        }
        (Op::SAddI32 | Op::SAddU32 | Op::SSubI32 | Op::SSubU32, [to, from, by])
            if *to == pointer && *from == pointer && constant(by) =>
        {
            Change::Constant
        }
        (Op::SAddkI32, [to, ..]) if *to == pointer => Change::Constant,
        _ => Change::Unknown,
    }
}

/// The register becomes the stack pointer, a constant apart, or what it is rounded down to.
fn sets_frame(inst: &Inst, frame: RegRange) -> bool {
    let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
    match (inst.info().op(), operands.as_slice()) {
        (Op::SMovB32, [to, from]) => *to == Operand::Reg(frame) && *from == Operand::Reg(POINTER),
        (Op::SAddI32 | Op::SAddU32, [to, from, by]) => {
            *to == Operand::Reg(frame) && *from == Operand::Reg(POINTER) && by.is_constant()
        }
        (Op::SAndB32, [to, from, by]) => *to == Operand::Reg(frame) && *from == Operand::Reg(frame) && by.is_constant(),
        _ => false,
    }
}
