//! Vector ALU and matrix instructions: sources into rows, the handler, then what its modifiers ask for.

use luthier_isa::op::Op as IsaOp;

use luthier_isa::{DataType, Field, Flags, Format, Generation, Inst, OpcodeInfo, Operand, OperandInfo, Part, Target};

use super::finish::{
    FloatType, Merge, Modify16, Modify32, Modify64, first_type, makes_bf16, result_type, rounds_to_nearest,
    takes_modifiers,
};
use super::prepare::*;
use super::scalar::special_constant;
use super::{Builder, code_of, destination_of};
use crate::op::{Handler, Kind, Op, OpFlags, RawMods};
use crate::registers::{inline_constant_f16, inline_constant32, rows, scalar};
use crate::registry::ValuOp;
use crate::valu::unit32::is_known_on;

impl Builder {
    pub(super) fn vector(&mut self, inst: &Inst, valu: ValuOp) -> Result<(), String> {
        let info = inst.info();
        if let Some(steps) = crate::valu::rdna::steps(info.op()) {
            return self.relative(inst, steps);
        }
        if info.flags.contains(Flags::WMMA)
            && info.mode.target().generation() == Generation::Gfx1250
            && !crate::matrix::is_of_gfx1250(info.op())
        {
            return Err(format!("{} is RDNA4's, and not documented for this processor", info.mnemonic));
        }
        if matches!(info.op(), IsaOp::VNop | IsaOp::VClrexcp) {
            // Whatever lanes DPP names: nothing is read.
            self.push_handler(valu.variants.select(), Op::NOTHING, rows::SLACK);
            return Ok(());
        }
        let modified = |field| inst.field(field).unwrap_or(0) != 0;
        let generation = info.mode.target().generation();
        // Matrix operations have no regard for CLAMP where it has been measured: see [`crate::matrix`].
        let ignores = info.flags.contains(Flags::WMMA) && matches!(generation, Generation::Gfx11 | Generation::Gfx12);
        if makes_bf16(info.base) && !ignores && (modified(Field::Clamp) || modified(Field::Omod)) {
            return Err(format!("{}: clamp and omod of a bf16 result are not modelled", info.mnemonic));
        }
        let dpp = info.flags.contains(Flags::DPP);
        let sdwa = info.flags.contains(Flags::SDWA);
        let base = info.op().name();
        let mut op = Op { imm2: valu.variant, flags: differences(inst), ..Op::NOTHING };
        if base.starts_with("v_cmpx") {
            op.sdst = scalar::EXEC;
        }
        if info.flags.contains(Flags::WMMA) && (base.ends_with("_f8f6f4") || base.ends_with("x128_f4")) {
            op.imm2 = crate::matrix::controls(inst)?;
        }
        let (mut target, mut target_units, mut part) = (None, 1, Part::Whole);
        let (mut n, mut selected) = (0, 0);
        for (operand, value) in inst.operands() {
            if operand.access.writes() {
                let row = value.reg().and_then(|range| Some((self.limits.row_of(range.first)?, range)));
                match row {
                    Some((row, range)) if target.is_none() => {
                        target = Some(row);
                        target_units = u16::from(range.count);
                        part = range.part;
                    }
                    // A second vector result (v_swap_b32): both are read and written.
                    Some((row, range)) => {
                        op.src[2] = row;
                        op.imm = u64::from(part == Part::High) | u64::from(range.part == Part::High) << 1;
                    }
                    None => op.sdst = destination_of(inst, value)?,
                }
                continue;
            }
            // The selecting mask of v_cndmask and the carry in stay scalar.
            let masks = takes_mask(info.op()) && (operand.field == Field::Src2 || operand.fixed.is_some());
            if let (Operand::Reg(range), true) = (value, masks) {
                op.ssrc = code_of(range.first).ok_or_else(|| format!("{}: mask in {range}", info.mnemonic))?;
                continue;
            }
            // The scales of a matrix operation.
            if let Field::ScaleSrc0 | Field::ScaleSrc1 = operand.field {
                let row = self.source(inst, operand, value)?;
                op.imm2 |= u64::from(row) << if operand.field == Field::ScaleSrc0 { 0 } else { 16 };
                continue;
            }
            if n == 3 {
                return Err(format!("the mock device does not implement {} (four sources)", info.mnemonic));
            }
            if valu.scalar_sources {
                op.src[n] = self.scalar_source(inst, operand, value, n)?;
                n += 1;
                continue;
            }
            if info.op() == IsaOp::VDot2Bf16Bf16
                && matches!(value, Operand::Inline(129..))
                && operand.field != Field::Src2
            {
                return Err(format!("{}: which halves a constant is in, is not documented", info.mnemonic));
            }
            let position = match operand.field {
                Field::Src1 | Field::Vsrc1 => 1,
                Field::Src2 | Field::Vsrc2 => 2,
                _ => 0,
            };
            let mut row = self.source(inst, operand, value)?;
            if matches!(value, Operand::Reg(range) if range.part == Part::High) {
                // It is in the lower half now, and the handler need not select it.
                selected |= RawMods::op_sel_bit(position as u32);
            }
            if self.index_mode >> position & 1 != 0 && matches!(value, Operand::Reg(r) if r.first.is_vgpr()) {
                row = self.indexed_source(row, operand.units.into())?;
            }
            if sdwa && position < 2 {
                row = self.sdwa_source(inst, position, row)?;
            }
            if dpp && position == 0 {
                row = self.permuted(inst, row, operand.units.max(1).into())?;
            }
            if !valu.raw_mods {
                let half = operand.half && matches!(value, Operand::Reg(r) if r.first.is_vgpr());
                row = self.modified(inst, operand, position, row, half)?;
            }
            op.src[n] = row;
            n += 1;
        }
        let dst = target.unwrap_or(op.dst);
        if valu.accumulates {
            op.src[2] = if part == Part::High { self.upper_half(dst)? } else { dst };
        }
        op.dst = dst;
        if raw_mods(inst) & valu.refuses != 0 {
            return Err(format!("the mock device does not implement these modifiers of {}", info.mnemonic));
        }
        if valu.raw_mods && op.imm == 0 {
            // A truth table lies where other operations have modifiers.
            let mods = raw_mods(inst) & !selected;
            op.imm = inst.truth_table().map_or(mods, |table| u64::from(table) | mods << 32);
        }
        self.finish_vector(inst, valu, op, target.map(|_| target_units), part)
    }

    /// A move between registers that M0 chooses. DPP and SDWA take lanes and bytes of the register that it leads to; that SDWA
    /// could write a part of one, or change a sign, neither the manuals nor LLVM say. (LLVM has the destination of
    /// v_movreld among the sources: which register is written M0 says.)
    fn relative(&mut self, inst: &Inst, (fetch, store): (Handler, Handler)) -> Result<(), String> {
        let dpp = inst.info().flags.contains(Flags::DPP);
        let operand = |field| inst.operands().find(|(operand, _)| operand.field == field);
        let target = operand(Field::Vdst).and_then(|(_, value)| self.limits.row_of(value.reg()?.first));
        let (Some(dst), Some((info, value))) = (target, operand(Field::Src0)) else {
            return Err(format!("the mock device does not implement these operands of {}", inst.info().mnemonic));
        };
        let modified = [Field::Src0Neg, Field::Src0Abs].iter().any(|&f| inst.field(f).unwrap_or(0) != 0);
        let part = !dpp && inst.field(Field::DstSel).is_some_and(|select| select != 6);
        if raw_mods(inst) != 0 || modified || part {
            return Err(format!("the mock device does not implement these modifiers of {}", inst.info().mnemonic));
        }
        let src = self.source(inst, info, value)?;
        let mut at = self.temp(1)?;
        self.push_handler(fetch, Op { dst: at, src: [src, 0, 0], ..Op::NOTHING }, 1);
        at = if dpp { self.permuted(inst, at, 1)? } else { self.sdwa_source(inst, 0, at)? };
        self.push_handler(store, Op { dst, src: [at, 0, 0], ..Op::NOTHING }, 1);
        if dpp {
            self.push_kernel::<RestoreExec>(Op::NOTHING, 1);
        }
        Ok(())
    }

    /// The upper half of each lane of a row, in the lower half of a row of its own.
    fn upper_half(&mut self, row: u16) -> Result<u16, String> {
        let temp = self.temp(1)?;
        self.push_kernel::<Extract>(Op { dst: temp, src: [row, 0, 0], imm: 16, imm2: 16, ..Op::NOTHING }, 1);
        Ok(temp)
    }

    /// The handler and the micro-ops after it. `written`: how many rows from `op.dst` on, if it has such a result.
    fn finish_vector(
        &mut self,
        inst: &Inst,
        valu: ValuOp,
        mut op: Op,
        written: Option<u16>,
        part: Part,
    ) -> Result<(), String> {
        let units = written.unwrap_or(1);
        let info = inst.info();
        let (dpp, sdwa) = (info.flags.contains(Flags::DPP), info.flags.contains(Flags::SDWA));
        let base = info.op().name();
        let dst = op.dst;
        let float = result_type(base);
        let clamp = inst.field(Field::Clamp) == Some(1) && !valu.raw_mods && !op.flags.contains(OpFlags::E5M3);
        let omod = if valu.raw_mods { 0 } else { inst.field(Field::Omod).unwrap_or(0) };
        let compares = base.starts_with("v_cmp");
        if clamp && float.is_none() {
            op.flags |= OpFlags::CLAMP;
        }
        let modify = float.filter(|_| !compares && (clamp || omod != 0) && takes_modifiers(inst, base));
        let select = if sdwa && !compares { inst.field(Field::DstSel).unwrap_or(6) } else { 6 };
        let high = part == Part::High
            || part == Part::Whole
                && !valu.raw_mods
                && places_half(info)
                && inst.field(Field::OpSel).is_some_and(|sel| sel & 8 != 0);
        // From RDNA1 on all results of 16 bits leave the other half alone.
        let keep = match info.mode.target().generation() {
            _ if valu.places_halves => false,
            g if g.is_gfx9_family() => valu.keep_high || high,
            _ if valu.merges => false,
            Generation::Gfx10 => high || !sdwa && !compares && target_is_half(base),
            _ => high || part == Part::Low || part == Part::Whole && valu.keep_high,
        };
        // Comparisons and lane reads have no row to keep a part of, whatever their other bits say.
        let keep = written.is_some() && keep;
        let to_vgpr = || matches!(inst.operand_in(Field::Vdst), Some(Operand::Reg(range)) if range.first.is_vgpr());
        let indexed = written.is_some() && self.index_mode & 8 != 0 && to_vgpr();
        let mut at = dst;
        if modify.is_some() || select != 6 || keep || indexed {
            at = self.temp(units)?;
        }
        if valu.merges && at != dst {
            let before = if indexed { self.indexed_source(dst, units)? } else { dst };
            for k in 0..units {
                let copy = Op { dst: at + k, src: [before + k, 0, 0], imm: 0xffff_ffff, ..Op::NOTHING };
                self.push_kernel::<AndXor>(copy, 1);
            }
        }
        op.dst = at;
        op.kind = Kind::of(info.op());
        self.push_handler(valu.variants.select(), op, rows::SLACK);
        if let Some(float) = modify {
            let to = if select != 6 || keep || indexed { at } else { dst };
            self.modify(base, float, omod, clamp, at, to);
        }
        if select != 6 {
            let unused = inst.field(Field::DstUnused).unwrap_or(0);
            let (shift, mask) = selection(select);
            let fill = match unused {
                0 => 2u64 << 32, // pad with zeros
                1 => 1u64 << 32, // with the sign above, zeros below
                _ => 0,          // preserve
            };
            let op = Op { dst, src: [at, 0, 0], imm: shift, imm2: u64::from(mask) | fill, ..Op::NOTHING };
            self.push_kernel::<Merge>(op, 1);
        } else if keep {
            let (shift, mask) = if high { (16, 0xffff_0000u64) } else { (0, 0xffff) };
            self.push_kernel::<Merge>(Op { dst, src: [at, 0, 0], imm: shift, imm2: mask, ..Op::NOTHING }, 1);
        } else if indexed {
            for k in 0..units {
                self.push_kernel::<StoreIndexed>(Op { dst: dst + k, src: [at + k, 0, 0], ..Op::NOTHING }, 1);
            }
        }
        // What v_cmpx makes of EXEC stays; lanes that DPP has left out are off.
        if dpp && !base.starts_with("v_cmpx") {
            self.push_kernel::<RestoreExec>(Op::NOTHING, 1);
        }
        Ok(())
    }

    /// The rows from `to` on = those from `at` on, with omod and clamp.
    fn modify(&mut self, base: &str, float: FloatType, omod: u32, clamp: bool, at: u16, to: u16) {
        let imm = u64::from(omod) | u64::from(clamp) << 2 | u64::from(rounds_to_nearest(base)) << 4;
        let op = Op { dst: to, src: [at, 0, 0], imm, ..Op::NOTHING };
        match float {
            FloatType::F32 => self.push_kernel::<Modify32>(op, 1),
            FloatType::F16 => self.push_kernel::<Modify16>(op, 1),
            FloatType::PackedF16 => self.push_kernel::<Modify16>(Op { imm: imm | 8, ..op }, 1),
            FloatType::F64 => self.push_kernel::<Modify64>(op, 2),
            FloatType::PackedF32 => {
                self.push_kernel::<Modify32>(op, 1);
                self.push_kernel::<Modify32>(Op { dst: to + 1, src: [at + 1, 0, 0], ..op }, 1);
            }
        }
    }

    /// The output modifiers of an operation of one name, in place.
    pub(super) fn modify_result(&mut self, inst: &Inst, base: &str, row: u16) {
        let (clamp, omod) = (inst.field(Field::Clamp) == Some(1), inst.field(Field::Omod).unwrap_or(0));
        if let Some(float) = result_type(base).filter(|_| (clamp || omod != 0) && takes_modifiers(inst, base)) {
            self.modify(base, float, omod, clamp, row, row);
        }
    }

    /// The row (the first of several) that holds a source's value.
    pub(super) fn source(&mut self, inst: &Inst, operand: &OperandInfo, value: Operand) -> Result<u16, String> {
        let units = u16::from(operand.units.max(1));
        match value {
            Operand::Reg(range) => {
                if let Some(row) = self.limits.row_of(range.first) {
                    return if range.part == Part::High { self.upper_half(row) } else { Ok(row) };
                }
                let code = code_of(range.first).ok_or_else(|| format!("{} reads {range}", inst.info().mnemonic))?;
                self.splat_scalars(code.into(), units)
            }
            Operand::Special(code @ 251..=253) => {
                let code = self.flag_source(code, operand.units, 0);
                self.splat_scalars(code, units)
            }
            Operand::Special(code @ 230..=231) if !inst.info().mode.target().generation().is_gfx9_family() => {
                self.splat_scalars(code, units)
            }
            Operand::Special(code) => {
                let value = special_constant(code)
                    .ok_or_else(|| format!("{}: source {code} is not modelled", inst.info().mnemonic))?;
                self.splat_constant(if units == 2 { value } else { value >> 32 }, units)
            }
            Operand::Inline(code) => {
                let bits = value.bits(operand.ty).or_else(|| inline_constant32(code as u8).map(u64::from));
                let mut bits = bits.ok_or_else(|| format!("{}: constant {code} has no value", inst.info().mnemonic))?;
                if is_wide_bf16(inst) && matches!(operand.ty, DataType::Bf16 | DataType::V2Bf16) {
                    bits = inline_constant32(code as u8).map_or(bits, u64::from);
                }
                if let Some(half) = constant_halves(inst, operand).and_then(|ty| value.bits(ty)) {
                    bits = (half & 0xffff) * 0x1_0001;
                }
                if units == 1 {
                    if inline_constant32(code as u8) == Some(bits as u32) {
                        return Ok(rows::CONST + code - 128);
                    }
                    if inline_constant_f16(code as u8) == Some(bits as u32) {
                        return Ok(rows::CONST_F16 + code - 240);
                    }
                }
                if units > 2 {
                    // A matrix operand: the constant in every element.
                    let wide = inst.info().base.contains("f64");
                    let row = self.temp(units)?;
                    for k in 0..units {
                        let word = if wide { bits >> (32 * (k & 1)) } else { bits };
                        self.push_kernel::<SplatImm>(Op { dst: row + k, imm: word, ..Op::NOTHING }, 1);
                    }
                    return Ok(row);
                }
                self.splat_constant(bits, units)
            }
            Operand::Literal(literal) => {
                let bits = value.bits(operand.ty).unwrap_or(literal.into());
                self.splat_constant(bits, units)
            }
            Operand::Literal64(literal) => {
                let bits = value.bits(operand.ty).unwrap_or(literal);
                self.splat_constant(bits, units.max(2))
            }
            Operand::Imm(value) => self.splat_constant(value as u64, units),
        }
    }

    fn splat_scalars(&mut self, code: u16, units: u16) -> Result<u16, String> {
        let row = self.temp(units)?;
        for k in 0..units {
            self.push_kernel::<Splat>(Op { dst: row + k, src: [code + k, 0, 0], ..Op::NOTHING }, 1);
        }
        Ok(row)
    }

    pub(super) fn splat_constant(&mut self, value: u64, units: u16) -> Result<u16, String> {
        let row = self.temp(units)?;
        for k in 0..units {
            let imm = if k < 2 { value >> (32 * k) } else { 0 };
            self.push_kernel::<SplatImm>(Op { dst: row + k, imm, ..Op::NOTHING }, 1);
        }
        Ok(row)
    }

    /// For operations whose scalar operands stay scalar: a row, or a scalar code.
    fn scalar_source(
        &mut self,
        inst: &Inst,
        operand: &OperandInfo,
        value: Operand,
        position: usize,
    ) -> Result<u16, String> {
        let refuse = || format!("{}: an operand that the mock device does not know", inst.info().mnemonic);
        match value {
            Operand::Reg(range) => {
                self.limits.row_of(range.first).or_else(|| code_of(range.first).map(u16::from)).ok_or_else(refuse)
            }
            // The scalar file holds every inline constant at its own code.
            Operand::Inline(code) => Ok(code),
            Operand::Special(super::NULL) => Ok(128),
            Operand::Special(code @ 251..=253) => Ok(self.flag_source(code, operand.units, position)),
            _ => Err(refuse()),
        }
    }

    fn indexed_source(&mut self, row: u16, units: u16) -> Result<u16, String> {
        let temp = self.temp(units.max(1))?;
        for k in 0..units.max(1) {
            self.push_kernel::<LoadIndexed>(Op { dst: temp + k, src: [row + k, 0, 0], ..Op::NOTHING }, 1);
        }
        Ok(temp)
    }

    fn sdwa_source(&mut self, inst: &Inst, position: usize, row: u16) -> Result<u16, String> {
        let (select, extend) = [(Field::Src0Sel, Field::Src0Sext), (Field::Src1Sel, Field::Src1Sext)][position.min(1)];
        let select = inst.field(select).unwrap_or(6);
        if select >= 6 {
            return Ok(row);
        }
        let (shift, mask) = selection(select);
        let signed = u64::from(inst.field(extend) == Some(1)) << 32;
        let temp = self.temp(1)?;
        let imm2 = u64::from(mask.count_ones()) | signed;
        self.push_kernel::<Extract>(Op { dst: temp, src: [row, 0, 0], imm: shift, imm2, ..Op::NOTHING }, 1);
        Ok(temp)
    }

    fn permuted(&mut self, inst: &Inst, row: u16, units: u16) -> Result<u16, String> {
        let field = |f| inst.field(f).unwrap_or(0);
        let temp = self.temp(units)?;
        if inst.info().format.is_dpp8() {
            let fetches = field(Field::Dpp8Mark) == 2;
            for k in 0..units {
                let narrows = u8::from(k + 1 == units);
                let (imm, imm2) = (field(Field::Lanes).into(), fetches.into());
                let op = Op { dst: temp + k, src: [row + k, 0, 0], imm, imm2, sdst: narrows, ..Op::NOTHING };
                self.push_kernel::<PermuteEight>(op, 1);
            }
            return Ok(temp);
        }
        let ctrl = field(Field::DppCtrl);
        let generation = inst.info().mode.target().generation();
        if !dpp_known(generation, ctrl) {
            return Err(format!("{}: DPP control {ctrl:#x} is not one of {generation:?}", inst.info().mnemonic));
        }
        let imm = u64::from(ctrl | field(Field::BoundCtrl) << 16 | field(Field::Fi) << 17);
        let imm2 = dpp_enabled(field(Field::RowMask), field(Field::BankMask));
        for k in 0..units {
            let narrows = u8::from(k + 1 == units);
            let op = Op { dst: temp + k, src: [row + k, 0, 0], imm, imm2, sdst: narrows, ..Op::NOTHING };
            self.push_kernel::<Permute>(op, 1);
        }
        Ok(temp)
    }

    /// neg, abs, op_sel and op_sel_hi. `half`: the operand itself has said which half it is.
    fn modified(
        &mut self,
        inst: &Inst,
        operand: &OperandInfo,
        position: usize,
        row: u16,
        half: bool,
    ) -> Result<u16, String> {
        let format = inst.info().format.plain();
        if format == Format::Vop3p {
            return self.packed_source(inst, operand, position, row);
        }
        let bit = |f| inst.field(f).unwrap_or(0) >> position & 1 != 0;
        let own = |f: [Field; 2]| position < 2 && inst.field(f[position]) == Some(1);
        let negate = bit(Field::Neg) || own([Field::Src0Neg, Field::Src1Neg]);
        let absolute = bit(Field::Abs) || own([Field::Src0Abs, Field::Src1Abs]);
        let mut row = row;
        if format == Format::Vop3a && !half && operand.units <= 1 && bit(Field::OpSel) {
            row = self.upper_half(row)?;
        }
        if matches!(inst.info().op(), IsaOp::VCvtF32Fp8 | IsaOp::VCvtF32Bf8 | IsaOp::VCvtF16Fp8 | IsaOp::VCvtF16Bf8)
            && inst.field(Field::OpSel).unwrap_or(0) & 2 != 0
        {
            // RDNA4 selects a byte: the first bit of OP_SEL selects the half, the second the byte in it.
            let temp = self.temp(1)?;
            self.push_kernel::<Extract>(Op { dst: temp, src: [row, 0, 0], imm: 8, imm2: 8, ..Op::NOTHING }, 1);
            row = temp;
        }
        if !negate && !absolute {
            return Ok(row);
        }
        let units = u16::from(operand.units.max(1));
        let narrow = matches!(operand.ty, DataType::F16 | DataType::B16 | DataType::I16 | DataType::Bf16);
        let pairs = matches!(inst.info().op(), IsaOp::VDot2F16F16 | IsaOp::VDot2Bf16Bf16) && position < 2;
        let sign = match narrow || operand.half || is_half(inst) {
            _ if pairs => 0x8000_8000u32,
            true => 0x8000,
            false => 0x8000_0000,
        };
        let temp = self.temp(units)?;
        for k in 0..units {
            let last = k + 1 == units;
            let and = if absolute && last { !sign } else { !0 };
            let xor = if negate && last { sign } else { 0 };
            let op = Op { dst: temp + k, src: [row + k, 0, 0], imm: and.into(), imm2: xor.into(), ..Op::NOTHING };
            self.push_kernel::<AndXor>(op, 1);
        }
        Ok(temp)
    }

    fn packed_source(&mut self, inst: &Inst, operand: &OperandInfo, position: usize, row: u16) -> Result<u16, String> {
        let bit = |f| inst.field(f).unwrap_or(0) >> position & 1;
        let (lo, hi) = (bit(Field::OpSel), bit(Field::OpSelHi));
        let (neg_lo, neg_hi) = (bit(Field::Neg), bit(Field::NegHi));
        if (lo, hi, neg_lo, neg_hi) == (0, 1, 0, 0) {
            return Ok(row);
        }
        if position == 2 && inst.info().base.starts_with("v_dot") {
            // The addend is no pair: it has one sign, and no halves. LLVM sets both signs to negate it.
            if neg_lo == 0 {
                return Ok(row);
            }
            let temp = self.temp(1)?;
            let op = Op { dst: temp, src: [row, 0, 0], imm: 0xffff_ffff, imm2: 1 << 31, ..Op::NOTHING };
            self.push_kernel::<AndXor>(op, 1);
            return Ok(temp);
        }
        if operand.units >= 2 {
            let temp = self.temp(2)?;
            for (k, pick, neg) in [(0, lo, neg_lo), (1, hi, neg_hi)] {
                let op = Op {
                    dst: temp + k,
                    src: [row + pick as u16, 0, 0],
                    imm: 0xffff_ffff,
                    imm2: u64::from(neg) << 31,
                    ..Op::NOTHING
                };
                self.push_kernel::<AndXor>(op, 1);
            }
            return Ok(temp);
        }
        let temp = self.temp(1)?;
        let op = Op {
            dst: temp,
            src: [row, 0, 0],
            imm: u64::from(lo | hi << 1),
            imm2: u64::from(neg_lo << 15 | neg_hi << 31),
            ..Op::NOTHING
        };
        self.push_kernel::<PickHalves>(op, 1);
        Ok(temp)
    }
}

/// Whether a result has 16 bits, from the operation's name: the first type in it.
pub(crate) fn target_is_half(base: &str) -> bool {
    let packed = base.split('_').any(|part| part.starts_with("pk") || part.starts_with("mix"));
    // The sum of v_sad_u16 has 32.
    let wide = base == IsaOp::VSadU16.name();
    base == IsaOp::VSatPkU8I16.name()
        || !packed && !wide && matches!(first_type(base), Some("f16" | "i16" | "u16" | "b16"))
}

/// Shift and mask (in place) of an SDWA selection: bytes 0 to 3, words 4 and 5, 6 everything.
fn selection(select: u32) -> (u64, u32) {
    match select {
        0..=3 => (u64::from(select) * 8, 0xff << (select * 8)),
        4 => (0, 0xffff),
        5 => (16, 0xffff_0000),
        _ => (0, !0),
    }
}

/// Operations whose third source is a lane mask in scalar registers.
fn takes_mask(op: IsaOp) -> bool {
    matches!(op, IsaOp::VCndmaskB32 | IsaOp::VCndmaskB16 | IsaOp::VAddcCoU32 | IsaOp::VSubbCoU32 | IsaOp::VSubbrevCoU32)
}

/// Whether a bit of OP_SEL chooses the half that a result goes to: every instruction of VOP3 has the field, and where the
/// result has 32 bits the hardware has no use for it.
pub(crate) fn places_half(info: &OpcodeInfo) -> bool {
    info.format.plain() == Format::Vop3a && info.flags.contains(Flags::OP_SEL)
}

/// What a constant is in both halves of a source that is pairs of 16 bits, whatever OP_SEL says. (Elsewhere it is in the
/// lower one.) Measured on gfx1100 and gfx1201: see [`crate::fp::dot`].
fn constant_halves(inst: &Inst, operand: &OperandInfo) -> Option<DataType> {
    let info = inst.info();
    let measured = matches!(info.mode.target().generation(), Generation::Gfx11 | Generation::Gfx12);
    match operand.field {
        _ if !measured => None,
        Field::Src0 | Field::Src1 => (info.op() == IsaOp::VDot2F32Bf16).then_some(DataType::Bf16),
        Field::Src2 if info.base.starts_with("v_wmma_f16_") => Some(DataType::F16),
        Field::Src2 if info.base.starts_with("v_wmma_bf16_") => Some(DataType::Bf16),
        _ => None,
    }
}

/// Whether constants among the bf16 sources are those of f32, whose upper half is the bf16, so that it takes OP_SEL to read
/// it: on gfx1250 in arithmetic (AMD's programming guide as llvm-project #183487, #209861 and #223035 tell it; LLVM 22
/// encodes them otherwise). Of dot products and matrix operations it is not known.
fn is_wide_bf16(inst: &Inst) -> bool {
    let info = inst.info();
    info.mode.target().generation() == Generation::Gfx1250
        && !info.base.starts_with("v_dot")
        && !info.flags.contains(Flags::WMMA)
}

/// The sources are halves although the tables do not say so (DPP forms have no types).
fn is_half(inst: &Inst) -> bool {
    let base = inst.info().base;
    inst.info().flags.contains(Flags::DPP) && base.ends_with("_f16")
}

/// What the same instruction does otherwise on this processor.
fn differences(inst: &Inst) -> OpFlags {
    let target = inst.info().mode.target();
    let unit = if is_known_on(target.generation()) { OpFlags::empty() } else { OpFlags::NEAREST };
    let others = match target {
        // LLVM names these forms cvt_*_fp8_*_e5m3.
        target if target.generation() == Generation::Gfx1250 => {
            let named = [IsaOp::VCvtF32Fp8, IsaOp::VCvtPkFp8F32, IsaOp::VCvtSrFp8F32, IsaOp::VCvtPkFp8F16]
                .contains(&inst.info().op());
            if named && inst.field(Field::Clamp) == Some(1) { OpFlags::E5M3 } else { OpFlags::empty() }
        }
        Target::Gfx942 => OpFlags::FNUZ | OpFlags::CDNA3,
        Target::Gfx950 | Target::Gfx9_4Generic => OpFlags::CDNA3,
        Target::Gfx908 => OpFlags::CDNA1,
        _ => OpFlags::empty(),
    };
    unit | others
}

/// See [`crate::op::RawMods`].
fn raw_mods(inst: &Inst) -> u64 {
    let field = |f| u64::from(inst.field(f).unwrap_or(0));
    let abs_or_neg_hi = inst.field(Field::NegHi).or(inst.field(Field::Abs)).map_or(0, u64::from);
    field(Field::Neg) & 7
        | (abs_or_neg_hi & 7) << 3
        | ((field(Field::OpSel) | field(Field::ScaleOpSel)) & 15) << 6
        | ((field(Field::OpSelHi) | field(Field::ScaleOpSelHi)) & 7) << 10
        | (field(Field::Clamp) & 1) << 13
        | (field(Field::Omod) & 3) << 14
        | (field(Field::Cbsz) & 7) << 16
        | (field(Field::Abid) & 15) << 19
        | (field(Field::Blgp) & 7) << 23
}
