//! A template, looked at once: which operands a renaming has to change, and what else a point must know of it.

use luthier_isa::{Field, Flags, Inst, Operand, Reg, RegRange, RegSet};

use super::pool::File;
use crate::{RelocKind, Template};

/// An operand that names renamable registers.
#[derive(Clone, Copy, Debug)]
struct Site {
    inst: u32,
    operand: u8,
    group: u8,
    /// Of the operand's first unit within the group.
    delta: u8,
    count: u8,
}

/// A renamable group.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub range: RegRange,
    pub file: File,
    pub align: u8,
    /// Lanes that are off at entry may change.
    pub whole: bool,
}

/// Where an argument lies.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    pub group: usize,
    pub delta: u8,
    pub count: u8,
    /// The argument is all of its group.
    pub alone: bool,
    pub read: bool,
    pub written: bool,
    pub clobbered: bool,
}

/// Special registers whose old value has to be kept if it is live.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    pub scc: bool,
    pub vcc: bool,
    pub m0: bool,
    pub fp_mode: bool,
}

/// What decides about wait states at the template's borders.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits {
    pub valu: bool,
    pub vmem: bool,
    pub dpp: bool,
    pub lane_select: bool,
    /// The last instruction stores more than 64 bits of a lane.
    pub ends_in_wide_store: bool,
    /// VALU writes to SGPRs or VCC.
    pub valu_writes_scalar: bool,
    pub valu_writes_exec: bool,
    pub writes_mode: bool,
    pub reads_mode: bool,
    pub touches_vgprs: bool,
    pub starts_with_memory: bool,
    pub ends_with_memory: bool,
}

#[derive(Debug)]
pub struct Prepared {
    pub insts: Vec<Inst>,
    sites: Vec<Site>,
    pub groups: Vec<Group>,
    pub args: Vec<Option<Arg>>,
    pub needs: Needs,
    pub traits: Traits,
    /// Special units that change and that nothing here can keep.
    pub refused: Option<String>,
    pub relocs: Vec<(usize, String, RelocKind, i64)>,
    /// Of every instruction in words, from the template's start.
    pub starts: Vec<u32>,
}

impl Prepared {
    pub fn new(template: &Template) -> Prepared {
        let mut refused = None;
        let whole = |r: RegRange| r.units().any(|u| template.writes_inactive_lanes.contains(u));
        let mut groups = Vec::with_capacity(template.groups.len());
        for g in &template.groups {
            match File::of(g.range.first) {
                Some(file) => groups.push(Group { range: g.range, file, align: g.align.max(1), whole: whole(g.range) }),
                None => {
                    refused = Some(format!("the hook {} renames {}, which cannot be renamed", template.name, g.range))
                }
            }
        }
        let find = |range: RegRange| {
            groups.iter().position(|g| {
                let (low, high) = (g.range.first.index(), g.range.first.index() + usize::from(g.range.count));
                range.first.index() >= low && range.first.index() + usize::from(range.count) <= high
            })
        };
        let mut sites = Vec::new();
        for (i, inst) in template.insts.iter().enumerate() {
            for (n, (info, value)) in inst.operands().enumerate() {
                let Operand::Reg(range) = value else { continue };
                if info.fixed.is_some() || File::of(range.first).is_none() {
                    continue;
                }
                match find(range) {
                    Some(group) => sites.push(Site {
                        inst: i as u32,
                        operand: n as u8,
                        group: group as u8,
                        delta: (range.first.index() - groups[group].range.first.index()) as u8,
                        count: range.count,
                    }),
                    None => refused = Some(format!("{range} in {inst} of the hook {} is in no group", template.name)),
                }
            }
        }
        let args = template.args.iter().map(|arg| {
            let arg = (*arg)?;
            let Some(group) = find(arg.range) else {
                refused = Some(format!("the argument in {} of the hook {} is in no group", arg.range, template.name));
                return None;
            };
            Some(Arg {
                group,
                delta: (arg.range.first.index() - groups[group].range.first.index()) as u8,
                count: arg.range.count,
                alone: arg.range == groups[group].range,
                read: arg.read,
                written: arg.written,
                clobbered: arg.clobbered,
            })
        });
        let args: Vec<Option<Arg>> = args.collect();
        if groups.len() > 255 {
            refused = Some(format!("the hook {} has {} register groups", template.name, groups.len()));
        }
        if template.scratch_bytes > 0 {
            refused = Some(format!(
                "the hook {} needs {} bytes of scratch, which placement cannot give it yet",
                template.name, template.scratch_bytes
            ));
        }
        refused = refused.or_else(|| unkept(template));
        let mut at = 0;
        let starts = template.insts.iter().map(|i| (at, at += i.size() as u32 / 4).0).collect();
        Prepared {
            sites,
            args,
            needs: Needs {
                scc: template.clobbers.contains(Reg::SCC),
                vcc: template.clobbers.contains(Reg::VCC_LO) || template.clobbers.contains(Reg::VCC_HI),
                m0: template.clobbers.contains(Reg::M0),
                fp_mode: template.uses_fp_mode,
            },
            traits: traits(template, &groups),
            groups,
            refused,
            relocs: template.relocs.iter().map(|r| (r.inst, r.symbol.clone(), r.kind, r.addend)).collect(),
            starts,
            insts: template.insts.clone(),
        }
    }

    /// The instructions with each group moved to where `to` says.
    pub fn rename(&self, to: &[Reg], out: &mut Vec<Inst>) -> Result<(), luthier_isa::EncodeError> {
        let first = out.len();
        out.extend_from_slice(&self.insts);
        for site in &self.sites {
            let reg = to[usize::from(site.group)].offset(site.delta.into());
            out[first + site.inst as usize]
                .set_operand(site.operand.into(), Operand::Reg(RegRange::new(reg, site.count)))?;
        }
        Ok(())
    }
}

/// Special units that the template changes and that are neither renamed nor saved by placement.
fn unkept(template: &Template) -> Option<String> {
    let kept = [Reg::SCC, Reg::VCC_LO, Reg::VCC_HI, Reg::M0, Reg::EXEC_LO, Reg::EXEC_HI];
    let changed = template.clobbers.iter().find(|r| File::of(*r).is_none() && !kept.contains(r))?;
    Some(format!("the hook {} changes {changed}, which cannot be saved", template.name))
}

fn traits(template: &Template, groups: &[Group]) -> Traits {
    let mut t = Traits { touches_vgprs: groups.iter().any(|g| g.file != File::Sgpr), ..Traits::default() };
    for inst in &template.insts {
        let info = inst.info();
        let valu = info.flags.contains(Flags::VALU);
        t.valu |= valu;
        t.vmem |= info.flags.intersects(Flags::VMEM | Flags::FLAT | Flags::GLOBAL | Flags::SCRATCH | Flags::MUBUF);
        t.dpp |= info.flags.contains(Flags::DPP);
        t.lane_select |= matches!(info.base, "v_readlane_b32" | "v_writelane_b32");
        t.writes_mode |= info.base.starts_with("s_setreg");
        t.reads_mode |= info.base.starts_with("s_getreg");
        if valu {
            inst.for_each_access(|a| {
                let scalar = !a.reg.is_vgpr() && !a.reg.is_agpr() && a.access.writes();
                let exec = a.reg == Reg::EXEC_LO || a.reg == Reg::EXEC_HI;
                t.valu_writes_exec |= scalar && exec;
                t.valu_writes_scalar |= scalar && !exec && a.reg != Reg::MODE;
            });
        }
    }
    t.starts_with_memory = template.insts.first().is_some_and(is_memory);
    t.ends_with_memory = template.insts.last().is_some_and(is_memory);
    t.ends_in_wide_store = template.insts.last().is_some_and(|i| stored_units(i) > 2);
    t
}

/// Vector or scalar memory, not LDS.
pub fn is_memory(inst: &Inst) -> bool {
    let memory = Flags::VMEM | Flags::SMEM | Flags::FLAT | Flags::GLOBAL | Flags::SCRATCH | Flags::MUBUF;
    inst.info().flags.intersects(memory)
}

/// How many units of each lane the instruction stores.
pub fn stored_units(inst: &Inst) -> u8 {
    if !inst.info().flags.intersects(Flags::STORE | Flags::ATOMIC) || inst.info().flags.contains(Flags::DS) {
        return 0;
    }
    let data = inst.operand_in(Field::Vdata).or_else(|| inst.operand_in(Field::Data0));
    match data {
        Some(Operand::Reg(range)) => range.count,
        _ => 0,
    }
}

/// The registers a memory instruction stores from.
pub fn stored(inst: &Inst, into: &mut RegSet) {
    if stored_units(inst) > 2
        && let Some(Operand::Reg(range)) = inst.operand_in(Field::Vdata).or_else(|| inst.operand_in(Field::Data0))
    {
        into.insert_range(range);
    }
}
