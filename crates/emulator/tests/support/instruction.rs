//! Random instructions that a kernel with [`crate::room`] may hold.

use std::collections::HashSet;

use luthier_emulator::coverage;
use luthier_isa::{Flags, Inst, Mode, Operand, Reg};

use crate::words::{Rng, random_words};

/// Registers that a sequence leaves alone: where its region and its results are.
const KEPT: std::ops::Range<usize> = 96..100;

/// Whether a sequence may hold an instruction: it goes on to the next one, and does the same every time.
fn is_wanted(inst: &Inst, refused: &HashSet<&str>, stores: bool) -> bool {
    let info = inst.info();
    let moves_on = !info.flags.contains(Flags::BRANCH)
        && ![
            "s_endpgm",
            "s_setkill",
            "s_setpc",
            "s_swappc",
            "s_call",
            "s_cbranch",
            "s_rfe",
            "s_trap",
            "s_sethalt",
            "s_getpc",
        ]
        .iter()
        .any(|name| info.base.starts_with(name));
    // Clocks, and numbers of the hardware's.
    let steady = !["time", "getreg", "waveid", "sendmsg_rtn"].iter().any(|name| info.base.contains(name));
    let harmless = stores || !(info.flags.contains(Flags::STORE) || info.flags.contains(Flags::ATOMIC));
    let local = info.base.starts_with("ds_") || harmless;
    // Most format codes are none, and hardly any resource is an image: such a sequence would go no further.
    // (tests/device/test_typed_buffers.py and tests/device/test_images.py have them all.)
    let typed = info.base.contains("buffer_") && info.base.contains("format_") || info.flags.contains(Flags::MIMG);
    let mut keeps = true;
    inst.for_each_access(|a| keeps &= !(a.access.writes() && KEPT.contains(&a.reg.index())));
    // The kernel has these registers and no others.
    let there = inst.operands().all(|(_, value)| match value {
        Operand::Reg(range) => {
            let last = range.first.index() + usize::from(range.count) - 1;
            !(range.first.is_vgpr() || range.first.is_agpr()) || (last - Reg::vgpr(0).index()) % 256 < 31
        }
        _ => true,
    });
    moves_on && !typed && steady && local && keeps && there && !refused.contains(info.base)
}

/// One random instruction of a random opcode, its registers moved to where the kernel has some.
pub fn instruction(mode: Mode, rng: &mut Rng, refused: &HashSet<&str>, stores: bool) -> Inst {
    loop {
        let opcodes = mode.opcodes();
        let info = &opcodes[rng.below(opcodes.len() as u64) as usize];
        let raw = random_words(info, rng);
        let bytes: Vec<u8> = raw.iter().flat_map(|w| w.to_le_bytes()).collect();
        let Ok(mut inst) = Inst::decode(mode, &bytes) else { continue };
        for index in 0..inst.info().operands.len() {
            let operand = inst.operands().nth(index).map(|(_, value)| value);
            if let Some(Operand::Reg(range)) = operand
                && (range.first.is_vgpr() || range.first.is_agpr())
            {
                let file = range.first.index() - range.first.index() % 256;
                let room = 31 - u64::from(range.count.min(30));
                let first = Reg::from_index(file + (rng.below(room) & !1) as usize).expect("a register");
                let moved = luthier_isa::RegRange { first, ..range };
                let _ = inst.set_operand(index, Operand::Reg(moved));
            }
        }
        let mut code = Vec::new();
        inst.encode_into(&mut code);
        if Inst::decode(mode, &code).is_ok_and(|again| is_wanted(&again, refused, stores)) {
            return inst;
        }
    }
}

/// What the device refuses to execute.
pub fn refused(mode: Mode) -> HashSet<&'static str> {
    coverage(mode.target()).iter().filter(|c| c.refusal.is_some()).map(|c| c.base).collect()
}
