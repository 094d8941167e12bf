//! The address that an instruction accesses, from its inputs.

use std::fmt::Write;

use luthier_isa::Mode;

use super::super::processor::{self, Bounds, Buffers};
use crate::template::{AddressPart, AddressRole, AddressShape, RangeShape};

/// What the code calls.
pub const DECLARATIONS: [(&str, &str); 4] = [
    ("llvm.umax.i64", "declare i64 @llvm.umax.i64(i64, i64)"),
    ("llvm.usub.sat.i64", "declare i64 @llvm.usub.sat.i64(i64, i64)"),
    ("llvm.amdgcn.mbcnt.lo", "declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)"),
    ("llvm.amdgcn.mbcnt.hi", "declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)"),
];

/// Writes the computation of the address into `body`; gives its text, an i64. `inputs` are the raw parts.
pub fn compute(body: &mut String, index: usize, mode: Mode, shape: &AddressShape, inputs: &[String]) -> String {
    let mut code = Code { body, index, next: 0 };
    let Read { mut sum, buffer } = code.read(&shape.parts, inputs);
    if let Some(buffer) = buffer {
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

/// The same of whether the access is in its buffer: an i32, 0 or 1.
pub fn in_range(body: &mut String, index: usize, mode: Mode, shape: &RangeShape, inputs: &[String]) -> String {
    let mut code = Code { body, index, next: 0 };
    let Read { sum, buffer } = code.read(&shape.parts, inputs);
    let inside = match (buffer, shape.scalar) {
        (Some(buffer), Some(align)) => {
            let size = code.scalar_size(&processor::buffers(mode), &buffer);
            let first = code.op("and", &sum, -i64::from(align));
            let begins = code.line(format!("icmp ule i64 {first}, {size}"));
            let left = code.op("sub", &size, &first);
            let ends = code.line(format!("icmp uge i64 {left}, {}", shape.bytes));
            code.line(format!("and i1 {begins}, {ends}"))
        }
        (Some(buffer), None) => {
            let outside = code.outside(&processor::buffers(mode), &buffer, shape.bytes);
            code.line(format!("xor i1 {outside}, true"))
        }
        (None, _) => "true".to_owned(),
    };
    code.line(format!("zext i1 {inside} to i32"))
}

/// The parts of a shape: the sum of its terms, and what a resource describes.
struct Read {
    sum: String,
    buffer: Option<Buffer>,
}

/// A buffer access, all numbers of 64 bits.
struct Buffer {
    /// The resource's first two words, what says how many records there are, and its last word.
    low: String,
    records: String,
    flags: String,
    record: String,
    offset: String,
    scalar_offset: String,
}

/// How a buffer's records lie: how far apart, and which one a lane's is, whose own number may be added.
struct Strided {
    stride: String,
    adds_lane: String,
    record: String,
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

    /// `count` bits from `low` on.
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

    fn read(&mut self, parts: &[AddressPart], inputs: &[String]) -> Read {
        let zero = || "0".to_owned();
        let mut sum = zero();
        let mut buffer = Buffer {
            low: zero(),
            records: zero(),
            flags: zero(),
            record: zero(),
            offset: zero(),
            scalar_offset: zero(),
        };
        let mut has_resource = false;
        for (part, input) in parts.iter().zip(inputs) {
            match part.role {
                AddressRole::Term { bits, align, signed, factor } => {
                    let value = self.term(part, input, bits, align, signed);
                    let value = if factor == 1 { value } else { self.op("mul", &value, factor) };
                    sum = self.op("add", &sum, value);
                }
                AddressRole::Resource => {
                    has_resource = true;
                    buffer.low.clone_from(input);
                }
                AddressRole::Records if part.units == 2 => buffer.records.clone_from(input),
                AddressRole::Records => buffer.records = self.wide(input),
                AddressRole::ResourceFlags => buffer.flags = self.wide(input),
                AddressRole::Index => buffer.record = self.wide(input),
                AddressRole::Offset => {
                    let value = self.wide(input);
                    buffer.offset = self.op("add", &buffer.offset, value);
                }
                AddressRole::ScalarOffset => buffer.scalar_offset = self.wide(input),
            }
        }
        Read { sum, buffer: has_resource.then_some(buffer) }
    }

    fn lane(&mut self) -> String {
        let low = self.line("call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)");
        let lane = self.line(format!("call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 {low})"));
        self.wide(&lane)
    }

    /// The records' distance, and the record of each lane.
    fn stride(&mut self, is: &Buffers, at: &Buffer) -> Strided {
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
        Strided { stride, adds_lane, record }
    }

    /// An i1: some of an access's `bytes` lie outside the buffer.
    fn outside(&mut self, is: &Buffers, at: &Buffer, bytes: u16) -> String {
        let end = self.op("add", &at.offset, bytes);
        if is.bounds == Bounds::Bytes {
            // 45 bits over the two halves.
            let low = self.bits(&at.low, 57, 7);
            let high = self.op("shl", &at.records, 7);
            let records = self.op("or", &low, high);
            return self.past(&end, &records, &at.scalar_offset);
        }
        let Strided { stride, adds_lane, record } = self.stride(is, at);
        let (low, count) = is.swizzle;
        let swizzle = self.bits(&at.low, low, count);
        let swizzled = self.is_set(&swizzle);
        let dense = self.line(format!("icmp eq i64 {stride}, 0"));
        let past_records = self.line(format!("icmp uge i64 {record}, {}", at.records));
        let past_end = self.line(format!("icmp ugt i64 {end}, {stride}"));
        let of_records = self.line(format!("or i1 {past_records}, {past_end}"));
        if is.bounds == Bounds::Fixed {
            let rows = self.op("mul", &record, &stride);
            let rows = self.select(&swizzled, "0", &rows);
            let end = self.op("add", &end, rows);
            let all = self.op("mul", &at.records, &stride);
            let all = self.select(&dense, &at.records, &all);
            let of_bytes = self.past(&end, &all, &at.scalar_offset);
            let by_records = self.line(format!("or i1 {swizzled}, {adds_lane}"));
            let strided = self.line(format!("xor i1 {dense}, true"));
            let by_records = self.line(format!("and i1 {by_records}, {strided}"));
            return self.line(format!("select i1 {by_records}, i1 {of_records}, i1 {of_bytes}"));
        }
        let of_bytes = self.past(&end, &at.records, &at.scalar_offset);
        let strided = self.line(format!("xor i1 {dense}, true"));
        let swizzled = self.line(format!("and i1 {swizzled}, {strided}"));
        let raw = self.line(format!("select i1 {swizzled}, i1 {of_records}, i1 {of_bytes}"));
        let empty = self.line(format!("icmp eq i64 {}, 0", at.records));
        let rule = self.bits(&at.flags, 28, 2);
        let mut found = raw;
        for (number, outside) in [(0, &of_records), (1, &past_records), (2, &empty)] {
            let chosen = self.line(format!("icmp eq i64 {rule}, {number}"));
            found = self.line(format!("select i1 {chosen}, i1 {outside}, i1 {found}"));
        }
        found
    }

    /// An i1: `end` is greater than what remains of `bytes` behind the scalar offset.
    fn past(&mut self, end: &str, bytes: &str, scalar_offset: &str) -> String {
        let left = self.line(format!("call i64 @llvm.usub.sat.i64(i64 {bytes}, i64 {scalar_offset})"));
        self.line(format!("icmp ugt i64 {end}, {left}"))
    }

    /// The bytes of a buffer that scalar instructions read.
    fn scalar_size(&mut self, is: &Buffers, at: &Buffer) -> String {
        if is.bounds == Bounds::Bytes {
            let low = self.bits(&at.low, 57, 7);
            let high = self.op("shl", &at.records, 7);
            return self.op("or", &low, high);
        }
        let stride = self.bits(&at.low, 48, 14);
        let dense = self.line(format!("icmp eq i64 {stride}, 0"));
        let all = self.op("mul", &at.records, &stride);
        self.select(&dense, &at.records, &all)
    }

    fn buffer(&mut self, is: &Buffers, at: &Buffer) -> String {
        let base = self.bits(&at.low, 0, 48);
        let Strided { stride, record, .. } = self.stride(is, at);

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
