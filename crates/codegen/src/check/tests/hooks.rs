//! Hooks by hand, for every processor, that between them need everything that placement can do.

use std::sync::Arc;

use luthier_isa::{Mode, Reg, RegRange, RegSet, Wave};

use super::support::{Maker, counter_for, memory_counter_for, s, scalar_wait, v};
use crate::{Arg, ArgPlace, Template};

pub struct Hook {
    pub name: &'static str,
    pub template: Arc<Template>,
    pub args: Vec<Arg>,
    /// Where two SGPRs are free.
    pub called: bool,
}

fn place(range: RegRange, written: bool, clobbered: bool) -> Option<ArgPlace> {
    Some(ArgPlace { range, read: true, written, clobbered: clobbered || written })
}

/// With waits behind each instruction where a scalar may not be read as soon as it is written (see `scalar_wait`).
fn settled(mode: Mode, source: &str) -> String {
    let wait = match scalar_wait(mode).split_once(' ') {
        Some((mnemonic, _)) => format!("{mnemonic} 0xf1fc\n"),
        None => String::new(),
    };
    source.lines().map(|line| format!("{line}\n{wait}")).collect()
}

fn vcc(mode: Mode) -> &'static str {
    if mode.wave() == Wave::W32 { "vcc_lo" } else { "vcc" }
}

/// All of them, for a kernel in which `s4` and `v4` are loaded, and `s8`, `v8` and `v9` may be looked at as well.
pub fn all(mode: Mode) -> Option<Vec<Hook>> {
    let hook = |name, template, args: Vec<Arg>| Some(Hook { name, template, args, called: false });
    let mut all = vec![
        hook("count", counter_for(mode)?, vec![Arg::Slot(0)])?,
        hook("count in memory", memory_counter_for(mode)?, vec![])?,
        hook(
            "values",
            values(mode)?,
            vec![
                Arg::Literal(0x1234_5678_9abc),
                Arg::Pc,
                Arg::PointId,
                Arg::Reg(v(4, 1)),
                Arg::InOut(s(4, 1)),
                Arg::InOut(v(9, 1)),
            ],
        )?,
        hook("special state", specials(mode)?, specials_args(mode))?,
        hook("rounding", rounding(mode)?, vec![Arg::Reg(v(8, 1))])?,
        hook("wide", wide(mode)?, vec![Arg::Reg(s(8, 1)), Arg::Reg(v(8, 1))])?,
        hook("copies", copies(mode)?, vec![Arg::Reg(v(8, 1)), Arg::Reg(v(9, 1))])?,
    ];
    for (name, of) in [("called: count in memory", 1), ("called: values", 2)] {
        let Hook { template, args, .. } = &all[of];
        all.push(Hook { name, template: template.clone(), args: args.clone(), called: true });
    }
    if mode.target().generation().is_gfx9_family() {
        all.push(hook("flat scratch", one_scalar(mode, 2)?, vec![Arg::InOut(RegRange::new(Reg::FLAT_SCRATCH_LO, 2))])?);
    }
    Some(all)
}

/// Numbers, registers of both files read and written; changes SCC, VCC and M0.
fn values(mode: Mode) -> Option<Arc<Template>> {
    let source = format!(
        "s_xor_b32 s8, s8, s9\ns_xor_b32 s8, s8, s10\ns_xor_b32 s8, s8, s11\ns_xor_b32 s8, s8, s12\ns_mov_b32 m0, s8\n\
         v_mov_b32_e32 v0, s8\nv_xor_b32_e32 v1, v0, v4\nv_cmp_eq_u32_e32 {}, v1, v0\ns_xor_b32 s14, s14, s8\n\
         v_xor_b32_e32 v6, v6, v1\n",
        vcc(mode)
    );
    Maker {
        mode,
        source: &settled(mode, &source),
        groups: vec![(s(8, 2), 2), (s(10, 2), 2)],
        args: vec![
            place(s(8, 2), false, true),
            place(s(10, 2), false, false),
            place(s(12, 1), false, false),
            place(v(4, 1), false, false),
            place(s(14, 1), true, true),
            place(v(6, 1), true, true),
        ],
        relocs: vec![],
        whole: RegSet::EMPTY,
    }
    .make("values")
}

/// Changes SCC, VCC, M0, MODE and EXEC for good.
fn specials(mode: Mode) -> Option<Arc<Template>> {
    let masks = if mode.wave() == Wave::W32 { 1 } else { 2 };
    let mut source = "s_xor_b32 s0, s0, 1\ns_xor_b32 s2, s2, s0\ns_xor_b32 s4, s4, s0\ns_xor_b32 s6, s6, s0\n\
                      s_xor_b32 s8, s8, s0\n"
        .to_owned();
    if masks == 2 {
        source += "s_xor_b32 s9, s9, s0\n";
    }
    Maker {
        mode,
        source: &settled(mode, &source),
        groups: vec![(s(8, masks), 2), (s(2, 1), 1)],
        args: vec![
            place(s(0, 1), true, true),
            place(s(2, 1), true, true),
            place(s(4, 1), true, true),
            place(s(6, 1), true, true),
            place(s(8, masks), true, true),
        ],
        relocs: vec![],
        whole: RegSet::EMPTY,
    }
    .make("special state")
}

fn specials_args(mode: Mode) -> Vec<Arg> {
    let masks = if mode.wave() == Wave::W32 { 1 } else { 2 };
    let one = |reg| Arg::InOut(RegRange::new(reg, 1));
    vec![one(Reg::SCC), one(Reg::VCC_LO), one(Reg::M0), one(Reg::MODE), Arg::InOut(RegRange::new(Reg::EXEC_LO, masks))]
}

/// Computes in the default modes, and changes MODE.
fn rounding(mode: Mode) -> Option<Arc<Template>> {
    let made = Maker {
        mode,
        source: "s_setreg_imm32_b32 hwreg(1, 0, 4), 5\nv_add_f32_e32 v1, v0, v0\n",
        groups: vec![],
        args: vec![place(v(0, 1), false, false)],
        relocs: vec![],
        whole: RegSet::EMPTY,
    }
    .make("rounding")?;
    let mut template = Arc::unwrap_or_clone(made);
    template.uses_fp_mode = true;
    template.clobbers.insert(Reg::MODE);
    Some(Arc::new(template))
}

/// Looks at a scalar and at a register of each lane, as an instruction found them.
pub fn found(mode: Mode, scalar: RegRange, vector: RegRange) -> Option<Hook> {
    let args = vec![place(s(0, 1), false, false), place(v(0, 1), false, false)];
    let source = "v_xor_b32_e32 v1, s0, v0\n";
    let template = Maker { mode, source, groups: vec![], args, relocs: vec![], whole: RegSet::EMPTY }.make("found")?;
    Some(Hook { name: "found", template, args: vec![Arg::Source(scalar), Arg::Source(vector)], called: false })
}

/// Many registers, some of them in all lanes.
fn wide(mode: Mode) -> Option<Arc<Template>> {
    let mut source = String::new();
    for n in 1..12 {
        source += &format!("v_xor_b32_e32 v{n}, s0, v0\n");
    }
    // In a lane that may be off.
    for n in 4..8 {
        source += &format!("v_writelane_b32 v{n}, s0, 1\n");
    }
    for n in 2..20 {
        source += &format!("s_mov_b32 s{n}, s0\n");
    }
    let groups = vec![(v(4, 4), 1), (s(4, 4), 4), (s(8, 8), 4)];
    let args = vec![place(s(0, 1), false, false), place(v(0, 1), false, false)];
    let whole = (4..8).map(Reg::vgpr).collect();
    Maker { mode, source: &source, groups, args, relocs: vec![], whole }.make("wide")
}

/// Changes what it is given.
fn copies(mode: Mode) -> Option<Arc<Template>> {
    let source = "v_xor_b32_e32 v0, v0, v1\nv_xor_b32_e32 v1, v1, v0\n";
    let args = vec![place(v(0, 1), false, true), place(v(1, 1), false, true)];
    Maker { mode, source, groups: vec![], args, relocs: vec![], whole: RegSet::EMPTY }.make("copies")
}

fn one_scalar(mode: Mode, count: u8) -> Option<Arc<Template>> {
    let source = "s_add_u32 s4, s4, 1\ns_addc_u32 s5, s5, 0\n";
    let args = vec![place(s(4, count), true, true)];
    Maker { mode, source, groups: vec![(s(4, 2), 2)], args, relocs: vec![], whole: RegSet::EMPTY }.make("flat scratch")
}
