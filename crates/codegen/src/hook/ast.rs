//! The typed tree of a hook, as `python/luthier/lang` writes it in JSON.
//!
//! The front end has checked types, resolved names and made every conversion explicit, so that here nothing is left to
//! decide: operands of an operator have one type, an index may have any integer type, a condition is a `bool`.
//! Positions (`at`) are line and column, both from 1.
//!
//! ```json
//! {"schema": 1, "name": "bump", "functions": [
//!   {"name": "tool.bump", "file": "tool.py", "at": [3, 1],
//!    "params": [{"name": "count", "type": "counter", "at": [4, 10]}], "returns": null, "locals": [],
//!    "body": [{"at": [5, 5], "kind": {"assign": {"name": "count", "value":
//!      {"at": [5, 5], "type": "u64", "kind": {"binary": {"op": "add",
//!        "left": {"at": [5, 5], "type": "u64", "kind": {"local": "count"}},
//!        "right": {"at": [5, 14], "type": "u64", "kind": {"int": 1}}}}}}}}]}]}
//! ```
//!
//! The first function is the hook; the others are called by it, directly or not, and never recursively.

use serde::Deserialize;

/// The version of the schema that this module reads.
pub const SCHEMA: u32 = 1;

/// The deepest nesting of brackets that is read: some 300 operators in a row. The front end stops before that; what
/// walks a tree may call itself this deep.
const MAX_DEPTH: usize = 1000;

/// Reads a unit.
pub fn read(json: &str) -> Result<Unit, String> {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if deepest > MAX_DEPTH {
        return Err(format!("it is nested {deepest} deep, more than {MAX_DEPTH}"));
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.disable_recursion_limit();
    let unit = Unit::deserialize(&mut reader).map_err(|e| e.to_string())?;
    reader.end().map_err(|e| e.to_string())?;
    Ok(unit)
}

/// A line and a column, both from 1.
pub type At = (u32, u32);

/// A hook with the functions that it calls.
#[derive(Clone, Debug, Deserialize)]
pub struct Unit {
    pub schema: u32,
    pub name: String,
    pub functions: Vec<Function>,
    /// Numbers in memory that do not change, which [`ExprKind::Element`] reads.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// It does something for the wave that takes a lane, so that a wave without active lanes has to lend it one.
    #[serde(default)]
    pub needs_a_lane: bool,
}

/// Constants in memory.
#[derive(Clone, Debug, Deserialize)]
pub struct Table {
    pub of: Scalar,
    /// All elements, little-endian, two hexadecimal digits a byte; a `bool` has one byte.
    pub data: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Function {
    pub name: String,
    pub file: String,
    pub at: At,
    pub params: Vec<Param>,
    pub returns: Option<Type>,
    /// Every variable that is not a parameter. Arrays are zeroed where they are declared, other variables are
    /// assigned before they are read.
    pub locals: Vec<Local>,
    pub body: Vec<Stmt>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Param {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: Type,
    pub at: At,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Local {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: Type,
}

/// A type. Scalars are written as their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
    /// A parameter only; reads as a `u64`.
    Counter,
    Ptr {
        to: Scalar,
        space: Space,
    },
    Array {
        of: Scalar,
        len: u32,
    },
    /// A parameter only; reads as the scalar.
    InOut(Scalar),
}

/// The types that memory can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Type {
        match scalar {
            Scalar::Bool => Type::Bool,
            Scalar::U8 => Type::U8,
            Scalar::U16 => Type::U16,
            Scalar::U32 => Type::U32,
            Scalar::U64 => Type::U64,
            Scalar::I8 => Type::I8,
            Scalar::I16 => Type::I16,
            Scalar::I32 => Type::I32,
            Scalar::I64 => Type::I64,
            Scalar::F16 => Type::F16,
            Scalar::F32 => Type::F32,
            Scalar::F64 => Type::F64,
        }
    }
}

impl Type {
    /// What a variable of this type reads as.
    pub fn value(self) -> Type {
        match self {
            Type::Counter => Type::U64,
            Type::InOut(of) => of.into(),
            other => other,
        }
    }
    pub fn is_signed(self) -> bool {
        matches!(self, Type::I8 | Type::I16 | Type::I32 | Type::I64)
    }
    pub fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::F32 | Type::F64)
    }
    /// Bits of a value, pointers included; 0 for an array.
    pub fn bits(self) -> u32 {
        match self.value() {
            Type::Bool => 1,
            Type::U8 | Type::I8 => 8,
            Type::U16 | Type::I16 | Type::F16 => 16,
            Type::U32 | Type::I32 | Type::F32 => 32,
            Type::Ptr { space: Space::Lds | Space::Scratch, .. } => 32,
            Type::Array { .. } => 0,
            _ => 64,
        }
    }
}

/// The address spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    Global,
    Lds,
    Scratch,
    Const,
    /// Any of them, as the address says.
    Flat,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Stmt {
    pub at: At,
    pub kind: StmtKind,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StmtKind {
    /// A local, a counter or an inout parameter gets a value.
    Assign {
        name: String,
        value: Expr,
    },
    /// A local array begins, all zeros.
    Array(String),
    Store {
        ptr: Expr,
        value: Expr,
    },
    /// `*ptr = value`, in which [`ExprKind::Old`] stands for what was there; `ptr` is evaluated once.
    Update {
        ptr: Expr,
        value: Expr,
    },
    Expr(Expr),
    If {
        cond: Expr,
        then: Vec<Stmt>,
        #[serde(rename = "else")]
        otherwise: Vec<Stmt>,
    },
    While {
        cond: Expr,
        body: Vec<Stmt>,
    },
    /// Python's `for name in range(start, stop, step)`: `name` has the type of `start` and `stop`.
    For {
        name: String,
        start: Expr,
        stop: Expr,
        step: i128,
        body: Vec<Stmt>,
    },
    Break,
    Continue,
    Return(Option<Expr>),
}

#[derive(Clone, Debug, Deserialize)]
pub struct Expr {
    pub at: At,
    /// `None` for calls that give nothing.
    #[serde(rename = "type")]
    pub ty: Option<Type>,
    pub kind: ExprKind,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExprKind {
    Int(i128),
    /// The bits of the value as an f64.
    Float(u64),
    Local(String),
    /// The address of a local array's first element.
    Address(String),
    Old,
    Unary {
        op: UnaryOp,
        value: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `first op a op b ...`, each operand evaluated once and only as far as needed.
    Chain {
        first: Box<Expr>,
        links: Vec<(CompareOp, Expr)>,
    },
    Logical {
        op: LogicalOp,
        values: Vec<Expr>,
    },
    /// Only the chosen side is evaluated.
    Select {
        cond: Box<Expr>,
        then: Box<Expr>,
        #[serde(rename = "else")]
        otherwise: Box<Expr>,
    },
    /// A conversion of the value to the expression's type.
    Cast(Box<Expr>),
    /// The same bits.
    Bitcast(Box<Expr>),
    Load(Box<Expr>),
    /// An element of a table of the unit, by its place in each dimension; zero for one that the table does not have.
    Element {
        table: usize,
        /// How many there are in the dimension, and which is meant.
        places: Vec<(u32, Expr)>,
    },
    /// `ptr + index` in elements.
    Offset {
        ptr: Box<Expr>,
        index: Box<Expr>,
    },
    Call {
        function: String,
        args: Vec<Expr>,
    },
    Intrinsic {
        name: String,
        args: Vec<Expr>,
    },
    Record(Record),
}

/// Records that are put into a channel's ring (see `lower::record`).
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// Where the ring is, in global memory.
    pub ring: Box<Expr>,
    /// In records: a power of two, at least 64.
    pub capacity: u32,
    pub when_full: WhenFull,
    /// One record for the wave, of values that all lanes share, instead of one for each lane.
    pub per_wave: bool,
    /// Bytes of a record.
    pub size: u32,
    /// Where in a record its stamp is.
    pub stamp: u32,
    /// Where its values are.
    pub fields: Vec<(u32, Expr)>,
}

/// What becomes of records that find no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenFull {
    /// They wait until the host has read.
    Wait,
    /// They are counted.
    Drop,
    /// They take the place of the oldest.
    Overwrite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnaryOp {
    Neg,
    Not,
    Invert,
}

/// Wrapping arithmetic; `FloorDiv` and `Mod` as in Python, 0 when the divisor is 0; the shifts' right operand may have
/// any integer type, and shifting by the width or more shifts everything out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogicalOp {
    And,
    Or,
}
