//! Vector memory and LDS instructions.

use luthier_isa::op::Op as IsaOp;

use luthier_isa::{Field, Flags, Generation, Inst, Operand, Target, Wave};

use super::{Builder, code_of};
use crate::mem::atomic::Atomic;
use crate::mem::ds_words::Words;
use crate::mem::flat::{self, Encoded, NO_BASE, NO_ROW};
use crate::mem::{
    Action, Transfer, action, buffer, ds, ds_lanes, ds_src2, ds_transpose, flat_lanes, gfx1250, global_words, gws,
    has_no_effect, lds_barrier, typed,
};
use crate::op::{Handler, Kind, Op, OpFlags, Variants};
use crate::scalar::{IMM, NONE};

/// Room for the widest access, a pair of quads.
pub(super) const WIDEST: u16 = 8;

impl Builder {
    /// FLAT, MUBUF, MTBUF, MIMG and DS instructions; false if it is none of them.
    pub(super) fn memory(&mut self, inst: &Inst) -> Result<bool, String> {
        let info = inst.info();
        if self.tensor(inst)? {
            return Ok(true);
        }
        if has_no_effect(info.op()) {
            // A coherent memory has its effects already.
        } else if info.flags.contains(Flags::DS) {
            self.ds(inst)?;
        } else if info.flags.intersects(Flags::FLAT | Flags::GLOBAL | Flags::SCRATCH) {
            self.flat(inst)?;
        } else if info.flags.intersects(Flags::MUBUF | Flags::MTBUF) {
            self.buffer(inst)?;
        } else if info.flags.contains(Flags::MIMG) {
            self.image(inst)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// The rows and scalars of a memory instruction, by field.
    fn operands(&self, inst: &Inst) -> Result<Fields, String> {
        let mut fields = Fields { addr: NO_ROW, ..Fields::default() };
        for (operand, value) in inst.operands() {
            let place = |range: luthier_isa::RegRange| {
                self.limits
                    .row_of(range.first)
                    .ok_or_else(|| format!("{}: {range} is no vector register", inst.info().mnemonic))
            };
            match (operand.field, value) {
                (Field::Vdst, Operand::Reg(range)) => {
                    fields.dst = place(range)?;
                    fields.returns = true;
                }
                (Field::Addr | Field::Vaddr, Operand::Reg(range)) => fields.addr = place(range)?,
                (Field::Vdata | Field::Data0, Operand::Reg(range)) => {
                    fields.data = place(range)?;
                    if operand.access.writes() {
                        fields.dst = fields.data;
                        fields.returns = true;
                    }
                }
                (Field::Data1, Operand::Reg(range)) => fields.data1 = place(range)?,
                (Field::Saddr, Operand::Reg(range)) => fields.saddr = code_of(range.first),
                (Field::Srsrc, Operand::Reg(range)) => fields.resource = code_of(range.first),
                (Field::Soffset, Operand::Reg(range)) => {
                    fields.soffset = code_of(range.first).map_or(NONE, u16::from);
                }
                (Field::Soffset, Operand::Special(super::NULL)) => {
                    fields.soffset = IMM;
                    fields.soffset_value = Some(0);
                }
                (Field::Soffset, constant) => {
                    fields.soffset = IMM;
                    fields.soffset_value = constant.bits(luthier_isa::DataType::I32);
                }
                _ => {}
            }
        }
        Ok(fields)
    }

    fn flat(&mut self, inst: &Inst) -> Result<(), String> {
        let info = inst.info();
        let unknown = || super::absent(info);
        let (segment, suffix) = info.base.split_once('_').ok_or_else(unknown)?;
        let fields = self.operands(inst)?;
        if let Some((run, action, widest)) = flat_lanes::lookup(info.op()) {
            if info.base.starts_with("global_load_tr") && info.mode.wave() == Wave::W64 {
                return Err(format!("how {} exchanges in waves of 64 lanes is not documented", info.mnemonic));
            }
            let op = flat_op(inst, &fields, segment, None)?;
            self.push_handler(run, Op { imm2: Encoded::new(action, 1).0, ..op }, widest);
            return Ok(());
        }
        if self.flat_of_gfx1250(inst, &fields)? {
            return Ok(());
        }
        // CDNA3 on: an opcode of its own where others have a bit.
        let (suffix, to_lds) = match suffix.strip_prefix("load_lds_") {
            Some(what) => (&*format!("load_{what}"), true),
            None => (suffix, inst.field(Field::Lds) == Some(1)),
        };
        let (action, words) = action(suffix, fields.returns).ok_or_else(unknown)?;
        let action = keeping_denormals(inst, action);
        if to_lds && (!matches!(action, Action::Load(_)) || segment == "flat") {
            return Err(unknown());
        }
        let run = match segment {
            "flat" => flat::flat as _,
            "global" => flat::global as _,
            "scratch" => flat::scratch as _,
            _ => return Err(unknown()),
        };
        if fields.addr == NO_ROW && segment != "scratch" {
            return Err(unknown());
        }
        let lds = if to_lds { u64::from(buffer::LDS | m0_width(inst)) << 32 } else { 0 };
        let imm2 = Encoded::new(action, words).0 | lds;
        let op = Op { imm2, ..flat_op(inst, &fields, segment, Some(bytes(action, words)))? };
        let signed = op.ssrc != NO_BASE && info.mode.target().generation() == Generation::Gfx1250;
        let (run, kind) = match action {
            _ if segment != "global" || to_lds => (run, Kind::OPAQUE),
            Action::Load(Transfer::Words) | Action::Store(Transfer::Words) => {
                let kind = if signed { Kind::GLOBAL_WORDS_SIGNED } else { Kind::GLOBAL_WORDS };
                (Variants::of::<global_words::Words>().select(), kind)
            }
            Action::Load(_) | Action::Store(_) => {
                (run, if signed { Kind::GLOBAL_PARTS_SIGNED } else { Kind::GLOBAL_PARTS })
            }
            Action::Atomic(..) => (run, Kind::OPAQUE),
        };
        self.push(Op { run, kind, ..op }, WIDEST);
        Ok(())
    }

    fn buffer(&mut self, inst: &Inst) -> Result<(), String> {
        let info = inst.info();
        let unknown = || super::absent(info);
        let fields = self.operands(inst)?;
        // TFE asks for a word more if the access fails for want of memory behind it, which none does here.
        let flag = |field, bit| if inst.field(field) == Some(1) { bit } else { 0 };
        let extra = flag(Field::Offen, buffer::OFFEN)
            | flag(Field::Idxen, buffer::IDXEN)
            | flag(Field::Lds, buffer::LDS)
            | m0_width(inst);
        // Stores from LDS have an opcode of their own.
        let from_lds = info.op() == IsaOp::BufferStoreLdsDword;
        let extra = if from_lds { extra | buffer::LDS } else { extra };
        let through_lds = extra & buffer::LDS != 0;
        let (run, words): (Handler, u64) = match typed::Shape::parse(info.base) {
            Some(shape) => {
                let field = |f| u64::from(inst.field(f).unwrap_or(0));
                let format = field(Field::BufFormat) | field(Field::Dfmt) | field(Field::Nfmt) << 4;
                let format = if shape.has_own_format() { format } else { 0 };
                if through_lds && !shape.loads_one_word() {
                    return Err(unknown());
                }
                let run = if through_lds { typed::to_lds } else { typed::typed as Handler };
                (run, shape.0 | u64::from(extra) | format << 16)
            }
            None if from_lds => {
                let action = Action::Store(Transfer::Words);
                (buffer::buffer, Encoded::new(action, 1).0 | u64::from(extra) << 32)
            }
            None => {
                let suffix = info.base.strip_prefix("buffer_").ok_or_else(unknown)?;
                let (action, words) = action(suffix, fields.returns).ok_or_else(unknown)?;
                let action = keeping_denormals(inst, action);
                if through_lds && !matches!(action, Action::Load(_)) {
                    return Err(unknown());
                }
                (buffer::buffer, Encoded::new(action, words).0 | u64::from(extra) << 32)
            }
        };
        let addr = if fields.addr == NO_ROW { 0 } else { fields.addr };
        if fields.addr == NO_ROW && extra & (buffer::OFFEN | buffer::IDXEN) != 0 {
            return Err(unknown());
        }
        let mut soffset = fields.soffset;
        if let Some(value) = fields.soffset_value {
            // A constant: every one of them is in the scalar file, at its own code.
            soffset = (128..=248u16)
                .find(|&code| {
                    crate::registers::inline_constant32(code as u8).map(u64::from) == Some(value & 0xffff_ffff)
                })
                .ok_or_else(unknown)?;
        }
        if soffset == NONE {
            return Err(unknown());
        }
        // What goes to or from LDS has a row of ours in between.
        let passing = if through_lds { Some(self.temp(1)?) } else { None };
        let op = Op {
            dst: passing.unwrap_or(fields.dst),
            src: [addr, passing.unwrap_or(fields.data), soffset],
            sdst: fields.resource.ok_or_else(unknown)?,
            imm: u64::from(inst.field(Field::Offset).unwrap_or(0)),
            imm2: words,
            ..Op::NOTHING
        };
        let is_plain = std::ptr::fn_addr_eq(run, buffer::buffer as Handler)
            && extra & (buffer::OFFEN | buffer::IDXEN | buffer::LDS) == buffer::OFFEN
            && !matches!(Encoded(words).action(), Action::Atomic(..));
        self.push(Op { run, kind: if is_plain { Kind::BUFFER } else { Kind::OPAQUE }, ..op }, WIDEST);
        Ok(())
    }

    /// `ds_gws_*`; false if it is something else.
    pub(super) fn global_wave_sync(&mut self, inst: &Inst) -> Result<bool, String> {
        let info = inst.info();
        let Some((run, imm2, operand)) = gws::lookup(info.op()) else { return Ok(false) };
        if inst.field(Field::Gds) != Some(1) {
            return Err(format!("{} without its gds bit is not documented", info.mnemonic));
        }
        let fields = self.operands(inst)?;
        let aligned = matches!(info.mode.target().generation(), Generation::Gfx90a | Generation::Gfx940);
        if operand && aligned && fields.addr % 2 != 0 {
            return Err(format!("{}: the hardware reads a pair, which begins at an even register", info.mnemonic));
        }
        let addr = if fields.addr == NO_ROW { 0 } else { fields.addr };
        let offset = inst.field(Field::Offset0).unwrap_or(0) & 63;
        self.push_handler(run, Op { src: [addr, 0, 0], imm: offset.into(), imm2, ..Op::NOTHING }, 1);
        Ok(true)
    }

    fn ds(&mut self, inst: &Inst) -> Result<(), String> {
        let info = inst.info();
        let unknown = || super::absent(info);
        if inst.field(Field::Gds) == Some(1) {
            return Err(format!("{} uses GDS, which the mock device does not have", info.mnemonic));
        }
        let fields = self.operands(inst)?;
        let byte = |field| inst.field(field).unwrap_or(0) & 255;
        let offset = byte(Field::Offset0) | byte(Field::Offset1) << 8;
        let mut op = Op {
            dst: fields.dst,
            src: [if fields.addr == NO_ROW { 0 } else { fields.addr }, fields.data, fields.data1],
            imm: offset.into(),
            flags: if info.base.contains("cmpstore") { OpFlags::NEW_FIRST } else { OpFlags::empty() },
            ..Op::NOTHING
        };
        let transposing = || ds_transpose::lookup(info.op()).or_else(|| gfx1250::transposing(info.op()).map(|t| t.0));
        if let Some(run) = ds_lanes::lookup(info.op(), offset).or_else(transposing) {
            if ds_lanes::reaches_all(info.op(), info.mode) {
                op.kind = Kind::of(info.op());
            }
            self.push_handler(run, op, WIDEST);
            return Ok(());
        }
        if let Some((atomic, words)) = ds_src2::parse(info.base) {
            op.dst = self.temp(u16::from(words))?;
            op.imm2 = Encoded::new(Action::Atomic(atomic, false), words).0;
            self.push_handler(ds_src2::src2, op, WIDEST);
            return Ok(());
        }
        match info.op() {
            IsaOp::DsAtomicBarrierArriveRtnB64 => self.push_handler(lds_barrier::arrive_and_return, op, WIDEST),
            IsaOp::DsAtomicAsyncBarrierArriveB64 => self.push_handler(lds_barrier::arrive_later, op, WIDEST),
            IsaOp::DsAppend => self.push_handler(ds::append, op, WIDEST),
            IsaOp::DsConsume => self.push_handler(ds::consume, op, WIDEST),
            IsaOp::DsReadAddtidB32 | IsaOp::DsWriteAddtidB32 => {
                let transfer = Transfer::Words;
                let load = info.base.contains("read") || info.base.contains("load");
                op.imm2 = Encoded::new(if load { Action::Load(transfer) } else { Action::Store(transfer) }, 1).0;
                self.push_handler(ds::add_tid, op, WIDEST);
            }
            _ => {
                let parsed = ds::parse(info.base).ok_or_else(unknown)?;
                if fields.addr == NO_ROW {
                    return Err(unknown());
                }
                op.imm2 = Encoded::new(parsed.action, parsed.words).0;
                let unit = u64::from(parsed.pair_unit);
                let twice = unit != 0;
                if twice {
                    op.imm = (u64::from(offset & 255) * unit) | ((u64::from(offset >> 8) * unit) << 32);
                }
                match (parsed.action, twice) {
                    (Action::Load(Transfer::Words) | Action::Store(Transfer::Words), false) => {
                        self.push_kernel::<Words<false>>(op, WIDEST)
                    }
                    (Action::Load(Transfer::Words) | Action::Store(Transfer::Words), true) => {
                        self.push_kernel::<Words<true>>(op, WIDEST)
                    }
                    (Action::Load(_) | Action::Store(_), false) => {
                        self.push(Op { run: ds::single, kind: Kind::DS_PARTS, ..op }, WIDEST);
                    }
                    (Action::Atomic(..), false) => self.push_handler(ds::single, op, WIDEST),
                    (_, true) => self.push_handler(ds::double, op, WIDEST),
                }
            }
        }
        Ok(())
    }
}

/// The micro-op of a FLAT, GLOBAL or SCRATCH instruction, without handler and action. `unit`: the bytes by which
/// `scale_offset` multiplies, where that is known.
pub(super) fn flat_op(inst: &Inst, fields: &Fields, segment: &str, unit: Option<u16>) -> Result<Op, String> {
    let info = inst.info();
    let has_offset = fields.addr != NO_ROW && (fields.saddr.is_some() || segment == "scratch");
    let scale = match (inst.field(Field::ScaleOffset), unit) {
        (Some(1), Some(unit)) if has_offset || unit == 1 => unit,
        (Some(1), _) => return Err(format!("{}: what scale_offset scales here is not known", info.mnemonic)),
        _ => 1,
    };
    Ok(Op {
        dst: fields.dst,
        src: [fields.addr, fields.data, scale],
        ssrc: fields.saddr.unwrap_or(NO_BASE),
        imm: flat_offset(info.mode.target().generation(), segment, inst),
        ..Op::NOTHING
    })
}

/// The offset of a FLAT, GLOBAL or SCRATCH instruction.
fn flat_offset(generation: Generation, segment: &str, inst: &Inst) -> u64 {
    let raw = inst.field(Field::Offset).unwrap_or(0);
    let signed = |bits: u32| i64::from((raw << (32 - bits)) as i32 >> (32 - bits)) as u64;
    match generation {
        Generation::Gfx12 | Generation::Gfx1250 => signed(24),
        Generation::Gfx10 if segment == "flat" => u64::from(raw & 0x7ff),
        Generation::Gfx10 => signed(12),
        _ if segment == "flat" => u64::from(raw & 0xfff),
        _ => signed(13),
    }
}

/// What an access moves, in bytes.
pub(super) fn bytes(action: Action, words: u8) -> u16 {
    match action {
        Action::Load(transfer) | Action::Store(transfer) => transfer.bytes(words) as u16,
        Action::Atomic(..) => 4 * u16::from(words),
    }
}

/// How much of M0 an address in LDS takes: gfx950 has more than 64 KB of it.
fn m0_width(inst: &Inst) -> u32 {
    if inst.info().mode.target() == Target::Gfx950 { buffer::WIDE_M0 } else { 0 }
}

/// From CDNA3 and RDNA3 on, f32 additions in global memory keep denormals.
fn keeping_denormals(inst: &Inst, action: Action) -> Action {
    match action {
        Action::Atomic(Atomic::FAddFlushed, returns)
            if !matches!(inst.info().mode.target().generation(), Generation::Gfx9 | Generation::Gfx90a) =>
        {
            Action::Atomic(Atomic::FAdd, returns)
        }
        other => other,
    }
}

#[derive(Default)]
pub(super) struct Fields {
    pub dst: u16,
    pub addr: u16,
    pub data: u16,
    data1: u16,
    pub saddr: Option<u8>,
    resource: Option<u8>,
    soffset: u16,
    soffset_value: Option<u64>,
    returns: bool,
}
