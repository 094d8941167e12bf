//! A template, looked at once: which operands a renaming has to change, and what else a place must know of it.

use luthier_isa::{Flags, Inst, Operand, Reg, RegRange, RegSet};
use luthier_loader::HookLine;

use crate::machine::special::Special;
use crate::register_file::File;
use crate::rejection::Rejection;
use crate::{ArgPlace, Blob, RelocKind, RelocTarget, Template};

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
    /// No register from this number on.
    pub limit: u16,
    /// SGPRs that vector instructions read.
    pub read_by_lanes: bool,
}

/// Where an input of an argument lies.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Of the argument.
    pub arg: usize,
    pub group: usize,
    pub delta: u8,
    pub count: u8,
    /// The input is all of its group.
    pub alone: bool,
    pub read: bool,
    pub written: bool,
    pub clobbered: bool,
}

/// A template's stack.
#[derive(Clone, Copy, Debug)]
pub struct OfStack {
    /// For each lane.
    pub bytes: u32,
    /// Where the template has the offset at which it begins.
    pub base: Option<Input>,
}

/// A relocated literal.
#[derive(Clone, Debug)]
pub struct Reloc {
    pub inst: usize,
    pub target: RelocTarget,
    pub kind: RelocKind,
    pub addend: i64,
}

#[derive(Clone, Debug)]
pub struct Prepared {
    pub name: String,
    pub insts: Vec<Inst>,
    sites: Vec<Site>,
    pub groups: Vec<Group>,
    /// By argument, the inputs in order; `None` for those that the template never looks at.
    pub inputs: Vec<Vec<Option<Input>>>,
    /// Constants that its relocations refer to.
    pub data: Vec<Blob>,
    /// Memory of each lane that it works with.
    pub stack: Option<OfStack>,
    /// State that the template changes.
    pub changes: Vec<Special>,
    /// It computes with the default rounding and denormal modes.
    pub needs_fp_mode: bool,
    /// A wave without active lanes is given one while it runs: that lane looks at arguments, too.
    pub gives_a_lane: bool,
    pub touches_vgprs: bool,
    /// A vector instruction reads an SGPR that an argument's new value is left in.
    pub reads_counters_by_lanes: bool,
    pub starts_with_memory: bool,
    pub ends_with_memory: bool,
    pub has_memory: bool,
    /// Why it cannot be placed anywhere.
    pub refused: Option<Rejection>,
    pub relocs: Vec<Reloc>,
    pub lines: Vec<Option<HookLine>>,
    /// It stands once in each function, and is called, where registers allow that.
    pub called: bool,
}

impl Prepared {
    /// VGPRs that it needs.
    pub fn vgprs(&self) -> u16 {
        self.groups.iter().filter(|g| g.file == File::Vgpr).map(|g| u16::from(g.range.count)).sum()
    }

    pub fn new(template: &Template) -> Prepared {
        let refuse = |what: String| Rejection::Template { hook: template.name.clone(), what };
        let mut refused = None;
        let whole = |r: RegRange| r.units().any(|u| template.writes_inactive_lanes.contains(u));
        let mut groups = Vec::with_capacity(template.groups.len());
        for g in &template.groups {
            match File::of(g.range.first) {
                Some(file) => groups.push(Group {
                    range: g.range,
                    file,
                    align: g.align.max(1),
                    whole: whole(g.range),
                    limit: g.limit,
                    read_by_lanes: file == File::Sgpr && read_by_lanes(template, |r| g.range.units().any(|u| u == r)),
                }),
                None => refused = Some(refuse(format!("renames {}, which cannot be renamed", g.range))),
            }
        }
        let find = |range: RegRange| {
            groups.iter().position(|g| {
                let (low, high) = (g.range.first.index(), g.range.first.index() + usize::from(g.range.count));
                range.first.index() >= low && range.first.index() + usize::from(range.count) <= high
            })
        };
        let delta = |range: RegRange, group: usize| (range.first.index() - groups[group].range.first.index()) as u8;
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
                        delta: delta(range, group),
                        count: range.count,
                    }),
                    None => refused = Some(refuse(format!("has {range} in {inst}, which is in no group"))),
                }
            }
        }
        let mut lost = None;
        let mut input = |arg: usize, place: ArgPlace| {
            let Some(group) = find(place.range) else {
                lost = Some(format!("has an argument in {}, which is in no group", place.range));
                return None;
            };
            Some(Input {
                arg,
                group,
                delta: delta(place.range, group),
                count: place.range.count,
                alone: place.range == groups[group].range,
                read: place.read,
                written: place.written,
                clobbered: place.clobbered,
            })
        };
        let places = template.args.iter().enumerate();
        let inputs: Vec<Vec<Option<Input>>> =
            places.map(|(arg, places)| places.iter().map(|place| input(arg, (*place)?)).collect()).collect();
        // It is fed as if it were one more argument.
        let stack = template.stack.map(|stack| OfStack {
            bytes: stack.bytes,
            base: stack.base.and_then(|base| input(template.args.len(), base)),
        });
        if let Some(what) = lost {
            refused = Some(refuse(what));
        }
        if groups.len() > 255 {
            refused = Some(refuse(format!("has {} register groups", groups.len())));
        }
        let mut changes = Vec::new();
        for reg in template.clobbers.iter().filter(|r| File::of(*r).is_none() && !is_exec(*r)) {
            let special = match reg {
                Reg::SCC => Special::Scc,
                Reg::VCC_LO | Reg::VCC_HI => Special::Vcc,
                Reg::M0 => Special::M0,
                Reg::MODE => Special::Mode,
                _ => {
                    refused = Some(refuse(format!("changes {reg}, which cannot be saved")));
                    continue;
                }
            };
            if !changes.contains(&special) {
                changes.push(special);
            }
        }
        if template.relocs.iter().any(|r| matches!(r.kind, RelocKind::Abs32Lo | RelocKind::Abs32Hi | RelocKind::Abs64))
        {
            refused = Some(Rejection::AbsoluteAddress { hook: template.name.clone() });
        }
        let relocs = template.relocs.iter();
        Prepared {
            name: template.name.clone(),
            sites,
            inputs,
            data: template.data.clone(),
            stack,
            changes,
            needs_fp_mode: template.uses_fp_mode,
            gives_a_lane: template.gives_a_lane,
            touches_vgprs: groups.iter().any(|g| g.file != File::Sgpr),
            reads_counters_by_lanes: {
                let results = results(template);
                read_by_lanes(template, |r| results.contains(r))
            },
            starts_with_memory: template.insts.first().is_some_and(is_memory),
            ends_with_memory: template.insts.last().is_some_and(is_memory),
            has_memory: template.insts.iter().any(is_memory),
            groups,
            refused,
            relocs: relocs
                .map(|r| Reloc { inst: r.inst, target: r.target.clone(), kind: r.kind, addend: r.addend })
                .collect(),
            insts: template.insts.clone(),
            lines: template.lines.clone(),
            called: false,
        }
    }

    /// Bytes of code.
    pub fn size(&self) -> u64 {
        self.insts.iter().map(|inst| inst.size() as u64).sum()
    }

    /// The offsets from which on the instructions come from another line, in bytes, and those lines.
    pub fn rows(&self) -> impl Iterator<Item = (u64, HookLine)> + '_ {
        let mut offset = 0;
        let places = self.insts.iter().zip(&self.lines).map(move |(inst, line)| {
            offset += inst.size() as u64;
            (offset - inst.size() as u64, line.as_ref())
        });
        let mut last = None;
        // What has no line of its own serves what is around it.
        places.filter_map(move |(offset, line)| {
            let is_new = line.is_some() && line != last;
            last = line.or(last);
            line.filter(|_| is_new).map(|line| (offset, line.clone()))
        })
    }

    /// The instructions with each group moved to where `to` says.
    pub fn rename(&self, to: &[Reg], out: &mut Vec<Inst>) -> Result<(), luthier_isa::EncodeError> {
        let first = out.len();
        out.extend_from_slice(&self.insts);
        for site in &self.sites {
            let reg = to[usize::from(site.group)].offset(site.delta.into());
            let inst = &mut out[first + site.inst as usize];
            // An operand that names half of a register goes on naming that half.
            let half = match inst.operands().nth(site.operand.into()) {
                Some((_, Operand::Reg(range))) => range.part,
                _ => Default::default(),
            };
            let range = RegRange { part: half, ..RegRange::new(reg, site.count) };
            inst.set_operand(site.operand.into(), Operand::Reg(range))?;
        }
        Ok(())
    }
}

/// Vector instructions read one of these registers.
fn read_by_lanes(template: &Template, of: impl Fn(Reg) -> bool) -> bool {
    template.insts.iter().filter(|i| i.info().flags.contains(Flags::VALU)).any(|inst| {
        let mut reads = false;
        inst.for_each_access(|a| reads |= a.access.reads() && of(a.reg));
        reads
    })
}

/// Registers that new values of scalar arguments are left in.
fn results(template: &Template) -> RegSet {
    let written = template.args.iter().flatten().flatten().filter(|p| p.written && p.range.first.is_sgpr());
    written.flat_map(|place| place.range.units()).collect()
}

fn is_exec(reg: Reg) -> bool {
    matches!(reg, Reg::EXEC_LO | Reg::EXEC_HI)
}

/// Vector or scalar memory, not LDS.
pub fn is_memory(inst: &Inst) -> bool {
    let memory = Flags::VMEM | Flags::SMEM | Flags::FLAT | Flags::GLOBAL | Flags::SCRATCH | Flags::MUBUF;
    inst.info().flags.intersects(memory)
}
