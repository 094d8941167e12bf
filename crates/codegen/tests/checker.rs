//! The splice checker finds each kind of mistake that placement could make.

mod support;

use std::sync::Arc;

use luthier_codegen::check::{Placed, Question, splice};
use luthier_codegen::*;
use luthier_isa::{Inst, Reg, RegRange, RegSet};
use luthier_lifter::{InFlight, Live, PendingLoads, Program};
use support::*;

struct Case {
    plan: Plan,
    insts: Vec<Inst>,
    templates: Vec<Placed>,
    live: Live,
    loads: InFlight,
    counters: Vec<Option<Reg>>,
    counter_lanes: Vec<Option<(Reg, u8)>>,
}

fn set(ranges: &[RegRange]) -> RegSet {
    let mut set = RegSet::EMPTY;
    ranges.iter().for_each(|r| set.insert_range(*r));
    set
}

impl Case {
    /// `source` is the inserted code, in which the instructions `hook.0..hook.1` are the template with its arguments.
    fn new(source: &str, hook: (usize, usize), template: Arc<Template>, args: Vec<ArgValue>) -> Option<Case> {
        let insertion = Insertion { address: 0x40, when: When::Before, template, args, order: 0 };
        Some(Case {
            plan: Plan { insertions: vec![insertion], ..Plan::default() },
            insts: instructions(source)?,
            templates: vec![Placed { start: hook.0, end: hook.1, insertion: 0 }],
            live: Live::NONE,
            loads: InFlight::default(),
            counters: vec![],
            counter_lanes: vec![],
        })
    }
    fn live(mut self, ranges: &[RegRange]) -> Case {
        self.live.active = set(ranges);
        self
    }
    fn live_inactive(mut self, ranges: &[RegRange]) -> Case {
        self.live.inactive = set(ranges);
        self
    }
    fn counter(mut self, low: u16) -> Case {
        self.counters = vec![Some(Reg::sgpr(low))];
        self
    }
    fn problems(&self) -> Vec<String> {
        let question = Question {
            plan: &self.plan,
            counters: &self.counters,
            counter_lanes: &self.counter_lanes,
            unused: &RegSet::EMPTY,
            address: 0x40,
            live: &self.live,
            loads: &self.loads,
            insts: &self.insts,
            templates: &self.templates,
        };
        splice(&question).iter().map(|v| v.to_string()).collect()
    }
    #[track_caller]
    fn passes(&self) {
        assert_eq!(self.problems(), Vec::<String>::new());
    }
    #[track_caller]
    fn fails(&self, with: &str) {
        let problems = self.problems();
        assert!(problems.iter().any(|p| p.contains(with)), "{problems:?} has no {with:?}");
    }
}

const SCC: RegRange = RegRange::new(Reg::SCC, 1);
const VCC: RegRange = RegRange::new(Reg::VCC_LO, 2);

fn reads(source: &'static str, range: RegRange, written: bool) -> Option<Arc<Template>> {
    let arg = ArgPlace { range, read: true, written, clobbered: written };
    Maker { source, groups: vec![], args: vec![Some(arg)], relocs: vec![], whole: RegSet::EMPTY }.make("hook")
}

#[test]
fn scc_has_to_come_back() {
    let count = |source: &str, hook| Some(Case::new(source, hook, counter()?, vec![ArgValue::Counter(0)])?.counter(8));
    let add = "s_add_u32 s8, s8, 1\ns_addc_u32 s9, s9, 0\n";
    let kept = format!("s_cselect_b32 s3, 1, 0\n{add}s_cmp_lg_u32 s3, 0\n");
    let Some(case) = count(add, (0, 2)) else { return };
    case.passes();
    case.live(&[SCC]).fails("scc is live");
    count(&kept, (1, 3)).unwrap().live(&[SCC]).passes();
    count(&kept, (1, 3)).unwrap().live(&[SCC, s(3, 1)]).fails("s3 is live");
    // Restored from something else, or turned round.
    let wrong = format!("s_cselect_b32 s3, 1, 0\n{add}s_cmp_lg_u32 s4, 0\n");
    count(&wrong, (1, 3)).unwrap().live(&[SCC]).fails("scc is live");
    let wrong = format!("s_cselect_b32 s3, 0, 1\n{add}s_cmp_lg_u32 s3, 0\n");
    count(&wrong, (1, 3)).unwrap().live(&[SCC]).fails("nothing that placement needs");
}

#[test]
fn counters_are_where_they_should_be() {
    let Some(template) = counter() else { return };
    let elsewhere = "s_add_u32 s6, s6, 1\ns_addc_u32 s7, s7, 0\n";
    let case = Case::new(elsewhere, (0, 2), template.clone(), vec![ArgValue::Counter(0)]).unwrap().counter(8);
    case.fails("argument 0 is to be s8");
    case.fails("s8 is live");
    let moved = format!("s_mov_b64 s[6:7], s[8:9]\n{elsewhere}s_mov_b64 s[8:9], s[6:7]\n");
    Case::new(&moved, (1, 3), template.clone(), vec![ArgValue::Counter(0)]).unwrap().counter(8).passes();
    let forgotten = format!("s_mov_b64 s[6:7], s[8:9]\n{elsewhere}");
    Case::new(&forgotten, (1, 3), template, vec![ArgValue::Counter(0)]).unwrap().counter(8).fails("s8 is live");
}

#[test]
fn the_template_has_to_be_the_template() {
    let Some(template) = counter() else { return };
    let case =
        |source: &str| Case::new(source, (0, 2), template.clone(), vec![ArgValue::Counter(0)]).unwrap().counter(8);
    case("s_add_u32 s8, s8, 2\ns_addc_u32 s9, s9, 0\n").fails("another value");
    case("s_sub_u32 s8, s8, 1\ns_addc_u32 s9, s9, 0\n").fails("another operation");
    case("s_add_u32 s8, s8, 1\ns_addc_u32 s9, s8, 0\n").fails("s8");
    case("s_add_u32 s8, s10, 1\ns_addc_u32 s9, s9, 0\n").fails("elsewhere");
}

#[test]
fn what_a_template_overwrites_must_be_free() {
    let Some(template) = reads("v_add_u32_e32 v1, 1, v0\n", v(0, 1), false) else { return };
    let case =
        || Case::new("v_add_u32_e32 v5, 1, v7\n", (0, 1), template.clone(), vec![ArgValue::Reg(v(7, 1))]).unwrap();
    case().live(&[v(7, 1)]).passes();
    case().live(&[v(5, 1)]).fails("v5 is live");
    // Lanes that are off keep their value.
    case().live_inactive(&[v(5, 1)]).passes();
    let mut whole = Arc::unwrap_or_clone(template.clone());
    whole.writes_inactive_lanes.insert(Reg::vgpr(1));
    let whole = Case::new("v_add_u32_e32 v5, 1, v7\n", (0, 1), Arc::new(whole), vec![ArgValue::Reg(v(7, 1))]);
    whole.unwrap().live_inactive(&[v(5, 1)]).fails("v5 is live");
}

#[test]
fn moves_carry_values() {
    let Some(template) = reads("s_add_u32 s4, s4, 1\n", s(4, 1), true) else { return };
    let case = |source: &str, hook, arg| Case::new(source, hook, template.clone(), vec![arg]).unwrap();
    let moved = "s_mov_b32 s9, s2\ns_add_u32 s9, s9, 1\n";
    case(moved, (1, 2), ArgValue::Reg(s(2, 1))).live(&[s(2, 1)]).passes();
    case(moved, (1, 2), ArgValue::Reg(s(3, 1))).fails("argument 0 is to be s3");
    // In and out: the result has to be put back.
    case(moved, (1, 2), ArgValue::RegInOut(s(2, 1))).live(&[s(2, 1)]).fails("s2 is live");
    let back = format!("{moved}s_mov_b32 s2, s9\n");
    case(&back, (1, 2), ArgValue::RegInOut(s(2, 1))).live(&[s(2, 1)]).passes();
    case("s_add_u32 s2, s2, 1\n", (0, 1), ArgValue::RegInOut(s(2, 1))).live(&[s(2, 1)]).passes();
    case("s_add_u32 s2, s2, 1\n", (0, 1), ArgValue::Reg(s(2, 1))).live(&[s(2, 1)]).fails("s2 is live");
}

#[test]
fn vcc_is_kept_by_moves() {
    let Some(template) = reads("v_cmp_eq_u32_e32 vcc, 0, v0\n", v(0, 1), false) else { return };
    let compare = "v_cmp_eq_u32_e32 vcc, 0, v3\n";
    let case = |source: &str, hook| {
        Case::new(source, hook, template.clone(), vec![ArgValue::Reg(v(3, 1))]).unwrap().live(&[VCC])
    };
    case(compare, (0, 1)).fails("vcc_lo is live");
    case(&format!("s_mov_b64 s[2:3], vcc\n{compare}s_mov_b64 vcc, s[2:3]\n"), (1, 2)).passes();
    case(&format!("s_mov_b64 s[2:3], vcc\n{compare}s_mov_b64 vcc, s[4:5]\n"), (1, 2)).fails("vcc_lo is live");
}

/// Loads in flight at the third instruction of a kernel that the lifter has looked at.
fn in_flight() -> Option<InFlight> {
    let head = include_str!("support/huge.s").replace(
        "BODY\n",
        "global_load_dword v2, v[4:5], off\nglobal_load_dword v3, v[4:5], off\ns_nop 7\ns_waitcnt vmcnt(0)\n",
    );
    let object = assemble("in_flight", &head)?;
    let program = Program::lift(&object).unwrap();
    let nop = program.instrs().iter().find(|i| program.inst(*i).info().base == "s_nop")?;
    Some(PendingLoads::of(&program, program.func_of(nop)).at(nop))
}

#[test]
fn registers_of_loads_in_flight_are_not_touched() {
    let Some(template) = reads("v_add_u32_e32 v1, 1, v0\n", v(0, 1), false) else { return };
    let Some(loads) = in_flight() else { return };
    let case = |source: &str, hook| {
        let mut case = Case::new(source, hook, template.clone(), vec![ArgValue::Reg(v(2, 1))]).unwrap();
        case.loads = loads.clone();
        case
    };
    case("v_add_u32_e32 v6, 1, v2\n", (0, 1)).fails("touches v2");
    // One load may still be out: that of v3.
    case("s_waitcnt vmcnt(1)\nv_add_u32_e32 v6, 1, v2\n", (1, 2)).passes();
    case("s_waitcnt vmcnt(1)\nv_add_u32_e32 v3, 1, v2\n", (1, 2)).fails("touches v3");
    case("s_waitcnt vmcnt(0)\nv_add_u32_e32 v3, 1, v2\n", (1, 2)).passes();
    case("s_waitcnt lgkmcnt(0)\nv_add_u32_e32 v6, 1, v2\n", (1, 2)).fails("touches v2");
    case("s_waitcnt vmcnt(2)\nv_add_u32_e32 v6, 1, v2\n", (1, 2)).fails("touches v2");
}

#[test]
fn lanes_keep_scalars_and_counters() {
    let Some(template) = counter() else { return };
    let add = "s_add_u32 s8, s8, 1\ns_addc_u32 s9, s9, 0\n";
    let case = |source: &str, hook| {
        let mut case = Case::new(source, hook, template.clone(), vec![ArgValue::Counter(0)]).unwrap();
        (case.counters, case.counter_lanes) = (vec![None], vec![Some((Reg::vgpr(5), 2))]);
        case
    };
    let read = "v_readlane_b32 s8, v5, 2\nv_readlane_b32 s9, v5, 3\n";
    let write = "v_writelane_b32 v5, s8, 2\nv_writelane_b32 v5, s9, 3\n";
    case(&format!("{read}{add}{write}"), (2, 4)).passes();
    case(&format!("{read}{add}"), (2, 4)).fails("lane 2 of v5");
    case(&format!("{add}{write}"), (0, 2)).fails("argument 0 is to be");
    let crossed = "v_writelane_b32 v5, s9, 2\nv_writelane_b32 v5, s8, 3\n";
    case(&format!("{read}{add}{crossed}"), (2, 4)).fails("lane 2 of v5");
    // A live register on loan.
    let lend = "v_writelane_b32 v6, s8, 0\nv_writelane_b32 v6, s9, 1\n";
    let back = "v_readlane_b32 s8, v6, 0\nv_readlane_b32 s9, v6, 1\n";
    let lent = format!("{lend}{read}{add}{write}{back}");
    case(&lent, (4, 6)).live(&[s(8, 2)]).passes();
    case(&lent, (4, 6)).live(&[s(8, 2), v(6, 1)]).fails("v6 is live");
    case(&lent, (4, 6)).live_inactive(&[v(6, 1)]).fails("v6 is live");
    case(&format!("{read}{add}{write}"), (2, 4)).live(&[s(8, 2)]).fails("s8 is live");
}
