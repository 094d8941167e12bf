//! What a kernel does before everything else where hooks keep registers in scratch and the hardware does not know the
//! wave's: it sets FLAT_SCRATCH.
//!
//! That hooks need scratch is known only when all of them are placed, so that this is put in front of a finished copy.

use luthier_isa::{Inst, Reg, RegSet};
use luthier_lifter::Liveness;
use luthier_loader::Kernel;

use super::entry::PRELOAD_ENTRY;
use super::{Copied, Refusal};
use crate::check;
use crate::layout::chunk::ChunkId;
use crate::machine::scratch::ScratchInputs;
use crate::machine::seams::Seam;
use crate::machine::special::Special;
use crate::plan::Checked;
use crate::splice::Env;

/// Puts it in front of the copy of a kernel. `inputs` is what the kernel starts with.
pub fn prepend(
    env: &Env,
    kernel: &Kernel,
    chunk: ChunkId,
    inputs: &ScratchInputs,
    copied: &mut Copied,
    checked: Checked,
) -> Result<(), Refusal> {
    let (ops, program) = (&env.machine.ops, env.program);
    let mut code: Vec<Inst> = Vec::new();
    // What was issued before a wave began matters to nothing.
    let mut seam = Seam::new(env.machine.mode, env.unread);
    for inst in env.machine.set_scratch_base(inputs, sum(env, kernel, inputs)?)? {
        seam.issue(ops, inst, &mut code)?;
    }
    let first = program.instr_at(kernel.entry).map(|i| program.block(program.block_of(i)).instrs);
    let next: Vec<Inst> = first.iter().flat_map(|instrs| instrs.iter()).map(|i| *program.inst(i)).collect();
    seam.lead_out(ops, &next, || RegSet::EMPTY, &mut code)?;
    if checked.at(kernel.entry) {
        copied.violations.extend(check::scratch_base(env, kernel, &code));
    }
    let once: Vec<u32> = code.iter().flat_map(|inst| inst.words().iter().copied()).collect();
    let mut words = once.clone();
    if env.machine.preloads(&kernel.descriptor) {
        // Both entries, each to where it led.
        let apart = (PRELOAD_ENTRY / 4) as usize;
        let behind = apart + once.len() + 1;
        let branch = |from: usize, to: usize| Ok::<u32, Refusal>(ops.branch()?.words()[0] | (to - from - 1) as u32);
        words.push(branch(once.len(), behind)?);
        words.resize(apart, ops.nop(1)?.words()[0]);
        words.extend(&once);
        words.push(branch(apart + once.len(), behind + apart)?);
        copied.inserted += code.len();
    }
    copied.inserted += code.len();
    copied.chunk.prepend(words);
    if checked.at(kernel.entry) {
        copied.violations.extend(check::seams(env, chunk, &copied.chunk));
    }
    Ok(())
}

/// Where the base is made: in FLAT_SCRATCH, or in a pair that no hook looks at if that is not written like a register. VCC
/// is the hooks' to look at.
fn sum(env: &Env, kernel: &Kernel, inputs: &ScratchInputs) -> Result<Reg, Refusal> {
    if !env.machine.scratch_base_is_hwreg() {
        return Ok(Special::FlatScratch.range(env.machine).first);
    }
    let program = env.program;
    let Some(first) = program.instr_at(kernel.entry) else {
        return Err(Refusal::Reason(format!("the kernel {} is entered where it has no instruction", kernel.name)));
    };
    let live = Liveness::of(program, program.func_of(first)).at_start(program.block_of(first)).any();
    let taken = [inputs.base, inputs.base.offset(1), inputs.offset];
    let is_free = |reg: Reg| !live.contains(reg) && !env.reserved.contains(reg) && !taken.contains(&reg);
    let mut pairs = (0..env.limits.sgprs / 2).rev().map(|n| Reg::sgpr(2 * n));
    let free = pairs.find(|low| is_free(*low) && is_free(low.offset(1)));
    free.ok_or_else(|| {
        Refusal::Reason(format!(
            "no SGPRs are free at the start of {} to find the scratch of its waves with",
            kernel.name
        ))
    })
}
