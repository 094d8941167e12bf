//! Which values are the same in all lanes of a wave.
//!
//! A counter lives in scalar registers, so what a hook makes of it must not differ between lanes; the same goes for the
//! arguments of `wave_atomic_add`. LLVM would quietly take the first lane's value. This analysis walks the tree with the
//! arguments' kinds, to a fixed point, and refuses such a hook. It errs on the safe side: a variable that is assigned
//! where lanes may have gone different ways counts as different, and so does everything in a local array.

use std::{cell::RefCell, collections::HashSet};

use super::ast::{Expr, ExprKind, Function, Record, Space, Stmt, StmtKind, Type, Unit};
use crate::template::{ArgSpec, HookError};

/// What lanes do, each by itself, and no lane does in a wave without active lanes: by the address in the unit.
#[derive(Default)]
pub struct OfLanes {
    /// Loads whose address may differ between lanes: their pointer expressions, or the places in a table.
    pub loads: HashSet<*const Expr>,
    /// Calls, and what acts for the wave, where lanes may have gone different ways. Within a function that is called there
    /// it is the call.
    pub acts: HashSet<*const Expr>,
    /// Loops that lanes may leave in different rounds.
    pub loops: HashSet<*const Stmt>,
}

/// Refuses a unit in which a wave-level place would get a per-lane value.
pub fn check(unit: &Unit, args: &[ArgSpec]) -> Result<OfLanes, HookError> {
    let hook = &unit.functions[0];
    let divergent: Vec<bool> = args.iter().map(is_per_lane).collect();
    // Places that hold one value for the wave.
    let scalar = hook.params.iter().zip(args).filter(|(p, a)| match a {
        ArgSpec::Slot { per_lane, .. } => !per_lane,
        ArgSpec::Value { per_lane: false, .. } => matches!(p.ty, Type::InOut(_)),
        _ => false,
    });
    let scalar: HashSet<&str> = scalar.map(|(p, _)| p.name.as_str()).collect();
    let found = RefCell::default();
    Walk::new(unit, &found, hook, &divergent, false, scalar).run()?;
    Ok(found.into_inner())
}

/// Whether the argument may differ between lanes.
pub fn is_per_lane(arg: &ArgSpec) -> bool {
    match arg {
        ArgSpec::Value { per_lane, .. } | ArgSpec::Slot { per_lane, .. } => *per_lane,
        ArgSpec::Address(shape) => shape.is_per_lane(),
        ArgSpec::InRange(shape) => shape.is_per_lane(),
        ArgSpec::Const(_) | ArgSpec::Literal | ArgSpec::Variable { .. } | ArgSpec::Bits { .. } => false,
    }
}

/// One function, called with given arguments under given control flow.
struct Walk<'a> {
    unit: &'a Unit,
    found: &'a RefCell<OfLanes>,
    function: &'a Function,
    divergent: HashSet<&'a str>,
    /// Variables of loops that lanes may have left in different rounds.
    left: HashSet<&'a str>,
    scalar: HashSet<&'a str>,
    /// Lanes may have gone different ways to get here, since the function was called.
    split: bool,
    /// ... before that: those that are here have all that the function does in common.
    called_split: bool,
    /// ... because of a jump out of the innermost loop, or out of the function.
    loop_split: bool,
    returned_split: bool,
    returns_divergent: bool,
    changed: bool,
}

impl<'a> Walk<'a> {
    fn new(
        unit: &'a Unit,
        found: &'a RefCell<OfLanes>,
        function: &'a Function,
        args: &[bool],
        called_split: bool,
        scalar: HashSet<&'a str>,
    ) -> Walk<'a> {
        let divergent = function.params.iter().zip(args).filter(|(_, d)| **d).map(|(p, _)| p.name.as_str()).collect();
        Walk {
            unit,
            found,
            function,
            divergent,
            left: HashSet::new(),
            scalar,
            split: false,
            called_split,
            loop_split: false,
            returned_split: false,
            returns_divergent: false,
            changed: true,
        }
    }

    /// Whether the returned value may differ between lanes.
    fn run(mut self) -> Result<bool, HookError> {
        while self.changed {
            self.changed = false;
            (self.split, self.returned_split) = (false, false);
            self.left.clear();
            self.block(&self.function.body)?;
        }
        Ok(self.returns_divergent || self.returned_split)
    }

    fn error<T>(&self, at: (u32, u32), message: impl Into<String>) -> Result<T, HookError> {
        Err(HookError::new(&self.function.file, at, message))
    }

    fn assigned(&mut self, name: &'a str, value: bool, at: (u32, u32)) -> Result<(), HookError> {
        let differs = value || self.here();
        if differs && self.scalar.contains(name) {
            let why = if value { "this value" } else { "whether this runs" };
            return self.error(
                at,
                format!(
                    "{name} is one value for the whole wave, and {why} can differ between lanes: \
                     count lanes with lt.popcount(lt.ballot(condition)), or take one with lt.readfirstlane(x)"
                ),
            );
        }
        if differs {
            self.changed |= self.divergent.insert(name);
        }
        Ok(())
    }

    fn here(&self) -> bool {
        self.split || self.loop_split || self.returned_split
    }

    fn block(&mut self, body: &'a [Stmt]) -> Result<(), HookError> {
        body.iter().try_for_each(|s| self.stmt(s))
    }

    /// A block that only some lanes may run when `cond` says so.
    fn branch(&mut self, body: &'a [Stmt], cond: bool) -> Result<(), HookError> {
        let before = self.split;
        self.split |= cond;
        self.block(body)?;
        self.split = before;
        Ok(())
    }

    /// Whether lanes may leave the loop in different rounds.
    fn looped(&mut self, cond: &'a Expr, extra: bool, body: &'a [Stmt]) -> Result<bool, HookError> {
        let (split, outer) = (self.split, std::mem::take(&mut self.loop_split));
        // The loop may be left by some lanes only in the second round: twice over the body.
        let mut apart = extra;
        for _ in 0..2 {
            apart |= self.expr(cond)?;
            self.split |= apart;
            self.block(body)?;
            apart |= self.loop_split;
            self.split |= apart;
        }
        self.split = split;
        self.loop_split = outer;
        Ok(apart)
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Result<(), HookError> {
        match &stmt.kind {
            StmtKind::Assign { name, value } => {
                let differs = self.expr(value)?;
                self.assigned(name, differs, stmt.at)?;
            }
            StmtKind::Array(name) => {
                self.changed |= self.divergent.insert(name);
            }
            StmtKind::Store { ptr, value } | StmtKind::Update { ptr, value } => {
                self.expr(ptr)?;
                self.expr(value)?;
            }
            StmtKind::Expr(value) => {
                self.expr(value)?;
            }
            StmtKind::If { cond, then, otherwise } => {
                let differs = self.expr(cond)?;
                self.branch(then, differs)?;
                self.branch(otherwise, differs)?;
            }
            StmtKind::While { cond, body } => {
                let apart = self.looped(cond, false, body)?;
                self.left_apart(stmt, apart);
            }
            StmtKind::For { name, start, stop, body, .. } => {
                let differs = self.expr(start)? | self.expr(stop)?;
                self.assigned(name, differs, stmt.at)?;
                // In the loop all that are still there are in the same round.
                let was = self.left.remove(name.as_str());
                let apart = self.looped(stop, differs, body)?;
                self.left_apart(stmt, apart);
                if apart || was {
                    self.left.insert(name);
                }
            }
            StmtKind::Break | StmtKind::Continue => self.loop_split |= self.here(),
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    let differs = self.expr(value)?;
                    self.returns_divergent |= differs;
                }
                self.returned_split |= self.here();
            }
        }
        Ok(())
    }

    /// Whether the value may differ between lanes.
    fn expr(&mut self, expr: &'a Expr) -> Result<bool, HookError> {
        Ok(match &expr.kind {
            ExprKind::Int(_) | ExprKind::Float(_) => false,
            ExprKind::Local(name) => self.divergent.contains(name.as_str()) || self.left.contains(name.as_str()),
            // An array's address is a lane's own, what it holds as well.
            ExprKind::Address(_) | ExprKind::Old => true,
            ExprKind::Unary { value, .. } | ExprKind::Cast(value) | ExprKind::Bitcast(value) => self.expr(value)?,
            ExprKind::Binary { left, right, .. } | ExprKind::Offset { ptr: left, index: right } => {
                self.expr(left)? | self.expr(right)?
            }
            ExprKind::Chain { first, links } => {
                let (before, mut differs) = (self.split, self.expr(first)?);
                for (_, value) in links {
                    differs |= self.expr(value)?;
                    self.split |= differs;
                }
                self.split = before;
                differs
            }
            ExprKind::Logical { values, .. } => {
                let before = self.split;
                let mut differs = false;
                for value in values {
                    differs |= self.expr(value)?;
                    self.split |= differs;
                }
                self.split = before;
                differs
            }
            ExprKind::Select { cond, then, otherwise } => {
                let (before, mut differs) = (self.split, self.expr(cond)?);
                self.split |= differs;
                differs |= self.expr(then)?;
                differs |= self.expr(otherwise)?;
                self.split = before;
                differs
            }
            ExprKind::Load(ptr) => {
                let scratch = matches!(ptr.ty, Some(Type::Ptr { space: Space::Scratch, .. }));
                let differs = self.expr(ptr)?;
                if differs {
                    self.found.borrow_mut().loads.insert(std::ptr::from_ref(ptr.as_ref()));
                }
                differs || scratch
            }
            ExprKind::Element { places, .. } => {
                let mut differ = false;
                for (_, place) in places {
                    if self.expr(place)? {
                        differ = true;
                        self.found.borrow_mut().loads.insert(std::ptr::from_ref(place));
                    }
                }
                differ
            }
            ExprKind::Call { function, args } => {
                self.acts(expr);
                self.call(expr, function, args)?
            }
            ExprKind::Intrinsic { name, args } => {
                if matches!(
                    name.as_str(),
                    "wave_atomic_add" | "wave_fetch_add" | "wave_lane_add" | "wave_exchange" | "trap"
                ) || name.starts_with("scalar_atomic_")
                {
                    self.acts(expr);
                }
                self.intrinsic(name, args)?
            }
            ExprKind::Record(record) => {
                self.acts(expr);
                self.record(record)?;
                false
            }
        })
    }

    fn left_apart(&self, stmt: &Stmt, apart: bool) {
        if apart && !self.called_split {
            self.found.borrow_mut().loops.insert(std::ptr::from_ref(stmt));
        }
    }

    fn acts(&self, expr: &Expr) {
        if self.here() && !self.called_split {
            self.found.borrow_mut().acts.insert(std::ptr::from_ref(expr));
        }
    }

    fn call(&mut self, expr: &Expr, name: &str, args: &'a [Expr]) -> Result<bool, HookError> {
        let differ = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>, _>>()?;
        let Some(callee) = self.unit.functions.iter().find(|f| f.name == name) else {
            return self.error(expr.at, format!("no function {name} in the unit"));
        };
        let split = self.here() || self.called_split;
        Walk::new(self.unit, self.found, callee, &differ, split, HashSet::new()).run()
    }

    /// What a wave records, all its lanes have to share; the channel is one in any case.
    fn record(&mut self, record: &'a Record) -> Result<(), HookError> {
        self.expr(&record.ring)?;
        for (_, value) in &record.fields {
            if self.expr(value)? && record.per_wave {
                let what = "a wave's record needs values that all lanes share, this one can differ between lanes";
                return self.error(value.at, format!("{what}; lt.record makes a record for each lane"));
            }
        }
        Ok(())
    }

    fn intrinsic(&mut self, name: &str, args: &'a [Expr]) -> Result<bool, HookError> {
        let differ = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>, _>>()?;
        let uniform: &[usize] = match name {
            "wave_atomic_add" | "wave_fetch_add" | "wave_lane_add" | "wave_exchange" => &[0, 1],
            "readlane" => &[1],
            scalar if scalar.starts_with("scalar_atomic_") => &[0, 1, 2],
            _ => &[],
        };
        if let Some(&i) = uniform.iter().find(|i| differ.get(**i) == Some(&true)) {
            let (name, hint) = match name {
                "wave_atomic_add" | "wave_fetch_add" | "wave_lane_add" => {
                    ("wave_atomic_add", "; lt.atomic_add adds for each lane")
                }
                "wave_exchange" => ("wave_atomic_exchange", "; lt.atomic_exchange stores for each lane"),
                scalar if scalar.starts_with("scalar_atomic_") => {
                    (scalar, "; lt.atomic_add and its like act for each lane")
                }
                _ => (name, ""),
            };
            return self.error(
                args[i].at,
                format!("{name} needs a value that all lanes share, this one can differ between lanes{hint}"),
            );
        }
        Ok(match name {
            "exec_mask" | "active_lanes" | "clock" | "realtime" | "ballot" | "readfirstlane" | "readlane" => false,
            place if place.starts_with("hw_") => false,
            "wave_sum" | "wave_min" | "wave_max" | "wave_any" | "wave_all" | "wave_fetch_add" => false,
            "wave_lane_add" | "wave_exchange" => false,
            scalar if scalar.starts_with("scalar_atomic_") => false,
            "lane_id" | "prefix_sum" | "match_any" | "shuffle" => true,
            atomic if atomic.starts_with("atomic_") => true,
            _ => differ.contains(&true),
        })
    }
}
