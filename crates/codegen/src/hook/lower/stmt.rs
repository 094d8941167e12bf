//! Statements: variables and control flow.

use super::{
    super::ast::{At, CompareOp, Expr, Space, Stmt, StmtKind, Type},
    Body, Val, ll,
};
use crate::template::HookError;

impl<'u> Body<'_, 'u> {
    /// The whole function.
    pub(super) fn run(&mut self) -> Result<(), HookError> {
        let function = self.function;
        self.block(&function.body)?;
        if !self.ended {
            match function.returns {
                // The front end has made sure that this is not reached.
                Some(ty) => self.line(format!("ret {} poison", ll(ty))),
                None => self.line("ret void"),
            }
        }
        Ok(())
    }

    fn block(&mut self, body: &'u [Stmt]) -> Result<(), HookError> {
        for stmt in body {
            if self.ended {
                return Ok(()); // after break, continue or return
            }
            self.stmt(stmt)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &'u Stmt) -> Result<(), HookError> {
        self.at = stmt.at;
        if self.is_of_lanes(|found| found.loops.contains(&std::ptr::from_ref(stmt))) {
            return self.with_lanes(|body| body.plain(stmt).map(|()| None)).map(drop);
        }
        self.plain(stmt)
    }

    /// A statement, whether there are lanes or not.
    fn plain(&mut self, stmt: &'u Stmt) -> Result<(), HookError> {
        match &stmt.kind {
            StmtKind::Assign { name, value } => {
                let value = self.expr(value)?;
                let var = self.var(name, stmt.at)?;
                if matches!(var.ty, Type::Array { .. }) {
                    return self.fail(stmt.at, format!("{name} is an array"));
                }
                self.line(format!("store {}, ptr addrspace(5) {}", value.typed(), var.place));
            }
            StmtKind::Array(name) => {
                let var = self.var(name, stmt.at)?;
                let Type::Array { of, len } = var.ty else {
                    return self.fail(stmt.at, format!("{name} is no array"));
                };
                let ty = format!("[{len} x {}]", super::ll_memory(of));
                self.line(format!("store {ty} zeroinitializer, ptr addrspace(5) {}", var.place));
            }
            StmtKind::Store { ptr, value } => {
                let ptr = self.expr(ptr)?;
                let value = self.expr(value)?;
                self.effect(&ptr, |body| body.store(&ptr, value, stmt.at))?;
            }
            StmtKind::Update { ptr, value } => {
                let ptr = self.expr(ptr)?;
                self.effect(&ptr, |body| {
                    let old = body.load(&ptr, stmt.at)?;
                    let outer = body.old.replace(old);
                    let value = body.expr(value)?;
                    body.old = outer;
                    body.store(&ptr, value, stmt.at)
                })?;
            }
            StmtKind::Expr(value) => {
                self.expr_or_void(value)?;
            }
            StmtKind::If { cond, then, otherwise } => self.if_else(cond, then, otherwise)?,
            StmtKind::While { cond, body } => {
                let [head, inside, out] = self.labels(["while", "do", "done"]);
                self.jump(&head);
                self.begin(&head);
                let cond = self.expr(cond)?;
                self.branch(&cond, &inside, &out);
                self.begin(&inside);
                self.loops.push((head.clone(), out.clone()));
                self.block(body)?;
                self.loops.pop();
                self.jump(&head);
                self.begin(&out);
            }
            StmtKind::For { name, start, stop, step, body } => self.range(stmt.at, name, start, stop, *step, body)?,
            StmtKind::Break | StmtKind::Continue => {
                let Some((again, out)) = self.loops.last().cloned() else {
                    return self.fail(stmt.at, "break or continue outside a loop");
                };
                self.jump(if matches!(stmt.kind, StmtKind::Break) { &out } else { &again });
            }
            StmtKind::Return(None) => {
                self.line("ret void");
                self.ended = true;
            }
            StmtKind::Return(Some(value)) => {
                let value = self.expr(value)?;
                self.line(format!("ret {}", value.typed()));
                self.ended = true;
            }
        }
        Ok(())
    }

    fn if_else(&mut self, cond: &'u Expr, then: &'u [Stmt], otherwise: &'u [Stmt]) -> Result<(), HookError> {
        let cond = self.expr(cond)?;
        let [yes, no, out] = self.labels(["then", "else", "endif"]);
        self.branch(&cond, &yes, if otherwise.is_empty() { &out } else { &no });
        self.begin(&yes);
        self.block(then)?;
        let left_both = self.ended && !otherwise.is_empty();
        self.jump(&out);
        if !otherwise.is_empty() {
            self.begin(&no);
            self.block(otherwise)?;
            if left_both && self.ended {
                return Ok(()); // nothing comes to the end
            }
            self.jump(&out);
        }
        self.begin(&out);
        Ok(())
    }

    /// `for name in range(start, stop, step)`. The count runs beside the variable, which the body may change, and the
    /// loop ends before the count would wrap around.
    fn range(
        &mut self,
        at: At,
        name: &'u str,
        start: &'u Expr,
        stop: &'u Expr,
        step: i128,
        body: &'u [Stmt],
    ) -> Result<(), HookError> {
        let (start, stop) = (self.expr(start)?, self.expr(stop)?);
        let var = self.var(name, at)?;
        let ty = start.ty;
        if step == 0 || ty.is_float() || ty.bits() < 8 || var.ty != ty || stop.ty != ty {
            return self.fail(at, "a range needs integers of one type and a step other than 0");
        }
        let int = ll(ty);
        let count = self.alloca(int);
        self.line(format!("store {}, ptr addrspace(5) {count}", start.typed()));
        let [inside, latch, next, out] = self.labels(["for", "latch", "next", "done"]);
        let up = step > 0;
        let begins = self.compare(if up { CompareOp::Lt } else { CompareOp::Gt }, &start, &stop);
        self.branch(&begins, &inside, &out);

        self.begin(&inside);
        let now = self.op(format!("load {int}, ptr addrspace(5) {count}"));
        self.line(format!("store {int} {now}, ptr addrspace(5) {}", var.place));
        self.loops.push((latch.clone(), out.clone()));
        self.block(body)?;
        self.loops.pop();
        self.jump(&latch);

        self.begin(&latch);
        let now = Val { ty, text: self.op(format!("load {int}, ptr addrspace(5) {count}")) };
        // A step that does not fit the type ends the loop after the first round.
        let size = step.unsigned_abs();
        let fits = size < 1u128 << ty.bits();
        let (more, size) = if size == 1 {
            (None, "1".to_owned())
        } else {
            let (high, low) = if up { (&stop, &now) } else { (&now, &stop) };
            let left = self.op(format!("sub {int} {}, {}", high.text, low.text));
            let size = if fits { arith_constant(size, ty) } else { "-1".to_owned() };
            let more = self.op(format!("icmp ugt {int} {left}, {size}"));
            (Some(Val { ty: Type::Bool, text: more }), size)
        };
        if let Some(more) = more {
            self.branch(&more, &next, &out);
            self.begin(&next);
        }
        let then = self.op(format!("{} {int} {}, {size}", if up { "add" } else { "sub" }, now.text));
        self.line(format!("store {int} {then}, ptr addrspace(5) {count}"));
        if step.unsigned_abs() == 1 {
            let more = self.op(format!("icmp ne {int} {then}, {}", stop.text));
            self.branch(&Val { ty: Type::Bool, text: more }, &inside, &out);
        } else {
            self.jump(&inside);
        }
        self.begin(&out);
        Ok(())
    }

    /// A change of what `ptr` points to, which is not made where no lane is active. What is in scratch is the hook's.
    fn effect(&mut self, ptr: &Val, change: impl FnOnce(&mut Self) -> Result<(), HookError>) -> Result<(), HookError> {
        if matches!(ptr.ty, Type::Ptr { space: Space::Scratch, .. }) {
            return change(self);
        }
        self.with_lanes(|body| change(body).map(|()| None)).map(drop)
    }

    fn store(&mut self, ptr: &Val, value: Val, at: At) -> Result<(), HookError> {
        let Type::Ptr { to, .. } = ptr.ty else {
            return self.fail(at, "a store needs a pointer");
        };
        let value = if value.ty == Type::Bool { self.widen_bool(value) } else { value };
        let align = Type::from(to).bits().div_ceil(8);
        self.line(format!("store {}, {}, align {align}", value.typed(), ptr.typed()));
        Ok(())
    }

    fn widen_bool(&mut self, value: Val) -> Val {
        Val { ty: Type::U8, text: self.op(format!("zext i1 {} to i8", value.text)) }
    }
}

fn arith_constant(value: u128, ty: Type) -> String {
    let bits = ty.bits();
    let value = value as i128;
    (if value >> (bits - 1) & 1 == 1 { value - (1 << bits) } else { value }).to_string()
}
