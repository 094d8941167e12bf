//! Several words of each lane in device memory where lanes lie anywhere in one allocation: lane by lane.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Base, Offsets, Size};
use super::super::machine::Machine;
use super::body::Body;
use super::frame::Frame;
use super::{Assembler, EXEC, Pool, TooLarge, lanes, masked, scalar};

/// How lanes' addresses lie: each somewhere.
pub const SCATTERED: i32 = 4;

/// Whether lanes that access so much, with upper halves or a scalar base, may lie anywhere.
pub(super) fn is_possible(size: Size, base: Option<Base>) -> bool {
    size.words() > 1 && base.is_none_or(|base| base.offsets == Offsets::Unsigned)
}

/// Where on the stack the lower halves of lanes' addresses are, or their offsets: behind what the lanes access.
fn lows(frame: Frame, machine: Machine) -> i64 {
    frame.calls + i64::from(machine.bytes()) * i64::from(Size::Quad.words())
}

/// A function that finds what lanes access, by one of the [finders](super::look::finder). EAX has the lanes, at least one, R9 what is to
/// be added to the words of theirs on the stack, RBP the bytes of one. Gives in R11 what leads to it for the host if these words
/// are added, and jumps for "equal" are taken if it is not in one allocation, or not at whole words.
pub(super) fn finder(
    asm: &mut Assembler,
    (machine, pool, frame): (Machine, &Pool, Frame),
    finder: usize,
) -> Result<(), TooLarge> {
    let kept = [Register::RDX, Register::R12, Register::RCX, Register::R9];
    for register in kept {
        asm.put(Instruction::with1(Code::Push_r64, register))?;
    }
    // Below these registers and the return address.
    let at = lows(frame, machine) + 8 * (kept.len() as i64 + 1);
    if machine.wide {
        wide_bounds(asm, (machine, pool), at)?
    } else {
        bounds(asm, at)?
    }
    asm.put(Instruction::with1(Code::Pop_r64, Register::R9))?;
    let first = MemoryOperand::with_base_index(Register::R9, Register::RDX);
    asm.put(Instruction::with2(Code::Lea_r64_m, Register::RAX, first))?;
    asm.put(Instruction::with2(Code::Sub_r64_rm64, Register::R12, Register::RDX))?;
    asm.put(Instruction::with2(Code::Add_r64_rm64, Register::RBP, Register::R12))?;
    asm.put(Instruction::with_branch(Code::Call_rel32_64, finder as u64))?;
    asm.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
    let none = asm.jump(Code::Je_rel32_64)?;
    asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, Register::R11D))?;
    asm.put(Instruction::with2(Code::And_rm32_imm32, Register::EAX, Size::Word.lowest()))?;
    asm.put(Instruction::with2(Code::Sub_r64_rm64, Register::R11, Register::RDX))?;
    asm.put(Instruction::with2(Code::Or_r32_rm32, UNEVEN, Register::EAX))?;
    // Zero becomes something else, and anything else zero.
    asm.put(Instruction::with2(Code::Cmp_rm32_imm32, UNEVEN, 1))?;
    asm.put(Instruction::with2(Code::Sbb_r32_rm32, UNEVEN, UNEVEN))?;
    asm.land(none);
    for register in [Register::RCX, Register::R12, Register::RDX] {
        asm.put(Instruction::with1(Code::Pop_r64, register))?;
    }
    asm.put(Ok(Instruction::with(Code::Retnq)))
}

/// The least and the greatest of lanes' words, and what is not zero if one is no multiple of a word's bytes.
const LEAST: Register = Register::EDX;
const MOST: Register = Register::R12D;
const UNEVEN: Register = Register::ECX;

/// Those of the lanes in EAX, whose words the stack has there.
fn bounds(asm: &mut Assembler, at: i64) -> Result<(), TooLarge> {
    asm.put(Instruction::with2(Code::Mov_r32_imm32, LEAST, -1))?;
    for zero in [MOST, UNEVEN] {
        asm.put(Instruction::with2(Code::Xor_r32_rm32, zero, zero))?;
    }
    lanes::each(asm, |asm| {
        let low = MemoryOperand::with_base_index_scale_displ_size(Register::RSP, Register::R9, 4, at, 8);
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, low))?;
        asm.put(Instruction::with2(Code::Or_r32_rm32, UNEVEN, Register::R11D))?;
        asm.put(Instruction::with2(Code::Cmp_r32_rm32, Register::R11D, LEAST))?;
        asm.put(Instruction::with2(Code::Cmovb_r32_rm32, LEAST, Register::R11D))?;
        asm.put(Instruction::with2(Code::Cmp_r32_rm32, Register::R11D, MOST))?;
        asm.put(Instruction::with2(Code::Cmova_r32_rm32, MOST, Register::R11D))
    })?;
    asm.put(Instruction::with2(Code::And_rm32_imm32, UNEVEN, Size::Word.lowest()))
}

/// The same for wide vectors, of the lanes that are on.
fn wide_bounds(asm: &mut Assembler, (machine, pool): (Machine, &Pool), at: i64) -> Result<(), TooLarge> {
    let [one, other] = [0, 1].map(|n| machine.vector(machine.registers() + n));
    let load = || {
        let from = MemoryOperand::with_base_displ(Register::RSP, at);
        masked(Instruction::with2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, one, from), EXEC)
    };
    asm.put(load().map(|mut it| {
        it.set_zeroing_masking(true);
        it
    }))?;
    let lowest = pool.place(Size::Word.lowest() as u32)? as i64 * 4;
    let lowest = MemoryOperand::with_base_displ(Register::RIP, lowest);
    asm.put(Instruction::with2(machine.broadcast(), other, lowest))?;
    asm.put(Instruction::with3(Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, Register::K1, one, other))?;
    asm.put(Instruction::with2(Code::VEX_Kmovw_r32_kr, UNEVEN, Register::K1))?;
    let (greatest, least) = (
        [Code::EVEX_Vpmaxud_ymm_k1z_ymm_ymmm256b32, Code::EVEX_Vpmaxud_xmm_k1z_xmm_xmmm128b32],
        [Code::EVEX_Vpminud_ymm_k1z_ymm_ymmm256b32, Code::EVEX_Vpminud_xmm_k1z_xmm_xmmm128b32],
    );
    bound(asm, machine, [one, other], greatest, MOST)?;
    const ONES: i32 = 0xff;
    let set = Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
    asm.put(Instruction::with4(set, one, one, one, ONES))?;
    asm.put(load())?;
    bound(asm, machine, [one, other], least, LEAST)
}

/// What is left of a wide vector's words, of any two one.
fn bound(
    asm: &mut Assembler,
    machine: Machine,
    [one, other]: [Register; 2],
    [of_halves, of_pieces]: [Code; 2],
    to: Register,
) -> Result<(), TooLarge> {
    let ([half, other_half], [piece, other_piece]) =
        ([one, other].map(|r| machine.half(r)), [one, other].map(|r| machine.low(r)));
    asm.put(Instruction::with3(Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, other_half, one, 1))?;
    asm.put(Instruction::with3(of_halves, half, half, other_half))?;
    asm.put(Instruction::with3(Code::EVEX_Vextracti32x4_xmmm128_k1z_ymm_imm8, other_piece, half, 1))?;
    asm.put(Instruction::with3(of_pieces, piece, piece, other_piece))?;
    for order in [0b01_00_11_10, 0b10_11_00_01] {
        asm.put(Instruction::with3(Code::EVEX_Vpshufd_xmm_k1z_xmmm128b32_imm8, other_piece, piece, order))?;
        asm.put(Instruction::with3(of_pieces, piece, piece, other_piece))?;
    }
    asm.put(Instruction::with2(machine.first_word(), to, piece))
}

/// The lanes of a vector that access something: narrow vectors have them in a register, if they need not be all.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub machine: Machine,
    pub frame: Frame,
    pub exec: Option<Register>,
    /// [`finder`].
    pub finder: usize,
    pub exit: usize,
}

impl Found {
    /// EAX = the lanes that are on.
    pub fn lanes(self, asm: &mut Assembler) -> Result<(), TooLarge> {
        asm.put(match self.exec {
            _ if self.machine.wide => Instruction::with2(Code::VEX_Kmovw_r32_kr, Register::EAX, EXEC),
            Some(on) => Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, on),
            None => Instruction::with2(Code::Mov_r32_imm32, Register::EAX, 0xff),
        })
    }

    /// R11 = what leads to what lanes access if their words are added, or leaves. Upper halves are those of the first lane.
    pub fn find(
        self,
        asm: &mut Assembler,
        (low, high): (Register, Result<Register, Base>),
        (size, offset): (Size, i32),
    ) -> Result<(), TooLarge> {
        let lows = MemoryOperand::with_base_displ(Register::RSP, lows(self.frame, self.machine));
        asm.put(Instruction::with2(self.machine.store(), lows, low))?;
        match high {
            Ok(high) => {
                asm.put(Instruction::with2(self.machine.first_word(), Register::R9D, self.machine.low(high)))?;
                asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::R9, 32))?;
            }
            Err(base) => asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R9, scalar::held(base.code)))?,
        }
        if offset != 0 {
            asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::R9, offset))?;
        }
        asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EBP, size.bytes()))?;
        self.lanes(asm)?;
        asm.put(Instruction::with_branch(Code::Call_rel32_64, self.finder as u64))?;
        asm.put(Instruction::with_branch(Code::Je_rel32_64, self.exit as u64))
    }
}

impl Body<'_> {
    /// What lanes load that lie anywhere: it is put on the stack as if they were neighbours.
    pub(super) fn scattered(
        &mut self,
        found: Found,
        addresses: (Register, Result<Register, Base>),
        (size, offset): (Size, i32),
        to: &[Register],
    ) -> Result<(), TooLarge> {
        let Found { machine, frame, .. } = found;
        found.find(self.asm, addresses, (size, offset))?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RBP, Register::R11))?;
        let of_lane = |scale: u32, by: i64| {
            MemoryOperand::with_base_index_scale_displ_size(Register::RSP, Register::R9, scale, by, 8)
        };
        let (mut some_off, mut end) = (None, None);
        if size == Size::Quad {
            some_off = lanes::some_off(self.asm, machine, found.exec)?;
            let lows = lows(frame, machine);
            for (lane, (to, piece)) in pieces(machine, to).enumerate() {
                let low = MemoryOperand::with_base_displ(Register::RSP, lows + 4 * lane as i64);
                self.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, low))?;
                let from = MemoryOperand::with_base_index(Register::RBP, Register::R11);
                self.put(match piece {
                    0 => {
                        let load = machine.either(Code::VEX_Vmovups_xmm_xmmm128, Code::EVEX_Vmovups_xmm_k1z_xmmm128);
                        Instruction::with2(load, machine.low(to), from)
                    }
                    _ => Instruction::with4(machine.insert(), to, to, from, piece),
                })?;
            }
            end = Some(self.asm.jump(Code::Jmp_rel32_64)?);
        }
        some_off.into_iter().for_each(|jump| self.asm.land(jump));
        let one = self.passing(0);
        let clear = match machine.wide {
            true => Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
            false => Code::VEX_Vxorps_ymm_ymm_ymmm256,
        };
        self.put(Instruction::with3(clear, one, one, one))?;
        for by in (frame.calls..).step_by(machine.bytes() as usize).take(to.len()) {
            self.put(Instruction::with2(machine.store(), MemoryOperand::with_base_displ(Register::RSP, by), one))?;
        }
        found.lanes(self.asm)?;
        lanes::each(self.asm, |asm| {
            asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, of_lane(4, lows(frame, machine))))?;
            asm.put(Instruction::with2(Code::Shl_rm32_imm8, Register::R9D, size.bytes().trailing_zeros() as i32))?;
            let from = MemoryOperand::with_base_index(Register::RBP, Register::R11);
            lanes::copy(asm, machine, size, (of_lane(1, frame.calls), from), one)
        })?;
        self.load_several(to, Register::RSP, frame.calls)?;
        end.into_iter().for_each(|end| self.asm.land(end));
        self.sort_several(to)
    }
}

/// Registers with lanes of sixteen bytes, and which piece of each a lane is, from lane to lane.
pub(super) fn pieces(machine: Machine, registers: &[Register]) -> impl Iterator<Item = (Register, i32)> {
    registers.iter().flat_map(move |&register| (0..machine.bytes() / 16).map(move |piece| (register, piece)))
}
