//! Values across the lanes of a wave: reductions, prefix sums, shuffles.
//!
//! They go over the active lanes one after another, in the order of their numbers. So they need neither LDS nor the modes of
//! lanes that differ from processor to processor, EXEC may be anything, and what floats add up to is the same everywhere.

use super::{super::ast::CompareOp, super::ast::Type, Body, Val, ll};

impl Body<'_, '_> {
    /// What the active lanes have in all, and what those before this one have.
    fn over_lanes(&mut self, name: &str, value: &Val) -> (String, String) {
        let ty = ll(value.ty);
        let [mask, all, before] = ["i64", ty, ty].map(|ty| self.alloca(ty));
        let start = start(name, value.ty);
        let active = self.exec_mask();
        self.line(format!("store i64 {active}, ptr addrspace(5) {mask}"));
        for place in [&all, &before] {
            self.line(format!("store {ty} {start}, ptr addrspace(5) {place}"));
        }
        let this = self.lane_id();
        let [head, inside, out] = self.labels(["lane", "take", "lanes"]);
        self.jump(&head);
        self.begin(&head);
        let left = self.op(format!("load i64, ptr addrspace(5) {mask}"));
        let more = Val { ty: Type::Bool, text: self.op(format!("icmp ne i64 {left}, 0")) };
        self.branch(&more, &inside, &out);
        self.begin(&inside);
        let lane = self.count_bits("cttz", ", i1 false", &Val { ty: Type::U64, text: left.clone() });
        let of_lane = self.read_lane(value, &lane);
        let sum = self.op(format!("load {ty}, ptr addrspace(5) {all}"));
        let mine = self.op(format!("icmp eq i32 {this}, {lane}"));
        let known = self.op(format!("load {ty}, ptr addrspace(5) {before}"));
        let kept = self.op(format!("select i1 {mine}, {ty} {sum}, {ty} {known}"));
        self.line(format!("store {ty} {kept}, ptr addrspace(5) {before}"));
        let (sum, of_lane) = (Val { ty: value.ty, text: sum }, Val { ty: value.ty, text: of_lane });
        let joined = match name {
            "wave_min" | "wave_max" => {
                let op = if name == "wave_min" { CompareOp::Lt } else { CompareOp::Gt };
                let better = self.compare(op, &of_lane, &sum);
                self.op(format!("select i1 {}, {}, {}", better.text, of_lane.typed(), sum.typed()))
            }
            _ if value.ty.is_float() => self.op(format!("fadd {}, {}", sum.typed(), of_lane.text)),
            _ => self.op(format!("add {}, {}", sum.typed(), of_lane.text)),
        };
        self.line(format!("store {ty} {joined}, ptr addrspace(5) {all}"));
        let less = self.op(format!("add i64 {left}, -1"));
        let rest = self.op(format!("and i64 {left}, {less}"));
        self.line(format!("store i64 {rest}, ptr addrspace(5) {mask}"));
        self.jump(&head);
        self.begin(&out);
        let [all, before] = [all, before].map(|place| self.op(format!("load {ty}, ptr addrspace(5) {place}")));
        (all, before)
    }

    /// `wave_sum`, `wave_min` and `wave_max`.
    pub(super) fn reduce(&mut self, name: &str, value: &Val) -> String {
        self.over_lanes(name, value).0
    }

    /// The sum of what active lanes of lower numbers have.
    pub(super) fn prefix_sum(&mut self, value: &Val) -> String {
        self.over_lanes("wave_sum", value).1
    }

    /// What another active lane has, whose number each lane says; 0 if there is none.
    pub(super) fn shuffle(&mut self, value: &Val, lane: &str) -> String {
        let ty = ll(value.ty);
        let place = self.alloca(ty);
        let active = self.exec_mask();
        let [again, got] = self.labels(["again", "got"]);
        self.jump(&again);
        self.begin(&again);
        let first = self.target("llvm.amdgcn.readfirstlane.i32", "i32", &[format!("i32 {lane}")]);
        let same = Val { ty: Type::Bool, text: self.op(format!("icmp eq i32 {lane}, {first}")) };
        let most = if self.module.mode.wave() == luthier_isa::Wave::W64 { 63 } else { 31 };
        let from = self.op(format!("and i32 {first}, {most}"));
        let found = self.read_lane(value, &from);
        self.line(format!("store {ty} {found}, ptr addrspace(5) {place}"));
        self.branch(&same, &got, &again);
        self.begin(&got);
        let found = self.op(format!("load {ty}, ptr addrspace(5) {place}"));
        let within = self.op(format!("icmp ult i32 {lane}, 64"));
        let wide = self.op(format!("zext i32 {lane} to i64"));
        let wide = self.op(format!("and i64 {wide}, 63"));
        let bit = self.op(format!("lshr i64 {active}, {wide}"));
        let bit = self.op(format!("trunc i64 {bit} to i1"));
        let is_there = self.op(format!("and i1 {within}, {bit}"));
        self.op(format!("select i1 {is_there}, {ty} {found}, {ty} zeroinitializer"))
    }

    /// The lanes that have the same bits as this one.
    pub(super) fn match_any(&mut self, value: &Val) -> String {
        let bits = value.ty.bits();
        let text = if value.ty.is_float() {
            self.op(format!("bitcast {} to i{bits}", value.typed()))
        } else {
            value.text.clone()
        };
        let place = self.alloca("i64");
        let [again, got] = self.labels(["again", "matched"]);
        self.jump(&again);
        self.begin(&again);
        let first = self.target(
            &format!("llvm.amdgcn.readfirstlane.i{bits}"),
            &format!("i{bits}"),
            &[format!("i{bits} {text}")],
        );
        let same = Val { ty: Type::Bool, text: self.op(format!("icmp eq i{bits} {text}, {first}")) };
        let lanes = self.target("llvm.amdgcn.ballot.i64", "i64", &[same.typed()]);
        let lanes = self.of_the_entry(lanes);
        self.line(format!("store i64 {lanes}, ptr addrspace(5) {place}"));
        self.branch(&same, &got, &again);
        self.begin(&got);
        self.op(format!("load i64, ptr addrspace(5) {place}"))
    }

    fn read_lane(&mut self, value: &Val, lane: &str) -> String {
        let ty = ll(value.ty);
        let name = format!("llvm.amdgcn.readlane.{}", super::intrinsic::suffix(value.ty));
        self.target(&name, ty, &[value.typed(), format!("i32 {lane}")])
    }
}

/// What no lane at all has of it.
fn start(name: &str, ty: Type) -> String {
    let bits = ty.bits();
    let (lowest, highest) = match (ty.is_float(), ty.is_signed()) {
        // The bits of an f64, whatever the type: infinity is the same in all.
        (true, _) => ("0xFFF0000000000000".to_owned(), "0x7FF0000000000000".to_owned()),
        (_, true) => ((-(1i128 << (bits - 1))).to_string(), ((1i128 << (bits - 1)) - 1).to_string()),
        _ => ("0".to_owned(), "-1".to_owned()),
    };
    match name {
        "wave_min" => highest,
        "wave_max" => lowest,
        _ if ty.is_float() => "0.0".to_owned(),
        _ => "0".to_owned(),
    }
}
