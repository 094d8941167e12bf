//! The code that was copied: what still runs it is led to the copies.

use luthier_isa::{Reg, RegRange, RegSet};
use luthier_lifter::{FunctionKind, GapKind, Liveness};

use super::copies::Numbered;
use crate::CodegenError;
use crate::component::{Base, Component};
use crate::copy::redirect::{self, Failure, Original, Patch};
use crate::copy::{Copied, Refusal};
use crate::layout::Layout;
use crate::layout::chunk::{Chunk, ChunkId, Place};
use crate::register_file::File;
use crate::splice::pool::Free;

/// Why the originals do not lead to their copies.
pub enum Unredirected {
    /// One component cannot be redirected.
    Component {
        component: usize,
        reason: String,
    },
    Fails(CodegenError),
}

/// Branches from the original device functions to their copies. Fails with a component that cannot be redirected.
pub fn redirect(
    base: &Base,
    components: &mut [Component],
    functions: &Numbered,
    copies: &[Result<Copied, Refusal>],
    layout: &Layout,
    chunks: &[Chunk],
) -> Result<Vec<Patch>, Unredirected> {
    let program = base.given.program;
    if base.given.plan.beside.is_some() {
        return Ok(Vec::new());
    }
    let gone = |n: &usize| copies[*n].is_ok() && !base.given.selection.is_apart(functions[*n].1);
    let mut order: Vec<usize> = (0..functions.len()).filter(gone).collect();
    order.sort_by_key(|n| program.function(functions[*n].1).vaddr);
    let mut originals = Vec::with_capacity(order.len());
    for &n in &order {
        let (_, f) = functions[n];
        let function = program.function(f);
        let kernel = function.kind == FunctionKind::Kernel;
        let end = function.vaddr + function.size;
        let gap = program.gaps().binary_search_by_key(&end, |g| g.vaddr).ok().map(|i| program.gaps()[i]);
        let padding = gap.filter(|g| g.kind == GapKind::Padding);
        let label = copies[n].as_ref().map_or(0, |c| c.entry);
        let place = Place::Label { chunk: ChunkId(n as u32), label };
        originals.push(Original {
            name: function.name.clone(),
            vaddr: function.vaddr,
            size: function.size + padding.map_or(0, |g| g.size),
            copy: (!kernel).then(|| layout.place(chunks, place, &[])),
            entered_inside: function.entered_inside.iter().copied().find(|v| *v > function.vaddr),
            scc_live: !kernel && Liveness::of(program, f).live_in(function.entry).contains(Reg::SCC),
        });
    }
    // Only now is it known whether registers are needed; those that hooks use between times will do.
    let via = |i: usize, count: u8| {
        let env = &components[functions[order[i]].0].env;
        let mut taken: RegSet = (0..Reg::COUNT).filter_map(Reg::from_index).collect();
        taken.subtract(&env.registers.never_used);
        taken.union_with(&env.carried.reserved);
        Free::outside(&taken, File::Sgpr.first_unit(), env.registers.limits.sgprs)
            .find(count, 2, 0)
            .map(|n| RegRange::new(Reg::sgpr(n), count))
    };
    match redirect::patches(&base.given.machine.ops, &originals, via) {
        Ok(patches) => {
            for (original, range) in patches.iter().filter_map(|p| p.via) {
                components[functions[order[original]].0].highest.note(range);
            }
            Ok(patches)
        }
        Err(Failure::Original { original, reason }) => {
            Err(Unredirected::Component { component: functions[order[original]].0, reason })
        }
        Err(Failure::Encode(error)) => Err(Unredirected::Fails(error.into())),
    }
}
