//! The host's instructions for each node, with 256-bit vectors (AVX2) or 512-bit ones (AVX-512).

use iced_x86::{Code, Register};

use super::addresses::Size;
use super::nodes::Binary;
use crate::level::Level;

/// What code is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    pub wide: bool,
}

impl Machine {
    /// The host's, if native code can be made for it.
    pub fn of(level: Level) -> Option<Machine> {
        match level {
            Level::Base => None,
            Level::Avx2 => Some(Machine { wide: false }),
            Level::Avx512 => Some(Machine { wide: true }),
        }
    }

    /// Lanes of a vector.
    pub fn lanes(self) -> u32 {
        if self.wide { 16 } else { 8 }
    }

    /// Bytes of a vector.
    pub fn bytes(self) -> i32 {
        if self.wide { 64 } else { 32 }
    }

    /// Vector register `n`.
    pub fn vector(self, n: usize) -> Register {
        let first = if self.wide { Register::ZMM0 } else { Register::YMM0 };
        Register::try_from(first as usize + n).unwrap_or(Register::None)
    }

    /// Registers that hold values; those behind are for passing use.
    pub fn registers(self) -> usize {
        if self.wide { 30 } else { 13 }
    }

    pub fn either(self, narrow: Code, wide: Code) -> Code {
        if self.wide { wide } else { narrow }
    }

    /// Of two sources, the second in memory or not; none of comparisons with 512 bits, whose result is a mask register.
    pub fn binary(self, op: Binary) -> Option<Code> {
        use Code::*;
        Some(match op {
            Binary::Add => self.either(VEX_Vpaddd_ymm_ymm_ymmm256, EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32),
            Binary::Sub => self.either(VEX_Vpsubd_ymm_ymm_ymmm256, EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32),
            Binary::Mul => self.either(VEX_Vpmulld_ymm_ymm_ymmm256, EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32),
            Binary::And => self.either(VEX_Vpand_ymm_ymm_ymmm256, EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32),
            Binary::AndNot => self.either(VEX_Vpandn_ymm_ymm_ymmm256, EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32),
            Binary::Or => self.either(VEX_Vpor_ymm_ymm_ymmm256, EVEX_Vpord_zmm_k1z_zmm_zmmm512b32),
            Binary::Xor => self.either(VEX_Vpxor_ymm_ymm_ymmm256, EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32),
            Binary::MinU => self.either(VEX_Vpminud_ymm_ymm_ymmm256, EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32),
            Binary::MaxU => self.either(VEX_Vpmaxud_ymm_ymm_ymmm256, EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32),
            Binary::MinS => self.either(VEX_Vpminsd_ymm_ymm_ymmm256, EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32),
            Binary::MaxS => self.either(VEX_Vpmaxsd_ymm_ymm_ymmm256, EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32),
            Binary::Shl => self.either(VEX_Vpsllvd_ymm_ymm_ymmm256, EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32),
            Binary::Shr => self.either(VEX_Vpsrlvd_ymm_ymm_ymmm256, EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32),
            Binary::Sar => self.either(VEX_Vpsravd_ymm_ymm_ymmm256, EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32),
            Binary::Shuffle => self.either(VEX_Vpshufb_ymm_ymm_ymmm256, EVEX_Vpshufb_zmm_k1z_zmm_zmmm512),
            Binary::AddF => self.either(VEX_Vaddps_ymm_ymm_ymmm256, EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er),
            Binary::SubF => self.either(VEX_Vsubps_ymm_ymm_ymmm256, EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er),
            Binary::MulF => self.either(VEX_Vmulps_ymm_ymm_ymmm256, EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er),
            Binary::MinF => self.either(VEX_Vminps_ymm_ymm_ymmm256, EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae),
            Binary::MaxF => self.either(VEX_Vmaxps_ymm_ymm_ymmm256, EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae),
            Binary::ScaleF if self.wide => EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er,
            Binary::Equal if !self.wide => VEX_Vpcmpeqd_ymm_ymm_ymmm256,
            Binary::GreaterS if !self.wide => VEX_Vpcmpgtd_ymm_ymm_ymmm256,
            Binary::AddD => self.either(VEX_Vaddpd_ymm_ymm_ymmm256, EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er),
            Binary::MulD => self.either(VEX_Vmulpd_ymm_ymm_ymmm256, EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er),
            Binary::DivD => self.either(VEX_Vdivpd_ymm_ymm_ymmm256, EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er),
            Binary::MinD => self.either(VEX_Vminpd_ymm_ymm_ymmm256, EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae),
            Binary::MaxD => self.either(VEX_Vmaxpd_ymm_ymm_ymmm256, EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae),
            Binary::ScaleF | Binary::Equal | Binary::GreaterS | Binary::Below => return None,
        })
    }

    /// By a constant.
    pub fn shift(self, op: Binary) -> Code {
        use Code::*;
        match op {
            Binary::Shl => self.either(VEX_Vpslld_ymm_ymm_imm8, EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8),
            Binary::Sar => self.either(VEX_Vpsrad_ymm_ymm_imm8, EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8),
            _ => self.either(VEX_Vpsrld_ymm_ymm_imm8, EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8),
        }
    }

    pub fn load(self) -> Code {
        self.load_of(Size::Word)
    }

    /// Of neighbours of a size, with zeros above.
    pub fn load_of(self, size: Size) -> Code {
        match size {
            Size::Byte => self.either(Code::VEX_Vpmovzxbd_ymm_xmmm64, Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128),
            Size::Half => self.either(Code::VEX_Vpmovzxwd_ymm_xmmm128, Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256),
            Size::Word | Size::Pair | Size::Quad => {
                self.either(Code::VEX_Vmovups_ymm_ymmm256, Code::EVEX_Vmovups_zmm_k1z_zmmm512)
            }
        }
    }

    pub fn store(self) -> Code {
        self.either(Code::VEX_Vmovups_ymmm256_ymm, Code::EVEX_Vmovups_zmmm512_k1z_zmm)
    }

    /// Of the lowest bytes of lanes, as neighbours of a size; wide vectors have one of less than a word.
    pub fn store_of(self, size: Size) -> Code {
        match size {
            Size::Byte => Code::EVEX_Vpmovdb_xmmm128_k1z_zmm,
            Size::Half => Code::EVEX_Vpmovdw_ymmm256_k1z_zmm,
            Size::Word | Size::Pair | Size::Quad => self.store(),
        }
    }

    /// A piece of sixteen bytes of a vector, with the number of a constant, that is replaced, or that is stored.
    pub fn insert(self) -> Code {
        self.either(Code::VEX_Vinsertf128_ymm_ymm_xmmm128_imm8, Code::EVEX_Vinsertf32x4_zmm_k1z_zmm_xmmm128_imm8)
    }
    pub fn extract(self) -> Code {
        self.either(Code::VEX_Vextractf128_xmmm128_ymm_imm8, Code::EVEX_Vextractf32x4_xmmm128_k1z_zmm_imm8)
    }

    /// Words by the numbers of lanes in the first source.
    pub fn permute(self) -> Code {
        self.either(Code::VEX_Vpermd_ymm_ymm_ymmm256, Code::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32)
    }

    /// The first lane's word of a vector's first sixteen bytes, to a general register.
    pub fn first_word(self) -> Code {
        self.either(Code::VEX_Vmovd_rm32_xmm, Code::EVEX_Vmovd_rm32_xmm)
    }

    /// A word of memory in all lanes.
    pub fn broadcast(self) -> Code {
        self.either(Code::VEX_Vbroadcastss_ymm_m32, Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32)
    }

    /// Two words of memory in all lanes.
    pub fn broadcast_double(self) -> Code {
        self.either(Code::VEX_Vbroadcastsd_ymm_m64, Code::EVEX_Vbroadcastsd_zmm_k1z_xmmm64)
    }

    /// The first lane's word in all lanes.
    pub fn spread(self) -> Code {
        self.either(Code::VEX_Vpbroadcastd_ymm_xmmm32, Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32)
    }

    /// Low words of two vectors in turns, or (`second`) of their other halves.
    pub fn join(self, second: bool) -> Code {
        use Code::*;
        match second {
            false => self.either(VEX_Vunpcklps_ymm_ymm_ymmm256, EVEX_Vunpcklps_zmm_k1z_zmm_zmmm512b32),
            true => self.either(VEX_Vunpckhps_ymm_ymm_ymmm256, EVEX_Vunpckhps_zmm_k1z_zmm_zmmm512b32),
        }
    }

    /// What undoes it, with a constant: [`Machine::LOW`], [`Machine::HIGH`].
    pub fn split(self) -> Code {
        self.either(Code::VEX_Vshufps_ymm_ymm_ymmm256_imm8, Code::EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8)
    }
    pub const LOW: i32 = 0x88;
    pub const HIGH: i32 = 0xdd;

    /// Products of 64 bits of the even words.
    pub fn multiply_even(self, signed: bool) -> Code {
        use Code::*;
        match signed {
            false => self.either(VEX_Vpmuludq_ymm_ymm_ymmm256, EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64),
            true => self.either(VEX_Vpmuldq_ymm_ymm_ymmm256, EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64),
        }
    }

    /// 64 bits shifted to the right by a constant.
    pub fn shift64(self) -> Code {
        self.either(Code::VEX_Vpsrlq_ymm_ymm_imm8, Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8)
    }

    pub fn signed_of_float(self) -> Code {
        self.either(Code::VEX_Vcvttps2dq_ymm_ymmm256, Code::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae)
    }

    pub fn integral(self) -> Code {
        self.either(Code::VEX_Vroundps_ymm_ymmm256_imm8, Code::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae)
    }

    pub fn integral_double(self) -> Code {
        self.either(Code::VEX_Vroundpd_ymm_ymmm256_imm8, Code::EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae)
    }

    pub fn float_of_signed(self) -> Code {
        self.either(Code::VEX_Vcvtdq2ps_ymm_ymmm256, Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er)
    }

    /// first = first * second + third, of f64 or f32
    pub fn fma213(self, double: bool) -> Code {
        use Code::*;
        match double {
            false => self.either(VEX_Vfmadd213ps_ymm_ymm_ymmm256, EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er),
            true => self.either(VEX_Vfmadd213pd_ymm_ymm_ymmm256, EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er),
        }
    }

    /// first = first * third + second, of f64 or f32
    pub fn fma132(self, double: bool) -> Code {
        use Code::*;
        match double {
            false => self.either(VEX_Vfmadd132ps_ymm_ymm_ymmm256, EVEX_Vfmadd132ps_zmm_k1z_zmm_zmmm512b32_er),
            true => self.either(VEX_Vfmadd132pd_ymm_ymm_ymmm256, EVEX_Vfmadd132pd_zmm_k1z_zmm_zmmm512b64_er),
        }
    }

    /// first = second * third + first, of f64 or f32
    pub fn fma231(self, double: bool) -> Code {
        use Code::*;
        match double {
            false => self.either(VEX_Vfmadd231ps_ymm_ymm_ymmm256, EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er),
            true => self.either(VEX_Vfmadd231pd_ymm_ymm_ymmm256, EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er),
        }
    }

    /// A vector of the lanes' answers.
    pub fn compare_double(self) -> Code {
        self.either(Code::VEX_Vcmppd_ymm_ymm_ymmm256_imm8, Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae)
    }

    /// The vector register that a register's first sixteen bytes are.
    /// Its lower half.
    pub fn half(self, vector: Register) -> Register {
        if !self.wide {
            return self.low(vector);
        }
        let number = vector as usize - Register::ZMM0 as usize;
        Register::try_from(Register::YMM0 as usize + number).unwrap_or(Register::None)
    }

    pub fn low(self, vector: Register) -> Register {
        let first = if self.wide { Register::ZMM0 } else { Register::YMM0 };
        Register::try_from(Register::XMM0 as usize + (vector as usize - first as usize)).unwrap_or(Register::None)
    }
}
