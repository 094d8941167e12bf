//! Conversions between formats of different widths.

use iced_x86::{Code, Instruction, Register};

use super::super::nodes::{Narrowing, Nearest, Value};
use super::TooLarge;
use super::body::Body;

/// Of the lanes of a vector those that are in the first and in the second half of numbers of 64 bits
/// ([`super::super::nodes::Node::Join`]), and where lanes are found once both halves stand behind each other.
pub(super) const FIRST: [u32; 16] = [0, 1, 4, 5, 8, 9, 12, 13, 0, 0, 0, 0, 0, 0, 0, 0];
pub(super) const SECOND: [u32; 16] = [2, 3, 6, 7, 10, 11, 14, 15, 0, 0, 0, 0, 0, 0, 0, 0];
pub(super) const WIDE_BACK: [u32; 16] = [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15];
pub(super) const NARROW_BACK: [u32; 16] = [0, 1, 4, 5, 2, 3, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0];

impl Body<'_> {
    /// Two registers of passing use.
    fn two(&self) -> [Register; 2] {
        [self.passing(0), self.passing(if self.machine.wide { 1 } else { 2 })]
    }

    fn either(&self, narrow: Code, wide: Code) -> Code {
        if self.machine.wide { wide } else { narrow }
    }

    fn numbers(&mut self, to: Register, lanes: [u32; 16]) -> Result<(), TooLarge> {
        let from = self.constant(self.plan.pool.vector(lanes)?);
        self.put(Instruction::with2(self.machine.load(), to, from))
    }

    /// f64 of half the lanes' f32.
    pub(super) fn widened(&mut self, at: usize, second: bool, a: Value) -> Result<(), TooLarge> {
        let from = self.vector(a)?;
        let [some, numbers] = self.two();
        self.numbers(numbers, if second { SECOND } else { FIRST })?;
        self.put(Instruction::with3(self.machine.permute(), some, numbers, from))?;
        let to = self.target(at)?;
        let code = self.either(Code::VEX_Vcvtps2pd_ymm_xmmm128, Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae);
        let some = self.machine.half(some);
        self.put(Instruction::with2(code, to, some))
    }

    /// All lanes' words of f64, half of them each.
    pub(super) fn narrowed(&mut self, at: usize, how: Narrowing, halves: [Value; 2]) -> Result<(), TooLarge> {
        let convert = match how {
            Narrowing::Single => {
                self.either(Code::VEX_Vcvtpd2ps_xmm_ymmm256, Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er)
            }
            Narrowing::Signed => {
                self.either(Code::VEX_Vcvttpd2dq_xmm_ymmm256, Code::EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae)
            }
        };
        let [first, second] = [self.vector(halves[0])?, self.vector(halves[1])?];
        let [some, others] = self.two();
        let [low, high] = [some, others].map(|register| self.machine.half(register));
        self.put(Instruction::with2(convert, low, first))?;
        self.put(Instruction::with2(convert, high, second))?;
        let insert =
            self.either(Code::VEX_Vinsertf128_ymm_ymm_xmmm128_imm8, Code::EVEX_Vinsertf64x4_zmm_k1z_zmm_ymmm256_imm8);
        self.put(Instruction::with4(insert, some, some, high, 1))?;
        self.numbers(others, if self.machine.wide { WIDE_BACK } else { NARROW_BACK })?;
        let to = self.target(at)?;
        self.put(Instruction::with3(self.machine.permute(), to, others, some))
    }

    /// f32 of the f16 in the lower halves.
    pub(super) fn single_of_half(&mut self, at: usize, a: Value) -> Result<(), TooLarge> {
        let from = self.vector(a)?;
        let [some, _] = self.two();
        let half = self.machine.half(some);
        if self.machine.wide {
            self.put(Instruction::with2(Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, half, from))?;
            let to = self.target(at)?;
            return self.put(Instruction::with2(Code::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae, to, half));
        }
        self.put(Instruction::with3(Code::VEX_Vpslld_ymm_ymm_imm8, some, from, 16))?;
        self.put(Instruction::with3(Code::VEX_Vpsrld_ymm_ymm_imm8, some, some, 16))?;
        self.put(Instruction::with3(Code::VEX_Vpackusdw_ymm_ymm_ymmm256, some, some, some))?;
        self.put(Instruction::with3(Code::VEX_Vpermq_ymm_ymmm256_imm8, some, some, 0b1000))?;
        let to = self.target(at)?;
        self.put(Instruction::with2(Code::VEX_Vcvtph2ps_ymm_xmmm128, to, half))
    }

    /// An f16, zero above it.
    pub(super) fn half_of_single(&mut self, at: usize, a: Value, nearest: Nearest) -> Result<(), TooLarge> {
        let from = self.vector(a)?;
        let [some, _] = self.two();
        let half = self.machine.half(some);
        let how = if nearest { 0 } else { 3 };
        let convert = self.either(Code::VEX_Vcvtps2ph_xmmm128_ymm_imm8, Code::EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae);
        self.put(Instruction::with3(convert, half, from, how))?;
        let to = self.target(at)?;
        let widen = self.either(Code::VEX_Vpmovzxwd_ymm_xmmm128, Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256);
        self.put(Instruction::with2(widen, to, half))
    }
}
