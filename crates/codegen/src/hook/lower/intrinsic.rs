//! What a hook asks of the machine.

use super::{
    super::{
        ast::{CompareOp, Expr, Type},
        processor,
        scalar_atomic::{self, SCALAR_ATOMIC},
    },
    Body, NoLanes, Val, WAVE_ADD, ll,
};

use crate::template::HookError;

/// Atomics are seen by the whole device; the host reads when the kernel is done.
pub(super) const ATOMIC: &str = "syncscope(\"agent-one-as\") monotonic";

impl<'u> Body<'_, 'u> {
    pub(super) fn intrinsic(&mut self, expr: &'u Expr, name: &str, args: &'u [Expr]) -> Result<Option<Val>, HookError> {
        let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>, _>>()?;
        let wanted = match name {
            "exec_mask" | "active_lanes" | "lane_id" | "clock" | "realtime" | "trap" | "barrier" => 0,
            place if place.starts_with("hw_") => 0,
            "popcount" | "ctz" | "clz" | "ballot" | "readfirstlane" | "sqrt" | "floor" | "abs" => 1,
            "exp2" | "log2" | "rsqrt" | "wave_any" | "wave_all" | "match_any" => 1,
            "wave_sum" | "wave_min" | "wave_max" | "prefix_sum" => 1,
            "fma" | "atomic_cas" | "scalar_atomic_cas" | "pk_fma_f16" => 3,
            _ => 2,
        };
        if args.len() != wanted {
            return self.fail(expr.at, format!("{name} takes {wanted} arguments"));
        }
        let ty = expr.ty.unwrap_or(Type::U32);
        if name.starts_with("atomic_") {
            return self.with_lanes(|body| body.atomic(expr, name, &args, ty).map(Some));
        }
        if name == "barrier" {
            self.barrier();
            return Ok(None);
        }
        if matches!(name, "trap" | "wave_atomic_add") {
            let of_lanes = self.is_of_lanes(|found| found.acts.contains(&std::ptr::from_ref(expr)));
            let act = |body: &mut Self| {
                body.act(name, &args);
                Ok(None)
            };
            return if of_lanes { self.with_lanes(act) } else { act(self) };
        }
        if let Some(operation) = name.strip_prefix("scalar_atomic_") {
            let mode = self.module.mode;
            if !scalar_atomic::has_them(mode) {
                return self.fail(expr.at, format!("{name}: {}", scalar_atomic::refused(mode)));
            }
            let of_lanes = self.is_of_lanes(|found| found.acts.contains(&std::ptr::from_ref(expr)));
            let act = |body: &mut Self| Ok(Some(body.scalar_atomic(operation, &args, ty)));
            return if of_lanes { self.with_lanes(act) } else { act(self) };
        }
        if matches!(name, "wave_lane_add" | "wave_exchange") {
            let of_lanes = self.is_of_lanes(|found| found.acts.contains(&std::ptr::from_ref(expr)));
            let op = if name == "wave_exchange" { "atomic_exchange" } else { "atomic_add" };
            let act = |body: &mut Self| body.by_one_lane(expr, op, &args, ty).map(Some);
            return if of_lanes { self.with_lanes(act) } else { act(self) };
        }
        if name == "wave_fetch_add" {
            let of_lanes = self.is_of_lanes(|found| found.acts.contains(&std::ptr::from_ref(expr)));
            let act = |body: &mut Self| Ok(Some(Val { ty, text: body.wave_fetch_add(&args[0], &args[1]) }));
            return if of_lanes { self.with_lanes(act) } else { act(self) };
        }
        if matches!(name, "wave_sum" | "wave_min" | "wave_max" | "prefix_sum") {
            return self.with_lanes(|body| {
                let text = if name == "prefix_sum" { body.prefix_sum(&args[0]) } else { body.reduce(name, &args[0]) };
                Ok(Some(Val { ty, text }))
            });
        }
        let text = match name {
            "exec_mask" => self.exec_mask(),
            "active_lanes" => {
                let mask = Val { ty: Type::U64, text: self.exec_mask() };
                self.count_bits("ctpop", "", &mask)
            }
            "lane_id" => self.lane_id(),
            "clock" => {
                let (counter, factor) = processor::clock(self.module.mode);
                let count = self.target(counter, "i64", &[]);
                if factor == 1 { count } else { self.op(format!("mul i64 {count}, {factor}")) }
            }
            place if place.starts_with("hw_") => match processor::hardware_place(self.module.mode, place) {
                Some(field) => self.target("llvm.amdgcn.s.getreg", "i32", &[format!("i32 {}", field.immediate())]),
                None => {
                    let processor = self.module.mode.target().name();
                    return self.fail(
                        expr.at,
                        format!("{name}: {processor} does not tell, or not in a way that is documented"),
                    );
                }
            },
            "realtime" => self.target(processor::REALTIME, "i64", &[]),
            "popcount" => self.count_bits("ctpop", "", &args[0]),
            // With less than 32 bits LLVM would count in a register whose upper bits are not set.
            "ctz" if args[0].ty.bits() < 32 => {
                let wide = self.op(format!("zext {} to i32", args[0].typed()));
                let ended = self.op(format!("or i32 {wide}, {}", 1 << args[0].ty.bits()));
                self.count_bits("cttz", ", i1 false", &Val { ty: Type::U32, text: ended })
            }
            "ctz" => self.count_bits("cttz", ", i1 false", &args[0]),
            "clz" => self.count_bits("ctlz", ", i1 false", &args[0]),
            "ballot" => {
                let mask = self.target("llvm.amdgcn.ballot.i64", "i64", &[args[0].typed()]);
                self.of_the_entry(mask)
            }
            "readfirstlane" => {
                let name = format!("llvm.amdgcn.readfirstlane.{}", suffix(ty));
                self.target(&name, ll(ty), &[args[0].typed()])
            }
            "readlane" => {
                let name = format!("llvm.amdgcn.readlane.{}", suffix(ty));
                self.target(&name, ll(ty), &[args[0].typed(), args[1].typed()])
            }
            "wave_any" | "wave_all" => {
                let wanted = if name == "wave_any" { "false" } else { "true" };
                let odd = self.op(format!("xor i1 {}, {wanted}", args[0].text));
                let mask = self.target("llvm.amdgcn.ballot.i64", "i64", &[format!("i1 {odd}")]);
                let mask = self.of_the_entry(mask);
                self.op(format!("icmp {} i64 {mask}, 0", if name == "wave_any" { "ne" } else { "eq" }))
            }
            "match_any" => self.match_any(&args[0]),
            "shuffle" => self.shuffle(&args[0], &args[1].text),
            "add_sat" | "sub_sat" => {
                let kind = if ty.is_signed() { "s" } else { "u" };
                let list: Vec<_> = args.iter().map(Val::typed).collect();
                let name = format!("llvm.{kind}{}.sat.{}", &name[..3], suffix(ty));
                self.target(&name, ll(ty), &list)
            }
            packed if packed.starts_with("pk_") => match self.packed(packed, &args) {
                Some(text) => text,
                None => return self.fail(expr.at, format!("no intrinsic {name}")),
            },
            "rsqrt" => {
                let root = self.target(&format!("llvm.sqrt.{}", suffix(ty)), ll(ty), &[args[0].typed()]);
                self.op(format!("fdiv {} 1.0, {root}", ll(ty)))
            }
            "sqrt" | "floor" | "fma" | "exp2" | "log2" => {
                let list: Vec<_> = args.iter().map(Val::typed).collect();
                self.target(&format!("llvm.{name}.{}", suffix(ty)), ll(ty), &list)
            }
            "abs" if ty.is_float() => self.target(&format!("llvm.fabs.{}", suffix(ty)), ll(ty), &[args[0].typed()]),
            "abs" if !ty.is_signed() => args[0].text.clone(),
            "abs" => {
                let list = [args[0].typed(), "i1 false".to_owned()];
                self.target(&format!("llvm.abs.{}", suffix(ty)), ll(ty), &list)
            }
            // As Python chooses: the first unless the second is really smaller, or larger.
            "min" | "max" => {
                let op = if name == "min" { CompareOp::Lt } else { CompareOp::Gt };
                let other = self.compare(op, &args[1], &args[0]);
                self.op(format!("select i1 {}, {}, {}", other.text, args[1].typed(), args[0].typed()))
            }
            _ => return self.fail(expr.at, format!("no intrinsic {name}")),
        };
        Ok(Some(Val { ty, text }))
    }

    /// The same operation on both halves of words.
    fn packed(&mut self, name: &str, args: &[Val]) -> Option<String> {
        let pair = if name.ends_with("_f16") { "<2 x half>" } else { "<2 x i16>" };
        let op = match name {
            "pk_add_f16" => "fadd",
            "pk_mul_f16" => "fmul",
            "pk_fma_f16" => "fma",
            "pk_add_u16" => "add",
            "pk_sub_u16" => "sub",
            "pk_mul_u16" => "mul",
            _ => return None,
        };
        let list: Vec<String> = args.iter().map(|a| self.op(format!("bitcast {} to {pair}", a.typed()))).collect();
        let both = if op == "fma" {
            let list: Vec<String> = list.iter().map(|a| format!("{pair} {a}")).collect();
            self.module.declare("llvm.fma.v2f16", format!("declare {pair} @llvm.fma.v2f16({pair}, {pair}, {pair})"));
            self.op(format!("call {pair} @llvm.fma.v2f16({})", list.join(", ")))
        } else {
            self.op(format!("{op} {pair} {}", list.join(", ")))
        };
        Some(self.op(format!("bitcast {pair} {both} to i32")))
    }

    pub(super) fn lane_id(&mut self) -> String {
        let low = self.target("llvm.amdgcn.mbcnt.lo", "i32", &["i32 -1".to_owned(), "i32 0".to_owned()]);
        self.target("llvm.amdgcn.mbcnt.hi", "i32", &["i32 -1".to_owned(), format!("i32 {low}")])
    }

    /// All waves of the workgroup come here before any goes on, and see in LDS what the others have done there.
    fn barrier(&mut self) {
        self.line("fence syncscope(\"workgroup\") release");
        self.module.declare("llvm.amdgcn.s.barrier", "declare void @llvm.amdgcn.s.barrier()".to_owned());
        self.line("call void @llvm.amdgcn.s.barrier()");
        self.line("fence syncscope(\"workgroup\") acquire");
    }

    /// What is done for the wave.
    fn act(&mut self, name: &str, args: &[Val]) {
        if name == "trap" {
            self.line("call void asm sideeffect \"s_trap 2\", \"~{memory}\"() #3");
            return;
        }
        let int = ll(args[1].ty);
        let callee = format!("{WAVE_ADD}{int}");
        self.module.declare(&callee, format!("declare void @{callee}(ptr addrspace(1), {int}) #2"));
        self.line(format!("call void @{callee}({}, {}) #2", args[0].typed(), args[1].typed()));
    }

    /// An atomic of the wave's by a scalar instruction; what was there before.
    fn scalar_atomic(&mut self, operation: &str, args: &[Val], ty: Type) -> Val {
        let int = ll(ty);
        let sign = if matches!(operation, "min" | "max") && !ty.is_signed() { "u" } else { "" };
        let callee = format!("{SCALAR_ATOMIC}{sign}{operation}.{int}");
        let types: Vec<&str> = args.iter().map(|a| ll(a.ty)).collect();
        self.module.declare(&callee, format!("declare {int} @{callee}({}) #2", types.join(", ")));
        let operands: Vec<String> = args.iter().map(Val::typed).collect();
        let text = self.op(format!("call {int} @{callee}({}) #2", operands.join(", ")));
        Val { ty, text }
    }

    /// EXEC itself: a ballot of all would do, but LLVM believes that one is never empty.
    pub(super) fn exec_mask(&mut self) -> String {
        let (_, bits) = processor::exec(self.module.mode);
        let name = format!("llvm.read_volatile_register.i{bits}");
        self.module.declare(&name, format!("declare i{bits} @{name}(metadata)"));
        let mut mask = self.op(format!("call i{bits} @{name}(metadata !0) #3"));
        if bits < 64 {
            mask = self.op(format!("zext i{bits} {mask} to i64"));
        }
        self.of_the_entry(mask)
    }

    /// A mask of lanes, without the one that runs for a wave that has none.
    pub(super) fn of_the_entry(&mut self, mask: String) -> String {
        match self.module.no_lanes {
            NoLanes::AsItComes => mask,
            NoLanes::OneLane(_) => self.op(format!("and i64 {mask}, %exec")),
        }
    }

    /// An atomic that the first of the active lanes does for the wave; all have what was there before.
    fn by_one_lane(&mut self, expr: &'u Expr, name: &str, args: &[Val], ty: Type) -> Result<Val, HookError> {
        let mask = self.target("llvm.amdgcn.ballot.i64", "i64", &["i1 true".to_owned()]);
        let low = self.op(format!("trunc i64 {mask} to i32"));
        let shifted = self.op(format!("lshr i64 {mask}, 32"));
        let high = self.op(format!("trunc i64 {shifted} to i32"));
        let below = self.target("llvm.amdgcn.mbcnt.lo", "i32", &[format!("i32 {low}"), "i32 0".to_owned()]);
        let below = self.target("llvm.amdgcn.mbcnt.hi", "i32", &[format!("i32 {high}"), format!("i32 {below}")]);
        let first = Val { ty: Type::Bool, text: self.op(format!("icmp eq i32 {below}, 0")) };
        let place = self.alloca(ll(ty));
        self.line(format!("store {} zeroinitializer, ptr addrspace(5) {place}", ll(ty)));
        let [one, all] = self.labels(["one", "all"]);
        self.branch(&first, &one, &all);
        self.begin(&one);
        let old = self.atomic(expr, name, args, ty)?;
        self.line(format!("store {}, ptr addrspace(5) {place}", old.typed()));
        self.jump(&all);
        self.begin(&all);
        let old = Val { ty, text: self.op(format!("load {}, ptr addrspace(5) {place}", ll(ty))) };
        let name = format!("llvm.amdgcn.readfirstlane.{}", suffix(ty));
        let text = self.target(&name, ll(ty), &[old.typed()]);
        Ok(Val { ty, text })
    }

    fn atomic(&mut self, expr: &Expr, name: &str, args: &[Val], ty: Type) -> Result<Val, HookError> {
        let text = match name {
            "atomic_cas" => {
                let list = args.iter().map(Val::typed).collect::<Vec<_>>().join(", ");
                let pair = self.op(format!("cmpxchg {list} {ATOMIC} monotonic, align {}", ty.bits() / 8));
                self.op(format!("extractvalue {{ {}, i1 }} {pair}, 0", ll(ty)))
            }
            atomic => {
                let op = match (atomic, ty.is_float(), ty.is_signed()) {
                    ("atomic_add", true, _) => "fadd",
                    ("atomic_add", ..) => "add",
                    ("atomic_and", ..) => "and",
                    ("atomic_or", ..) => "or",
                    ("atomic_xor", ..) => "xor",
                    ("atomic_min", false, true) => "min",
                    ("atomic_min", false, false) => "umin",
                    ("atomic_max", false, true) => "max",
                    ("atomic_max", false, false) => "umax",
                    ("atomic_exchange", ..) => "xchg",
                    _ => return self.fail(expr.at, format!("no intrinsic {name}")),
                };
                let align = ty.bits() / 8;
                self.op(format!("atomicrmw {op} {}, {} {ATOMIC}, align {align}", args[0].typed(), args[1].typed()))
            }
        };
        Ok(Val { ty, text })
    }

    pub(super) fn target(&mut self, name: &str, returns: &str, args: &[String]) -> String {
        let types: Vec<&str> = args.iter().map(|a| a.rsplit_once(' ').map_or(a.as_str(), |(t, _)| t)).collect();
        self.module.declare(name, format!("declare {returns} @{name}({})", types.join(", ")));
        self.op(format!("call {returns} @{name}({})", args.join(", ")))
    }

    /// A bit-counting intrinsic, whose result becomes a u32.
    pub(super) fn count_bits(&mut self, what: &str, flag: &str, value: &Val) -> String {
        let int = ll(value.ty);
        let name = format!("llvm.{what}.{int}");
        let signature = if flag.is_empty() { int.to_owned() } else { format!("{int}, i1") };
        self.module.declare(&name, format!("declare {int} @{name}({signature})"));
        let count = self.op(format!("call {int} @{name}({}{flag})", value.typed()));
        match value.ty.bits() {
            64 => self.op(format!("trunc i64 {count} to i32")),
            32 => count,
            _ => self.op(format!("zext {int} {count} to i32")),
        }
    }
}

/// How the type is spelled at the end of an overloaded intrinsic's name.
pub(super) fn suffix(ty: Type) -> String {
    if ty.is_float() { format!("f{}", ty.bits()) } else { format!("i{}", ty.bits()) }
}
