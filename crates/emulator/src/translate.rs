//! From code in memory to a block of micro-ops.
//!
//! A block runs from its first address to the next instruction that may not go on to the one after it.

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use luthier_isa::op::Op as IsaOp;
use luthier_isa::{Inst, VgprMsb};

use crate::code::{Block, Code, Place, Refusal};
use crate::lower::{Builder, Ending};
use crate::meets::syncs;
use crate::mem::gws;
use crate::op::Op;
use crate::probe::Probe;
use crate::registers::Registers;
use crate::strict::{self, Checked, Looks};
use crate::wave::Wave;

/// The longest encoding in bytes.
pub const MAX_SIZE: u64 = 20;

/// Whether a wave says that it has come to its workgroup's barrier, and no more.
fn signals_workgroup(inst: &Inst) -> bool {
    inst.info().op() == IsaOp::SBarrierSignal && !syncs(inst)
}

impl Code {
    /// The block that starts at a place, of the memory of a wave.
    pub(crate) fn translate(&self, w: &Wave, start: Place) -> Result<Block, Refusal> {
        let high_vgprs = self.has_high_vgprs();
        let mut builder = Builder::new(self.limits(), if high_vgprs { 0 } else { start.mode });
        let looks = self.probing().strict;
        builder.lenient = looks.is_some();
        builder.msb = VgprMsb::from_bits(if high_vgprs { start.mode } else { 0 });
        let (mut insts, mut probes): (Vec<(u64, Inst)>, Vec<Box<Probe>>) = (Vec::new(), Vec::new());
        let mut refusal = None;
        let mut taken_pc = None;
        // Where the micro-ops of strict mode are.
        let mut checks = Vec::new();
        let mut pc = start.pc;
        while insts.len() < self.longest() {
            let inst = match self.decode(w, pc, builder.msb) {
                Ok(inst) => inst,
                // A fault here and now only if nothing comes before it.
                Err(message) if insts.is_empty() => return Err(Refusal { pc, message }),
                Err(_) => break,
            };
            if self.is_apart() && !insts.is_empty() && self.meets(&inst) {
                break;
            }
            let number = insts.len() as u16;
            insts.push((pc, inst));
            let mut probe = Box::new(Probe::of(self.probing(), &inst, pc, self.limits()));
            if probe.acts() {
                builder.ops.push(probe.op(number));
            }
            if let Some(looks) = looks {
                let unallocated = builder.check_limits(&inst).err();
                let check = Checked { unallocated, ..Checked::new(&inst, pc, self.limits()) };
                if !strict::has_nothing_to_do(&inst, &check, looks) {
                    checks.push(builder.ops.len());
                    builder.ops.push(Op { inst: number, ..Op::NOTHING });
                    probe.checked = Some(check);
                }
            }
            if probe.acts() || probe.checked.is_some() {
                probes.push(probe);
            }
            let next = pc + inst.size() as u64;
            builder.msb_follows =
                high_vgprs && inst.info().op() == IsaOp::SSetregB32 && self.sets_msb_at(w, next, builder.msb);
            let ending = builder.instruction(&inst, pc, number);
            pc = next;
            if looks.is_some() && inst.info().op().is_gws() && !self.waits_at(w, pc, builder.msb) {
                builder.ops.iter_mut().rev().take(1).for_each(|op| op.imm |= gws::UNWAITED);
            }
            match ending {
                Ok(Ending::Open) => continue,
                // A wave that says that it has come goes on.
                Ok(Ending::Stop) if looks.is_none() && !self.is_apart() && signals_workgroup(&inst) => continue,
                Ok(Ending::Stop) => {}
                Ok(Ending::Branch { taken }) => taken_pc = taken,
                Err(message) => {
                    builder.stop(number);
                    refusal = Some(message);
                }
            }
            break;
        }
        let mut checks = checks.into_iter().peekable();
        let is_check = |(at, op): (usize, _)| checks.next_if(|&check| check == at).map(|_| op);
        let mut checked: Vec<&mut Checked> = probes.iter_mut().filter_map(|probe| probe.checked.as_mut()).collect();
        let ops = builder.ops.iter_mut().enumerate().filter_map(is_check);
        strict::set_up(&mut checked, ops, looks.unwrap_or(Looks::empty()));
        let mut bytes = vec![0; if w.memory.host().is_some() { (pc - start.pc) as usize } else { 0 }];
        w.memory.read(start.pc, &mut bytes).unwrap_or(());
        let mut written = Registers::default();
        insts.iter().for_each(|(_, inst)| self.note_written(&mut written, inst, start.mode));
        let mode = if high_vgprs { builder.msb.bits() } else { builder.index_mode };
        let is_alone = probes.is_empty() && refusal.is_none() && !insts.iter().any(|(_, inst)| self.meets(inst));
        Ok(Block {
            ops: builder.ops.into_boxed_slice(),
            is_private: is_alone && taken_pc.is_some(),
            insts: insts.into_boxed_slice(),
            bytes: bytes.into(),
            _probes: probes,
            refusal,
            written,
            taken: taken_pc.map(|pc| Place { pc, mode }),
            next: Place { pc, mode },
            executions: AtomicU64::new(0),
            #[cfg(target_arch = "x86_64")]
            native: OnceLock::new(),
            #[cfg(target_arch = "x86_64")]
            joined: OnceLock::new(),
            #[cfg(target_arch = "x86_64")]
            kernel: OnceLock::new(),
        })
    }

    fn note_written(&self, written: &mut Registers, inst: &Inst, mode: u8) {
        let op = inst.info().op();
        // What an index in M0 leads to, the tables do not know; nor what is poisoned.
        let name = op.name();
        let anywhere = name.starts_with("v_movrel") || name.starts_with("v_swaprel") || name.contains("gpr_idx");
        if anywhere || mode != 0 || self.probing().poison.is_some() {
            written.fill(!0);
        }
        inst.for_each_access(|access| {
            if let Some(row) = self.limits().row_of(access.reg).map(usize::from).filter(|_| access.access.writes())
                && let Some(word) = written.get_mut(row / 64)
            {
                *word |= 1 << (row % 64);
            }
        });
    }

    /// Whether the instruction at an address waits for all DS operations.
    fn waits_at(&self, w: &Wave, pc: u64, msb: VgprMsb) -> bool {
        self.decode(w, pc, msb).is_ok_and(|inst| strict::waits_for_ds(&inst))
    }

    /// Whether the instruction at an address sets the upper bits of VGPR numbers.
    fn sets_msb_at(&self, w: &Wave, pc: u64, msb: VgprMsb) -> bool {
        self.decode(w, pc, msb).is_ok_and(|inst| inst.info().op() == IsaOp::SSetVgprMsb)
    }

    fn decode(&self, w: &Wave, pc: u64, msb: VgprMsb) -> Result<Inst, String> {
        let Some(allocation) = w.memory.find(pc) else {
            return Err(format!("execution reaches {pc:#x}, which is in no allocation"));
        };
        let left = allocation.end() - pc;
        let mut bytes = [0; MAX_SIZE as usize];
        let bytes = &mut bytes[..left.min(MAX_SIZE) as usize];
        w.memory.read(pc, bytes).map_err(|a| format!("execution reaches {a:#x}, which is in no allocation"))?;
        let inst = self.decoder().decode(bytes).map_err(|e| e.to_string())?;
        if !msb.fits(&inst) {
            return Err(format!("{inst}, under s_set_vgpr_msb {:#x}, runs past v1023", msb.bits()));
        }
        Ok(inst.at(Some(msb)))
    }
}
