//! Floating-point dot products against wide integers.

use luthier_isa::Generation;

use crate::fp::dot::reference::{BF8, BF16, Codes, F16, F32, FP8, Format, Sum};
use crate::mode::Mode;
use crate::op::Op;
use crate::valu::run_alone;
use crate::wave::Wave;

struct Form {
    name: &'static str,
    a: Format,
    b: Format,
    result: Format,
    products: usize,
}

const FORMS: [Form; 9] = [
    Form { name: "v_dot2_f32_f16", a: F16, b: F16, result: F32, products: 2 },
    Form { name: "v_dot2_f32_bf16", a: BF16, b: BF16, result: F32, products: 2 },
    Form { name: "v_dot2c_f32_f16", a: F16, b: F16, result: F32, products: 2 },
    Form { name: "v_dot2acc_f32_bf16", a: BF16, b: BF16, result: F32, products: 2 },
    Form { name: "v_dot2_f16_f16", a: F16, b: F16, result: F16, products: 2 },
    Form { name: "v_dot2_bf16_bf16", a: BF16, b: BF16, result: BF16, products: 2 },
    Form { name: "v_dot4_f32_fp8_fp8", a: FP8, b: FP8, result: F32, products: 4 },
    Form { name: "v_dot4_f32_fp8_bf8", a: FP8, b: BF8, result: F32, products: 4 },
    Form { name: "v_dot4_f32_bf8_bf8", a: BF8, b: BF8, result: F32, products: 4 },
];

#[test]
fn sums_are_those_of_wide_integers() {
    for (number, form) in FORMS.iter().enumerate() {
        for rdna3 in [true, false] {
            if rdna3 && form.products == 4 {
                continue;
            }
            let mut codes = Codes::new(number as u64 * 2 + u64::from(rdna3));
            for round in 0..240 {
                let saturates = round % 2 == 1;
                let sum = Sum { rdna3, a: form.a, b: form.b, result: form.result, group: form.products, saturates };
                // Lanes of one round have operands of one kind.
                let (style, c_style) = (codes.next() % 6, codes.next() % 6);
                let mut pick = |f: Format, style: u32| -> Vec<Vec<u32>> {
                    (0..64).map(|_| (0..form.products).map(|_| codes.code(f, style)).collect()).collect()
                };
                let (a, b, c) = (pick(form.a, style), pick(form.b, style), pick(form.result, c_style));
                let word =
                    |codes: &[u32], bits: u32| (0..).zip(codes).fold(0, |word, (k, code)| word | code << (bits * k));
                let set = |w: &mut Wave| {
                    w.generation = if rdna3 { Generation::Gfx11 } else { Generation::Gfx12 };
                    w.mode = Mode(0xf0 | u32::from(saturates) << 23);
                    for i in 0..64 {
                        w.rows[1].0[i] = word(&a[i], form.a.bits());
                        w.rows[2].0[i] = word(&b[i], form.b.bits());
                        w.rows[3].0[i] = c[i][0];
                    }
                };
                let wave = run_alone(form.name, Op { dst: 4, src: [1, 2, 3], ..Op::NOTHING }, set);
                for i in 0..64 {
                    let (got, want) = (wave.rows[4].0[i], sum.of(&a[i], &b[i], c[i][0]));
                    let (name, c) = (form.name, c[i][0]);
                    assert_eq!(got, want, "{name}, RDNA3 {rdna3}: {:x?} {:x?} {c:x}: {got:x} for {want:x}", a[i], b[i]);
                }
            }
        }
    }
}
