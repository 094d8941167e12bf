//! Packed conversions in strict mode: each number that is converted makes its own bits of the result undefined, and no
//! others.

#![expect(clippy::single_range_in_vec_init, reason = "undefined bits lie in any number of places, often one")]

mod support;

use std::ops::Range;

use luthier_emulator::{Finding, FindingKind, Strict};
use luthier_isa::Target;
use support::{Asm, assemble_for, assemble_rdna, load_for};

/// A conversion into registers from v40 on, and which bits it leaves undefined. v0 is defined, v8 to v11 and v16 to v21
/// are, and what else `setup` writes.
struct Case {
    setup: &'static str,
    conversion: &'static str,
    registers: u32,
    undefined: &'static [Range<u32>],
}

const fn case(setup: &'static str, conversion: &'static str, registers: u32, undefined: &'static [Range<u32>]) -> Case {
    Case { setup, conversion, registers, undefined }
}

/// v2 has only its low half.
const LOW_HALF: &str = "v_lshlrev_b32_e32 v2, 16, v30\nv_alignbit_b32 v2, v2, v2, 16\nv_and_b32_e32 v3, 0xffff0000, v30\nv_or_b32_e32 v2, v0, v3";
/// v2 lacks its second byte.
const NO_SECOND_BYTE: &str = "v_and_b32_e32 v2, 0xff00, v30\nv_or_b32_e32 v2, v0, v2";
/// v40 is written.
const BEFORE: &str = "v_mov_b32_e32 v40, 0";

const ALL: &[Range<u32>] = &[0..32];

/// What processors of 64 lanes have.
const CDNA: &[(&[Target], &[Case])] = &[
    (
        &[Target::Gfx90a, Target::Gfx942, Target::Gfx950],
        &[
            case("", "v_cvt_pkrtz_f16_f32 v40, v8, v30", 1, &[16..32]),
            case("", "v_cvt_pkrtz_f16_f32 v40, v30, v8", 1, &[0..16]),
            case("", "v_cvt_pk_i16_i32 v40, v8, v30", 1, &[16..32]),
            case("", "v_cvt_pknorm_u16_f32 v40, v30, v30", 1, ALL),
            case(LOW_HALF, "v_cvt_pknorm_i16_f16 v40, v2, v30", 1, &[16..32]),
            case(LOW_HALF, "v_pack_b32_f16 v40, v2, v2 op_sel:[0,1,0]", 1, &[16..32]),
            case(LOW_HALF, "v_sat_pk_u8_i16_e32 v40, v2", 1, &[8..16]),
            case("", "v_cvt_pk_u8_f32 v40, v30, 2, v8", 1, &[16..24]),
            case(NO_SECOND_BYTE, "v_cvt_pk_u8_f32 v40, v8, 2, v2", 1, &[8..16]),
            case(NO_SECOND_BYTE, "v_cvt_pk_u8_f32 v40, v8, 1, v2", 1, &[]),
            case(BEFORE, "v_cvt_pkaccum_u8_f32 v40, v30, 3", 1, &[24..32]),
            case("", "v_cvt_pkaccum_u8_f32 v40, v8, 3", 1, &[0..24]),
        ],
    ),
    (
        &[Target::Gfx942, Target::Gfx950],
        &[
            case("", "v_cvt_pk_fp8_f32 v40, v8, v9", 1, &[16..32]),
            case(BEFORE, "v_cvt_pk_bf8_f32 v40, v30, v9", 1, &[0..8]),
            case(BEFORE, "v_cvt_pk_fp8_f32 v40, v8, v30 op_sel:[0,0,1]", 1, &[24..32]),
            case("", "v_cvt_pk_fp8_f32 v40, v8, v9 op_sel:[0,0,1]", 1, &[0..16]),
            case("", "v_cvt_sr_fp8_f32 v40, v8, v9 op_sel:[0,0,1,0]", 1, &[0..8, 16..32]),
            case(BEFORE, "v_cvt_sr_bf8_f32 v40, v8, v30 op_sel:[0,0,1,1]", 1, &[24..32]),
            case(NO_SECOND_BYTE, "v_cvt_pk_f32_fp8_e32 v[40:41], v2", 2, &[32..64]),
            case(NO_SECOND_BYTE, "v_cvt_pk_f32_bf8_sdwa v[40:41], v2 src0_sel:WORD_1", 2, &[]),
            case(NO_SECOND_BYTE, "v_cvt_f32_fp8_e32 v40, v2", 1, &[]),
            case(NO_SECOND_BYTE, "v_cvt_f32_fp8_sdwa v40, v2 src0_sel:BYTE_1", 1, ALL),
        ],
    ),
    (
        &[Target::Gfx950],
        &[
            case("", "v_cvt_pk_f16_f32 v40, v30, v8", 1, &[0..16]),
            case("", "v_cvt_pk_bf16_f32 v40, v8, v30", 1, &[16..32]),
            case(BEFORE, "v_cvt_sr_f16_f32 v40, v30, v8 op_sel:[0,0,1]", 1, &[16..32]),
            case("", "v_cvt_scalef32_pk_fp8_f32 v40, v8, v9, v10", 1, &[16..32]),
            case(BEFORE, "v_cvt_scalef32_pk_fp8_f32 v40, v8, v30, v10 op_sel:[0,0,0,1]", 1, &[24..32]),
            case(BEFORE, "v_cvt_scalef32_pk_bf8_f32 v40, v8, v9, v30", 1, &[0..16]),
            case(LOW_HALF, "v_mov_b32_e32 v40, 0\nv_cvt_scalef32_pk_fp8_f16 v40, v2, v10", 1, &[8..16]),
            case(BEFORE, "v_cvt_scalef32_pk_fp4_f32 v40, v8, v30, v10 op_sel:[0,0,1,0]", 1, &[12..16]),
            case(BEFORE, "v_cvt_scalef32_sr_pk_fp4_f32 v40, v[8:9], v10, v11 op_sel:[0,0,1,1]", 1, &[]),
            case(BEFORE, "v_cvt_scalef32_sr_fp8_f32 v40, v30, v10, v11 op_sel:[0,0,0,1]", 1, &[16..24]),
            case(NO_SECOND_BYTE, "v_cvt_scalef32_pk_f32_fp8 v[40:41], v2, v10", 2, &[32..64]),
            case(NO_SECOND_BYTE, "v_cvt_scalef32_pk_f16_fp8 v40, v2, v10", 1, &[16..32]),
            case(NO_SECOND_BYTE, "v_cvt_scalef32_pk_f16_fp8 v40, v2, v10 op_sel:[1,0,0]", 1, &[]),
            case(NO_SECOND_BYTE, "v_cvt_scalef32_pk_f32_fp4 v[40:41], v2, v10 op_sel:[1,0,0]", 2, &[0..64]),
            case(NO_SECOND_BYTE, "v_cvt_scalef32_pk_f32_fp4 v[40:41], v2, v10 op_sel:[0,1,0]", 2, &[]),
            case(BEFORE, "v_cvt_scalef32_f16_fp8 v40, v30, v10 op_sel:[0,0,1]", 1, &[16..32]),
            case(
                LOW_HALF,
                "v_mov_b32_e32 v3, v0\nv_mov_b32_e32 v4, v30\nv_mov_b32_e32 v5, v0\nv_mov_b32_e32 v6, v0\nv_mov_b32_e32 v7, v0\nv_cvt_scalef32_pk32_f16_fp6 v[40:55], v[2:7], v10",
                16,
                &[32..96, 160..256],
            ),
        ],
    ),
];

const GFX1250: &[(&[Target], &[Case])] = &[(
    &[Target::Gfx1250],
    &[
        case("", "v_cvt_pk_f16_f32 v40, v30, v8", 1, &[0..16]),
        case("", "v_cvt_sr_pk_bf16_f32 v40, v8, v30, v9", 1, &[16..32]),
        case("", "v_cvt_sr_pk_f16_f32 v40, v8, v9, v30", 1, ALL),
        case("", "v_cvt_pk_fp8_f32 v40, v8, v9", 1, &[16..32]),
        case(BEFORE, "v_cvt_pk_fp8_f32 v40, v8, v30 op_sel:[0,0,1]", 1, &[24..32]),
        case(LOW_HALF, "v_mov_b32_e32 v40, 0\nv_cvt_pk_fp8_f16 v40, v2", 1, &[8..16]),
        case(NO_SECOND_BYTE, "v_cvt_pk_f32_fp8_e32 v[40:41], v2", 2, &[32..64]),
        case(NO_SECOND_BYTE, "v_cvt_pk_f16_fp8 v40, v2", 1, &[16..32]),
        case(NO_SECOND_BYTE, "v_cvt_f32_fp8_e64 v40, v2 byte_sel:1", 1, ALL),
        case(NO_SECOND_BYTE, "v_cvt_f32_fp8_e64 v40, v2 byte_sel:2", 1, &[]),
        case(NO_SECOND_BYTE, "v_mov_b32_e32 v40, 0\nv_sat_pk4_i4_i8_e32 v40, v2", 1, &[4..8]),
        // Two of eight numbers.
        case("", "v_cvt_scalef32_pk8_fp8_f32 v[40:41], v[20:27], v10", 2, &[16..64]),
        case("", "v_cvt_scalef32_pk8_fp4_f32 v40, v[20:27], v10", 1, &[8..32]),
        case("", "v_cvt_scalef32_pk8_fp8_f32 v[40:41], v[8:15], v30", 2, &[0..64]),
        case("", "v_cvt_scalef32_sr_pk8_bf8_f32 v[40:41], v[20:27], v8, v10", 2, &[16..64]),
        case("", "v_cvt_scalef32_pk8_fp8_f16 v[40:41], v[20:23], v10", 2, &[32..64]),
        case("", "v_cvt_scalef32_pk16_fp6_f16 v[40:42], v[16:23], v10", 3, &[72..96]),
        case(NO_SECOND_BYTE, "v_mov_b32_e32 v3, v0\nv_cvt_scale_pk8_f16_fp8 v[40:43], v[2:3], v10", 4, &[16..32]),
        case(NO_SECOND_BYTE, "v_cvt_scale_pk8_f32_fp4 v[40:47], v2, v10", 8, &[64..128]),
        // Which byte of the scale counts is chosen; of small numbers, upper lanes have the next one.
        case(NO_SECOND_BYTE, "v_cvt_scale_pk8_f32_fp8 v[40:47], v[8:9], v2", 8, &[]),
        case(NO_SECOND_BYTE, "v_cvt_scale_pk8_f32_fp8 v[40:47], v[8:9], v2 scale_sel:4", 8, &[0..256]),
        case(NO_SECOND_BYTE, "v_cvt_scale_pk8_f32_fp4 v[40:47], v8, v2", 8, &[0..256]),
        case(
            NO_SECOND_BYTE,
            "v_mov_b32_e32 v3, v0\nv_perm_pk16_b8_u4 v[40:43], v[8:9], v[10:11], v[2:3]",
            4,
            &[16..32],
        ),
    ],
)];

/// Bits that are stored at a time: no conversion makes numbers of an odd size.
const STEP: u32 = 2;

/// A kernel that does what the case does whose number is in the buffer.
fn kernel(target: Target, cases: &[&Case]) -> String {
    let is_new = target == Target::Gfx1250;
    let wait = if is_new { "s_wait_kmcnt 0x0" } else { "s_waitcnt lgkmcnt(0)" };
    let (load, pair) = if is_new { ("s_load_b32", "s_load_b64") } else { ("s_load_dword", "s_load_dwordx2") };
    let store = if is_new { "global_store_b8" } else { "global_store_byte" };
    let mut body = format!(
        "{pair} s[2:3], s[0:1], 0x0\n{wait}\n{load} s4, s[2:3], 0x0\n{wait}\n\
         v_and_b32_e32 v0, 0x3ff, v0\nv_mov_b32_e32 v1, 0\n"
    );
    for defined in (8..12).chain(16..22) {
        body += &format!("v_mov_b32_e32 v{defined}, 0\n");
    }
    for (number, case) in cases.iter().enumerate() {
        let Case { setup, conversion, .. } = case;
        body += &format!(
            "s_cmp_lg_u32 s4, {number}\ns_cbranch_scc1 next{number}\n{setup}\ns_nop 7\n{conversion}\ns_nop 7\n"
        );
        for bit in (0..32 * case.registers).step_by(STEP as usize) {
            let (register, at) = (40 + bit / 32, bit % 32);
            body += &format!("v_bfe_u32 v62, v{register}, {at}, {STEP}\n{store} v1, v62, s[2:3] offset:{bit}\n");
        }
        body += &format!("s_endpgm\nnext{number}:\n");
    }
    body
}

fn check(table: &[(&[Target], &[Case])], target: Target) {
    let of_target = table.iter().filter(|(targets, _)| targets.contains(&target));
    let cases: Vec<&Case> = of_target.flat_map(|(_, cases)| *cases).collect();
    let text = kernel(target, &cases);
    let (lanes, object) = match target {
        Target::Gfx1250 => (32, assemble_rdna(target.name(), 32, &text)),
        _ => (64, assemble_for(target, &text, Asm { vgprs: 64, ..Asm::default() })),
    };
    let loaded = load_for(target, &object, Default::default());
    for (number, case) in (0..).zip(&cases) {
        let mut words = [0; 8 * 16];
        words[0] = number;
        let buffer = loaded.buffer(&words);
        let report = loaded.launch("k", [lanes, 1, 1], [lanes, 1, 1], &[buffer], Strict::On).expect("it runs");
        let bit_of = |finding: &Finding| {
            assert!(finding.kind == FindingKind::UndefinedRegister && finding.text.contains("_store_"), "{finding:?}");
            finding.text.split_once("offset:").map_or(0, |(_, bit)| bit.parse().expect("a number"))
        };
        let mut bits: Vec<u32> = report.findings.iter().map(bit_of).collect();
        bits.sort_unstable();
        let expected = case.undefined.iter().cloned().flat_map(|bits| bits.step_by(STEP as usize));
        assert_eq!(bits, expected.collect::<Vec<u32>>(), "{}: {}\n{}", target.name(), case.setup, case.conversion);
    }
}

#[test]
fn numbers_of_packed_conversions_are_undefined_each_for_itself() {
    [Target::Gfx90a, Target::Gfx942, Target::Gfx950].into_iter().for_each(|target| check(CDNA, target));
}

#[test]
fn numbers_of_gfx1250_s_conversions_are_undefined_each_for_itself() {
    check(GFX1250, Target::Gfx1250);
}
