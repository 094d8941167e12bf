//! Words that lanes have in a row in memory, to a register for each, and back.

use iced_x86::{Code, Instruction, Register};

use super::super::machine::Machine;
use super::{Assembler, TooLarge};

/// Of rows of sixteen bytes, each four words' columns, within sixteen bytes of each register; done twice, it is undone.
pub(super) fn turn(asm: &mut Assembler, machine: Machine, of: [Register; 4], one: Register) -> Result<(), TooLarge> {
    let [a, b, c, d] = of;
    let low = machine.either(Code::VEX_Vunpcklps_ymm_ymm_ymmm256, Code::EVEX_Vunpcklps_zmm_k1z_zmm_zmmm512b32);
    let high = machine.either(Code::VEX_Vunpckhps_ymm_ymm_ymmm256, Code::EVEX_Vunpckhps_zmm_k1z_zmm_zmmm512b32);
    let lows = machine.either(Code::VEX_Vunpcklpd_ymm_ymm_ymmm256, Code::EVEX_Vunpcklpd_zmm_k1z_zmm_zmmm512b64);
    let highs = machine.either(Code::VEX_Vunpckhpd_ymm_ymm_ymmm256, Code::EVEX_Vunpckhpd_zmm_k1z_zmm_zmmm512b64);
    for (code, to, first, second) in [
        (low, one, a, b),
        (high, b, a, b),
        (low, a, c, d),
        (high, d, c, d),
        // Words 0 and 1 of all are in `one` and `a`, words 2 and 3 in `b` and `d`.
        (lows, c, b, d),
        (highs, d, b, d),
        (highs, b, one, a),
        (lows, a, one, a),
    ] {
        asm.put(Instruction::with3(code, to, first, second))?;
    }
    Ok(())
}

/// First words and second ones, of pairs: the first two of each four lanes in one register, the others in the second one.
pub(super) fn part(asm: &mut Assembler, machine: Machine, of: [Register; 2], one: Register) -> Result<(), TooLarge> {
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let [first, second] = of;
    let shuffle =
        machine.either(Code::VEX_Vshufps_ymm_ymm_ymmm256_imm8, Code::EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8);
    asm.put(Instruction::with4(shuffle, one, first, second, EVEN))?;
    asm.put(Instruction::with4(shuffle, second, first, second, ODD))?;
    asm.put(Instruction::with2(machine.load(), first, one))
}

/// The same undone.
pub(super) fn join(asm: &mut Assembler, machine: Machine, of: [Register; 2], one: Register) -> Result<(), TooLarge> {
    let [first, second] = of;
    let low = machine.either(Code::VEX_Vunpcklps_ymm_ymm_ymmm256, Code::EVEX_Vunpcklps_zmm_k1z_zmm_zmmm512b32);
    let high = machine.either(Code::VEX_Vunpckhps_ymm_ymm_ymmm256, Code::EVEX_Vunpckhps_zmm_k1z_zmm_zmmm512b32);
    asm.put(Instruction::with3(low, one, first, second))?;
    asm.put(Instruction::with3(high, second, first, second))?;
    asm.put(Instruction::with2(machine.load(), first, one))
}

/// Pieces of sixteen bytes of registers in a row: every fourth one's to the first register, and so on, as [`turn`] wants them of
/// each four lanes; done twice, it is undone. Of narrow vectors, every fourth of eight.
pub(super) fn deal(asm: &mut Assembler, machine: Machine, of: [Register; 4], one: Register) -> Result<(), TooLarge> {
    let [a, b, c, d] = of;
    if machine.wide {
        let code = Code::EVEX_Vshuff32x4_zmm_k1z_zmm_zmmm512b32_imm8;
        const FIRST: i32 = 0x44;
        const LAST: i32 = 0xee;
        const EVEN: i32 = 0x88;
        const ODD: i32 = 0xdd;
        for (to, first, second, which) in [
            (one, a, b, FIRST),
            (b, a, b, LAST),
            (a, c, d, FIRST),
            (d, c, d, LAST),
            (c, b, d, EVEN),
            (d, b, d, ODD),
            (b, one, a, ODD),
            (a, one, a, EVEN),
        ] {
            asm.put(Instruction::with4(code, to, first, second, which))?;
        }
        return Ok(());
    }
    // Lanes 0 and 1, 2 and 3, 4 and 5, 6 and 7 become 0 and 4, 1 and 5, 2 and 6, 3 and 7.
    halves(asm, [[a, c], [b, d]], one)?;
    for (to, from) in [(b, c), (c, a), (a, one)] {
        asm.put(Instruction::with2(machine.load(), to, from))?;
    }
    Ok(())
}

/// Narrow vectors: the first halves of two registers, and their second halves. The second pair's replace the first pair's first
/// register, and its own second one; the first pair's go to `one` and to its second register.
fn halves(asm: &mut Assembler, [[a, b], [c, d]]: [[Register; 2]; 2], one: Register) -> Result<(), TooLarge> {
    let code = Code::VEX_Vperm2f128_ymm_ymm_ymmm256_imm8;
    const LOW: i32 = 0x20;
    const HIGH: i32 = 0x31;
    for (to, first, second, which) in [(one, a, b, LOW), (b, a, b, HIGH), (a, c, d, LOW), (d, c, d, HIGH)] {
        asm.put(Instruction::with4(code, to, first, second, which))?;
    }
    Ok(())
}

/// The same undone.
pub(super) fn collect(asm: &mut Assembler, machine: Machine, of: [Register; 4], one: Register) -> Result<(), TooLarge> {
    if machine.wide {
        return deal(asm, machine, of, one);
    }
    let [a, b, c, d] = of;
    halves(asm, [[a, b], [c, d]], one)?;
    // 0 and 1 are in `one`, 4 and 5 in `b`, 2 and 3 in `a`, 6 and 7 in `d`.
    for (to, from) in [(c, b), (b, a), (a, one)] {
        asm.put(Instruction::with2(machine.load(), to, from))?;
    }
    Ok(())
}

/// Two registers of pairs in a row: as [`part`] wants them.
pub(super) fn deal_pairs(
    asm: &mut Assembler,
    machine: Machine,
    of: [Register; 2],
    one: Register,
) -> Result<(), TooLarge> {
    let [first, second] = of;
    let (code, even, odd) = match machine.wide {
        true => (Code::EVEX_Vshuff32x4_zmm_k1z_zmm_zmmm512b32_imm8, 0x88, 0xdd),
        false => (Code::VEX_Vperm2f128_ymm_ymm_ymmm256_imm8, 0x20, 0x31),
    };
    asm.put(Instruction::with4(code, one, first, second, even))?;
    asm.put(Instruction::with4(code, second, first, second, odd))?;
    asm.put(Instruction::with2(machine.load(), first, one))
}

/// The same undone.
pub(super) fn collect_pairs(
    asm: &mut Assembler,
    machine: Machine,
    of: [Register; 2],
    one: Register,
) -> Result<(), TooLarge> {
    let [first, second] = of;
    if !machine.wide {
        // It is undone by itself.
        return deal_pairs(asm, machine, of, one);
    }
    // Pieces 0, 2, 4, 6 and 1, 3, 5, 7: first 0, 2, 1, 3 and 4, 6, 5, 7.
    let code = Code::EVEX_Vshuff32x4_zmm_k1z_zmm_zmmm512b32_imm8;
    asm.put(Instruction::with4(code, one, first, second, 0x44))?;
    asm.put(Instruction::with4(code, second, first, second, 0xee))?;
    asm.put(Instruction::with4(code, first, one, one, 0xd8))?;
    asm.put(Instruction::with4(code, second, second, second, 0xd8))
}
