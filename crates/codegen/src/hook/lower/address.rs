//! The address that an instruction accesses, from its inputs.

use std::fmt::Write;

use luthier_isa::Mode;

use super::super::processor::{self, Buffers};
use crate::template::{AddressPart, AddressRole, AddressShape};

/// What the code calls.
pub const DECLARATIONS: [(&str, &str); 3] = [
    ("llvm.umax.i64", "declare i64 @llvm.umax.i64(i64, i64)"),
    ("llvm.amdgcn.mbcnt.lo", "declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)"),
    ("llvm.amdgcn.mbcnt.hi", "declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)"),
];

/// Writes the computation of the address into `body`; gives its text, an i64. `inputs` are the raw parts.
pub fn compute(body: &mut String, index: usize, mode: Mode, shape: &AddressShape, inputs: &[String]) -> String {
    let mut code = Code { body, index, next: 0 };
    let mut sum = "0".to_owned();
    let (mut offset, mut scalar_offset, mut record) = ("0".to_owned(), "0".to_owned(), "0".to_owned());
    let (mut resource, mut flags) = (None, None);
    for (part, input) in shape.parts.iter().zip(inputs) {
        match part.role {
            AddressRole::Term { bits, align, signed, factor } => {
                let value = code.term(part, input, bits, align, signed);
                let value = if factor == 1 { value } else { code.op("mul", &value, factor) };
                sum = code.op("add", &sum, value);
            }
            AddressRole::Resource => resource = Some(input),
            AddressRole::ResourceFlags => flags = Some(code.wide(input)),
            AddressRole::Index => record = code.wide(input),
            AddressRole::Offset => {
                let value = code.wide(input);
                offset = code.op("add", &offset, value);
            }
            AddressRole::ScalarOffset => scalar_offset = code.wide(input),
        }
    }
    if let (Some(low), Some(flags)) = (resource, flags) {
        let buffer = Buffer { low: low.clone(), flags, record, offset, scalar_offset };
        sum = code.buffer(&processor::buffers(mode), &buffer);
    }
    if shape.lane != 0 {
        let lane = code.lane();
        let lane = code.op("mul", &lane, shape.lane);
        sum = code.op("add", &sum, lane);
    }
    if shape.bits < 64 {
        sum = code.op("and", &sum, (1u64 << shape.bits) - 1);
    }
    if shape.align > 1 { code.op("and", &sum, -i64::from(shape.align)) } else { sum }
}

/// A buffer access, all numbers of 64 bits.
struct Buffer {
    /// The resource's first two words and its last.
    low: String,
    flags: String,
    record: String,
    offset: String,
    scalar_offset: String,
}

struct Code<'a> {
    body: &'a mut String,
    /// The argument's.
    index: usize,
    next: usize,
}

impl Code<'_> {
    fn line(&mut self, text: impl std::fmt::Display) -> String {
        let name = format!("%address{}.{}", self.index, self.next);
        self.next += 1;
        let _ = writeln!(self.body, "  {name} = {text}");
        name
    }

    fn op(&mut self, name: &str, left: &str, right: impl std::fmt::Display) -> String {
        self.line(format!("{name} i64 {left}, {right}"))
    }

    /// So many bits from `low` on.
    fn bits(&mut self, of: &str, low: u32, count: u32) -> String {
        let shifted = self.op("lshr", of, low);
        self.op("and", &shifted, (1u64 << count) - 1)
    }

    fn wide(&mut self, input: &str) -> String {
        self.line(format!("zext i32 {input} to i64"))
    }

    fn is_set(&mut self, value: &str) -> String {
        self.line(format!("icmp ne i64 {value}, 0"))
    }

    fn select(&mut self, condition: &str, yes: &str, no: &str) -> String {
        self.line(format!("select i1 {condition}, i64 {yes}, i64 {no}"))
    }

    fn term(&mut self, part: &AddressPart, input: &str, bits: u8, align: u8, signed: bool) -> String {
        let mut value = match (part.units, signed) {
            (1, true) => self.line(format!("sext i32 {input} to i64")),
            (1, false) => self.wide(input),
            _ => input.to_owned(),
        };
        if bits < 64 && (!signed && u32::from(bits) < 32 * u32::from(part.units)) {
            value = self.op("and", &value, (1u64 << bits) - 1);
        }
        if align > 1 { self.op("and", &value, -i64::from(align)) } else { value }
    }

    fn lane(&mut self) -> String {
        let low = self.line("call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)");
        let lane = self.line(format!("call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 {low})"));
        self.wide(&lane)
    }

    fn buffer(&mut self, is: &Buffers, at: &Buffer) -> String {
        let base = self.bits(&at.low, 0, 48);
        let mut stride = self.bits(&at.low, 48, 14);
        let adds_lane = self.bits(&at.flags, 23, 1);
        let adds_lane = self.is_set(&adds_lane);
        if is.longer_stride {
            let high = self.bits(&at.flags, 15, 4);
            let high = self.op("shl", &high, 14);
            let high = self.select(&adds_lane, &high, "0");
            stride = self.op("or", &stride, high);
        }
        if let Some(shifts) = is.stride_scales {
            let scale = self.bits(&at.flags, 18, 2);
            let amounts = shifts.iter().zip(0..).fold(0u64, |all, (shift, n)| all | u64::from(*shift) << (8 * n));
            let scale = self.op("shl", &scale, 3);
            let amount = self.line(format!("lshr i64 {amounts}, {scale}"));
            let amount = self.op("and", &amount, 255);
            stride = self.op("shl", &stride, amount);
        }
        let lane = self.lane();
        let lane = self.select(&adds_lane, &lane, "0");
        let record = self.op("add", &at.record, lane);

        let moved = self.op("add", &base, &at.scalar_offset);
        let rows = self.op("mul", &record, &stride);
        let plain = self.op("add", &moved, rows);
        let plain = self.op("add", &plain, &at.offset);

        let (low, count) = is.swizzle;
        let swizzle = self.bits(&at.low, low, count);
        let swizzled = self.is_set(&swizzle);
        // Elements of 4 bytes, or of 2 << n.
        let element = match count {
            1 => "2".to_owned(),
            _ => self.op("add", &swizzle, 1),
        };
        let element =
            if count == 1 { element } else { self.line(format!("call i64 @llvm.umax.i64(i64 {element}, i64 2)")) };
        let stripe = self.bits(&at.flags, 21, 2);
        let stripe = self.op("add", &stripe, 3);
        let (start, offset) = if is.swizzles_scalar_offset {
            let offset = self.op("add", &at.offset, &at.scalar_offset);
            (base, self.op("and", &offset, u32::MAX))
        } else {
            (moved, at.offset.clone())
        };
        let record_high = self.op("lshr", &record, &stripe);
        let whole = self.op("shl", &record_high, &stripe);
        let record_low = self.op("sub", &record, whole);
        let offset_high = self.op("lshr", &offset, &element);
        let offset_high = self.op("shl", &offset_high, &element);
        let offset_low = self.op("sub", &offset, &offset_high);
        let within = self.op("mul", &record_high, &stride);
        let within = self.op("add", &within, offset_high);
        let within = self.op("shl", &within, &stripe);
        let record_low = self.op("shl", &record_low, &element);
        let within = self.op("add", &within, record_low);
        let within = self.op("add", &within, offset_low);
        let there = self.op("add", &start, within);
        self.select(&swizzled, &there, &plain)
    }
}
