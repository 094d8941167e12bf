//! Annotated assembly text.

use std::fmt::Write;

use luthier_isa::{Reg, RegRange, RegSet};
use luthier_lifter::{FuncId, Line, Liveness, Program};

/// Registers by name, neighbours joined: `s[4:7]`, `v0`, `vcc_lo`.
pub fn registers(set: &RegSet) -> Vec<String> {
    let mut names = Vec::new();
    let mut run: Option<(Reg, u16)> = None;
    let same_file =
        |a: Reg, b: Reg| (a.is_sgpr() && b.is_sgpr()) || (a.is_vgpr() && b.is_vgpr()) || (a.is_agpr() && b.is_agpr());
    let mut close = |run: Option<(Reg, u16)>| {
        if let Some((first, count)) = run {
            names.push(match u8::try_from(count) {
                Ok(count) => RegRange::new(first, count).to_string(),
                Err(_) => format!("{first} and the {} after it", count - 1),
            });
        }
    };
    for reg in set.iter() {
        run = match run {
            Some((first, count)) if same_file(first, reg) && first.index() + usize::from(count) == reg.index() => {
                Some((first, count + 1))
            }
            other => {
                close(other);
                Some((reg, 1))
            }
        };
    }
    close(run);
    names
}

/// One function: the lifter's listing, with the predecessors and live registers of each block.
pub fn function(program: &Program, id: FuncId) -> String {
    let liveness = Liveness::of(program, id);
    let mut out = String::new();
    for line in program.listing(id) {
        let _ = write!(out, "{line}");
        if let Line::Label { block, .. } = line {
            let from: Vec<String> = program.preds(block).iter().map(|&p| program.label(p).to_string()).collect();
            if !from.is_empty() {
                let _ = write!(out, " ; from {}", from.join(" "));
            }
            let _ = write!(out, " ; live {}", registers(&liveness.live_in(block)).join(" "));
        }
        out.push('\n');
    }
    out
}
