//! Expressions: values.

use super::{
    super::ast::{At, CompareOp, Expr, ExprKind, LogicalOp, Space, Type, UnaryOp},
    Body, Val, ll, ll_memory,
};
use crate::template::HookError;

impl<'u> Body<'_, 'u> {
    pub(super) fn expr(&mut self, expr: &'u Expr) -> Result<Val, HookError> {
        match self.expr_or_void(expr)? {
            Some(value) => Ok(value),
            None => self.fail(expr.at, "this has no value"),
        }
    }

    pub(super) fn expr_or_void(&mut self, expr: &'u Expr) -> Result<Option<Val>, HookError> {
        if let ExprKind::Call { function, args } = &expr.kind {
            return self.call(expr, function, args);
        }
        if let ExprKind::Intrinsic { name, args } = &expr.kind {
            return self.intrinsic(expr, name, args);
        }
        if let ExprKind::Record(record) = &expr.kind {
            return self.record(expr, record);
        }
        let Some(ty) = expr.ty else {
            return self.fail(expr.at, "this has no type");
        };
        let text = match &expr.kind {
            ExprKind::Int(value) => self.int(*value, ty, expr.at)?,
            ExprKind::Float(bits) => self.float(f64::from_bits(*bits), ty, expr.at)?,
            ExprKind::Local(name) => {
                let var = self.var(name, expr.at)?;
                self.op(format!("load {}, ptr addrspace(5) {}", ll(var.ty), var.place))
            }
            ExprKind::Address(name) => self.var(name, expr.at)?.place,
            ExprKind::Old => match &self.old {
                Some(old) => old.text.clone(),
                None => return self.fail(expr.at, "nothing is being updated here"),
            },
            ExprKind::Unary { op, value } => {
                let value = self.expr(value)?;
                match op {
                    UnaryOp::Neg if ty.is_float() => self.op(format!("fneg {}", value.typed())),
                    UnaryOp::Neg => self.op(format!("sub {} 0, {}", ll(ty), value.text)),
                    UnaryOp::Not => self.op(format!("xor {}, true", value.typed())),
                    UnaryOp::Invert => self.op(format!("xor {}, -1", value.typed())),
                }
            }
            ExprKind::Binary { op, left, right } => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                return self.binary(*op, &left, &right, expr.at).map(Some);
            }
            ExprKind::Chain { first, links } => {
                let mut left = self.expr(first)?;
                return self
                    .shortcut(LogicalOp::And, links, |body, (op, right)| {
                        let right = body.expr(right)?;
                        let holds = body.compare(*op, &left, &right);
                        left = right;
                        Ok(holds)
                    })
                    .map(Some);
            }
            ExprKind::Logical { op, values } => {
                return self.shortcut(*op, values, |body, value| body.expr(value)).map(Some);
            }
            ExprKind::Select { cond, then, otherwise } => self.select(cond, then, otherwise, ty)?,
            ExprKind::Cast(value) => {
                let value = self.expr(value)?;
                return self.cast(value, ty, expr.at).map(Some);
            }
            ExprKind::Bitcast(value) => {
                let value = self.expr(value)?;
                self.op(format!("bitcast {} to {}", value.typed(), ll(ty)))
            }
            ExprKind::Load(ptr) => {
                let own = self.is_of_lanes(|found| found.loads.contains(&std::ptr::from_ref(ptr.as_ref())));
                let ptr = self.expr(ptr)?;
                let scratch = matches!(ptr.ty, Type::Ptr { space: Space::Scratch, .. });
                if own && !scratch {
                    return self.with_lanes(|body| body.load(&ptr, expr.at).map(Some));
                }
                return self.load(&ptr, expr.at).map(Some);
            }
            ExprKind::Element { table, places } => return self.element(*table, places, ty, expr.at).map(Some),
            ExprKind::Offset { ptr, index } => {
                let (ptr, index) = (self.expr(ptr)?, self.expr(index)?);
                self.offset(&ptr, index, expr.at)?
            }
            ExprKind::Call { .. } | ExprKind::Intrinsic { .. } | ExprKind::Record(_) => {
                unreachable!("handled above")
            }
        };
        Ok(Some(Val { ty, text }))
    }

    fn int(&self, value: i128, ty: Type, at: At) -> Result<String, HookError> {
        Ok(match ty {
            Type::Bool => (value != 0).to_string(),
            Type::Array { .. } | Type::F16 | Type::F32 | Type::F64 | Type::Ptr { .. } => {
                return self.fail(at, "an integer constant needs an integer type");
            }
            // LLVM reads the bits, as a signed number of the type's width.
            ty => (value << (128 - ty.bits()) >> (128 - ty.bits())).to_string(),
        })
    }

    fn float(&mut self, value: f64, ty: Type, at: At) -> Result<String, HookError> {
        Ok(match ty {
            Type::F64 => format!("{:#018X}", value.to_bits()).replacen("0X", "0x", 1),
            Type::F32 => format!("{:#018X}", f64::from(value as f32).to_bits()).replacen("0X", "0x", 1),
            Type::F16 => self.op(format!("fptrunc double 0x{:016X} to half", value.to_bits())),
            _ => return self.fail(at, "a float constant needs a float type"),
        })
    }

    /// Values joined by and/or; the later ones are evaluated only while the earlier ones leave it open, where that can
    /// be told.
    fn shortcut<T>(
        &mut self,
        op: LogicalOp,
        parts: &'u [T],
        mut value: impl FnMut(&mut Self, &'u T) -> Result<Val, HookError>,
    ) -> Result<Val, HookError>
    where
        T: Effects,
    {
        let stop = if op == LogicalOp::And { "false" } else { "true" };
        let result = self.alloca("i1");
        let [out] = self.labels(["decided"]);
        let mut branched = false;
        let mut so_far: Option<Val> = None;
        for part in parts {
            if let (Some(val), true) = (&so_far, part.matters()) {
                // Leave here with what is known.
                let [more] = self.labels(["more"]);
                self.line(format!("store i1 {}, ptr addrspace(5) {result}", val.text));
                let val = val.clone();
                match op {
                    LogicalOp::And => self.branch(&val, &more, &out),
                    LogicalOp::Or => self.branch(&val, &out, &more),
                }
                self.begin(&more);
                branched = true;
                so_far = None;
            }
            let right = value(self, part)?;
            so_far = Some(match so_far {
                None => right,
                // `select` and not `and`: the second value may be poison when the first decides.
                Some(left) if stop == "false" => {
                    self.bool_op(format!("select i1 {}, i1 {}, i1 false", left.text, right.text))
                }
                Some(left) => self.bool_op(format!("select i1 {}, i1 true, i1 {}", left.text, right.text)),
            });
        }
        let last = so_far.unwrap_or(Val { ty: Type::Bool, text: "true".to_owned() });
        if !branched {
            return Ok(last);
        }
        self.line(format!("store i1 {}, ptr addrspace(5) {result}", last.text));
        self.jump(&out);
        self.begin(&out);
        Ok(self.bool_op(format!("load i1, ptr addrspace(5) {result}")))
    }

    fn bool_op(&mut self, text: String) -> Val {
        Val { ty: Type::Bool, text: self.op(text) }
    }

    fn select(&mut self, cond: &'u Expr, then: &'u Expr, otherwise: &'u Expr, ty: Type) -> Result<String, HookError> {
        let cond = self.expr(cond)?;
        if !then.matters() && !otherwise.matters() {
            let (then, otherwise) = (self.expr(then)?, self.expr(otherwise)?);
            return Ok(self.op(format!("select i1 {}, {}, {}", cond.text, then.typed(), otherwise.typed())));
        }
        let result = self.alloca(ll(ty));
        let [yes, no, out] = self.labels(["yes", "no", "chosen"]);
        self.branch(&cond, &yes, &no);
        for (label, side) in [(&yes, then), (&no, otherwise)] {
            self.begin(label);
            let value = self.expr(side)?;
            self.line(format!("store {}, ptr addrspace(5) {result}", value.typed()));
            self.jump(&out);
        }
        self.begin(&out);
        Ok(self.op(format!("load {}, ptr addrspace(5) {result}", ll(ty))))
    }

    pub(super) fn compare(&mut self, op: CompareOp, left: &Val, right: &Val) -> Val {
        use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let ty = left.ty;
        let (kind, predicate) = if ty.is_float() {
            // Python's: every comparison with a NaN is false, but != is true.
            (
                "fcmp",
                match op {
                    Eq => "oeq",
                    Ne => "une",
                    Lt => "olt",
                    Le => "ole",
                    Gt => "ogt",
                    Ge => "oge",
                },
            )
        } else if ty.is_signed() {
            (
                "icmp",
                match op {
                    Eq => "eq",
                    Ne => "ne",
                    Lt => "slt",
                    Le => "sle",
                    Gt => "sgt",
                    Ge => "sge",
                },
            )
        } else {
            (
                "icmp",
                match op {
                    Eq => "eq",
                    Ne => "ne",
                    Lt => "ult",
                    Le => "ule",
                    Gt => "ugt",
                    Ge => "uge",
                },
            )
        };
        self.bool_op(format!("{kind} {predicate} {}, {}", left.typed(), right.text))
    }

    pub(super) fn load(&mut self, ptr: &Val, at: At) -> Result<Val, HookError> {
        let Type::Ptr { to, .. } = ptr.ty else {
            return self.fail(at, "a load needs a pointer");
        };
        let ty = Type::from(to);
        let align = ty.bits().div_ceil(8);
        let text = self.op(format!("load {}, {}, align {align}", ll_memory(to), ptr.typed()));
        Ok(if ty == Type::Bool { self.bool_op(format!("icmp ne i8 {text}, 0")) } else { Val { ty, text } })
    }

    fn offset(&mut self, ptr: &Val, index: Val, at: At) -> Result<String, HookError> {
        let Type::Ptr { to, space } = ptr.ty else {
            return self.fail(at, "only a pointer has an offset");
        };
        let wide = match space {
            Space::Lds | Space::Scratch => Type::I32,
            Space::Global | Space::Const | Space::Flat => Type::I64,
        };
        // The bits are what counts: the index is extended by its own sign.
        let index = self.cast(index, wide, at)?;
        Ok(self.op(format!("getelementptr {}, {}, {}", ll_memory(to), ptr.typed(), index.typed())))
    }

    fn call(&mut self, expr: &'u Expr, name: &str, args: &'u [Expr]) -> Result<Option<Val>, HookError> {
        let Some(index) = self.module.unit.functions.iter().position(|f| f.name == name) else {
            return self.fail(expr.at, format!("no function {name} in the unit"));
        };
        let returns = self.module.unit.functions[index].returns;
        let mut list = Vec::new();
        for arg in args {
            list.push(self.expr(arg)?.typed());
        }
        list.extend(self.module.exec_argument());
        let list = list.join(", ");
        let call = |body: &mut Self| match returns {
            Some(ty) => Some(Val { ty, text: body.op(format!("call {} @f{index}({list})", ll(ty))) }),
            None => {
                body.line(format!("call void @f{index}({list})"));
                None
            }
        };
        match self.is_of_lanes(|found| found.acts.contains(&std::ptr::from_ref(expr))) {
            true => self.with_lanes(|body| Ok(call(body))),
            false => Ok(call(self)),
        }
    }
}

/// Whether it matters that something is evaluated only when its turn comes: it may store, wait, read memory that is
/// not there, or cost much. What does not matter is computed without a branch.
trait Effects {
    fn matters(&self) -> bool;
}

impl Effects for Expr {
    fn matters(&self) -> bool {
        match &self.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Local(_) | ExprKind::Address(_) | ExprKind::Old => false,
            ExprKind::Unary { value, .. } | ExprKind::Cast(value) | ExprKind::Bitcast(value) => value.matters(),
            ExprKind::Binary { op, left, right } => {
                use super::super::ast::BinaryOp::{Div, FloorDiv, Mod};
                matches!(op, Div | FloorDiv | Mod) || left.matters() || right.matters()
            }
            ExprKind::Offset { ptr, index } => ptr.matters() || index.matters(),
            ExprKind::Chain { first, links } => first.matters() || links.iter().any(|(_, v)| v.matters()),
            ExprKind::Logical { values, .. } => values.iter().any(Effects::matters),
            ExprKind::Select { cond, then, otherwise } => cond.matters() || then.matters() || otherwise.matters(),
            ExprKind::Load(_) | ExprKind::Element { .. } | ExprKind::Call { .. } | ExprKind::Record(_) => true,
            ExprKind::Intrinsic { name, args } => {
                let pure =
                    matches!(name.as_str(), "lane_id" | "popcount" | "ctz" | "clz" | "abs" | "min" | "max" | "floor");
                !pure || args.iter().any(Effects::matters)
            }
        }
    }
}

impl Effects for (CompareOp, Expr) {
    fn matters(&self) -> bool {
        self.1.matters()
    }
}
