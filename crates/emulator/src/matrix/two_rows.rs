//! A step of RDNA3's sums for two rows at once, in the numbers of [`super::chain`]: two products each.
//!
//! Instructions of both rows take turns, in an order in which few wait for one just before: the processor's queues are short
//! of what a row takes from its first instruction to its last. (Row by row, with the same instructions, it took a cycle longer.)
//!
//! Functions are for a processor that has what their `L` is named for.

use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::{offset_of, transmute_copy};

use super::chain::vectors::{ALL, LOWEST_OF_HALVES, PLACE, place, units};
use super::held::Held;
use super::lanes::{Lanes, upper_halves};
use super::numbers::MAGNITUDE;
use super::wmma::SIZE;

/// The place of a sum whose unit is zero.
const LOWEST: i32 = 26;

/// Two elements of A in each row.
#[repr(C, align(64))]
pub struct Left {
    pub value: [[f32; SIZE]; 2],
    /// Upper halves of their places: for each pair of rows a word of the first element's and one of the second's.
    pub place: [[u32; 2]; SIZE / 2],
    /// By row: where the negative products of its two elements are counted.
    pub counted: [u32; SIZE],
}

/// Two elements of B in each of some columns, for each of the two rows.
pub struct Right<L: Lanes> {
    pub value: [[L::Float; 2]; 2],
    /// Upper halves of their places, as A's.
    pub place: [L::Int; 2],
}

/// By which of two elements of A are negative, how many of a step's products are, with a minus; then those of the next part
/// of the wave.
pub type Counts = [[i32; SIZE]; 8];

/// Adds them to some columns of `sums`, where two rows follow each other. `row`: the first one's place in `left`; `counts`:
/// those of the columns. Gives the largest magnitude of the sums, if those are f16.
#[inline(always)]
pub unsafe fn add<L: Lanes, R: Held>(
    left: *const Left,
    row: usize,
    right: &Right<L>,
    counts: *const i32,
    sums: *mut u32,
) -> L::Int {
    // SAFETY: as the caller says; `row` and `row + 1` are rows.
    unsafe {
        if L::N == 16 && R::IS_SINGLE {
            let value = |r: usize, j: usize| transmute_copy::<L::Float, __m512>(&right.value[r][j]);
            let place = |j: usize| transmute_copy::<L::Int, __m512i>(&right.place[j]);
            let value = [value(0, 0), value(0, 1), value(1, 0), value(1, 1)];
            add_by_avx512(left.cast::<u32>().add(row), value, [place(0), place(1)], counts, sums);
            return L::all_int(0);
        }
        let places = (&raw const (*left).place).cast::<i32>().add(row);
        let (c0, c1) = (L::load(sums.cast()), L::load(sums.add(SIZE).cast()));
        let both = |j: usize| L::add_halves(L::all_int(places.add(j).read()), right.place[j]);
        let (first, second) = (both(0), both(1));
        let place1 = place::<L>(c1);
        let products = L::max_signed_halves(first, second);
        let negative = |r: usize| {
            let counted = (&raw const (*left).counted).cast::<u32>().add(row + r).read();
            L::load_int(counts.add(counted as usize))
        };
        let product = |r: usize, j: usize| {
            let a = (&raw const (*left).value[j]).cast::<f32>().add(row + r);
            L::multiply(L::all(a.read()), right.value[r][j])
        };
        let (n0, n1) = (negative(0), negative(1));
        let up = L::up(products, 16);
        let (p00, p11) = (product(0, 0), product(1, 1));
        let place0 = place::<L>(c0);
        let p10 = product(1, 0);
        let (mut last0, mut last1) = (L::max(up, place0), L::max_upper_halves(products, place1));
        if R::IS_HALF {
            let least = L::all_int(LOWEST_OF_HALVES << PLACE);
            (last0, last1) = (L::max(last0, least), L::max(last1, least));
        }
        let (units0, units1) = (units::<L>(last0), units::<L>(last1));
        let p01 = product(0, 1);
        let (c0_units, c1_units) = (L::multiply(c0, units0), L::multiply(c1, units1));
        let n0 = L::add_two_where_negative(n0, c0);
        let (p10, p00) = (L::multiply(p10, units1), L::multiply(p00, units0));
        let n1 = L::add_two_where_negative(n1, c1);
        let p01 = L::multiply(p01, units0);
        let (own0, own1) = (L::whole(c0_units), L::whole(c1_units));
        let p11 = L::multiply(p11, units1);
        let (p10, p00, p01, p11) = (L::whole(p10), L::whole(p00), L::whole(p01), L::whole(p11));
        let (own0, own1) = (L::add(own0, n0), L::add(own1, n1));
        let (both0, both1) = (L::add(p00, p01), L::add(p10, p11));
        let (sum0, sum1) = (L::add(both0, own0), L::add(both1, own1));
        let unit = |last| L::as_float(L::sub_down_to_zero(last, L::all_int(LOWEST << PLACE)));
        let (unit0, unit1) = (unit(last0), unit(last1));
        let (sum0, sum1) = (R::rounded::<L>(sum0, unit0), R::rounded::<L>(sum1, unit1));
        L::store(sums.add(SIZE), sum1);
        L::store(sums, sum0);
        if !R::IS_HALF {
            return L::all_int(0);
        }
        let magnitude = |x| L::and(L::as_int(x), L::all_int(MAGNITUDE));
        L::max(magnitude(sum0), magnitude(sum1))
    }
}

/// The same for sums of f32, in an order that was searched for: the compiler puts what waits for an instruction just behind
/// it, and a row takes a third of a cycle longer. `left`: from the first row on.
///
/// zmm16 and 17: places of the products in both rows. Then of the first and the second row: C (18, 19), C in units (20, 21),
/// the coarsest place (22, 23), units (24, 25), what is counted (26, 27), and the products (28, 29 and 30, 31).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
unsafe fn add_by_avx512(left: *const u32, value: [__m512; 4], place: [__m512i; 2], counts: *const i32, sums: *mut u32) {
    // SAFETY: it reads and writes what `add` does.
    unsafe {
        asm!(
            "mov {i0:e}, [{a} + {counted}]",
            "vmovdqu64 zmm19, [{c} + 64]",
            "vpbroadcastd zmm16, [{a} + {places}]",
            "vpaddw zmm16, zmm16, {p0}",
            "vpbroadcastd zmm17, [{a} + {places} + 4]",
            "vpaddw zmm17, zmm17, {p1}",
            "vpandd zmm21, zmm19, {exponents}",
            "vpmaxsw zmm16, zmm16, zmm17",
            "vmovdqu64 zmm18, [{c}]",
            "mov {i1:e}, [{a} + {counted} + 4]",
            "vmovdqu64 zmm26, [{n} + {i0} * 4]",
            "vmovdqu64 zmm27, [{n} + {i1} * 4]",
            "vpslld zmm22, zmm16, 16",
            "vpmovd2m {k0}, zmm18",
            "vpmovd2m {k1}, zmm19",
            "vmulps zmm28, {b00}, dword ptr [{a}]{{1to16}}",
            "vmulps zmm31, {b11}, dword ptr [{a} + {second} + 4]{{1to16}}",
            "vpandd zmm20, zmm18, {exponents}",
            "vmulps zmm29, {b10}, dword ptr [{a} + 4]{{1to16}}",
            "vpmaxsd zmm22, zmm22, zmm20",
            "vpmaxsw zmm23{{{upper}}}{{z}}, zmm16, zmm21",
            "vpsubd zmm24, {all}, zmm22",
            "vpsubd zmm25, {all}, zmm23",
            "vmulps zmm30, {b01}, dword ptr [{a} + {second}]{{1to16}}",
            // In units.
            "vmulps zmm20, zmm18, zmm24",
            "vmulps zmm21, zmm19, zmm25",
            "vpaddd zmm26{{{k0}}}, zmm26, {two}",
            "vmulps zmm29, zmm29, zmm25",
            "vmulps zmm28, zmm28, zmm24",
            "vpaddd zmm27{{{k1}}}, zmm27, {two}",
            "vmulps zmm30, zmm30, zmm24",
            "vcvttps2dq zmm20, zmm20",
            "vcvttps2dq zmm21, zmm21",
            "vmulps zmm31, zmm31, zmm25",
            "vcvttps2dq zmm29, zmm29",
            "vcvttps2dq zmm28, zmm28",
            "vcvttps2dq zmm30, zmm30",
            "vcvttps2dq zmm31, zmm31",
            // Sums.
            "vpaddd zmm20, zmm20, zmm26",
            "vpaddd zmm21, zmm21, zmm27",
            "vpaddd zmm28, zmm28, zmm30",
            "vpaddd zmm29, zmm29, zmm31",
            "vpaddd zmm20, zmm20, zmm28",
            "vpaddd zmm21, zmm21, zmm29",
            "vpsubusw zmm22, zmm22, {lowest}",
            "vpsubusw zmm23, zmm23, {lowest}",
            "vcvtdq2ps zmm20, zmm20",
            "vcvtdq2ps zmm21, zmm21",
            "vfmadd213ps zmm20, zmm22, {zero}",
            "vfmadd213ps zmm21, zmm23, {zero}",
            "vmovups [{c} + 64], zmm21",
            "vmovups [{c}], zmm20",
            second = const offset_of!(Left, value) + size_of::<[f32; SIZE]>(),
            places = const offset_of!(Left, place), counted = const offset_of!(Left, counted),
            a = in(reg) left, n = in(reg) counts, c = in(reg) sums, i0 = out(reg) _, i1 = out(reg) _,
            b00 = in(zmm_reg) value[0], b01 = in(zmm_reg) value[1], b10 = in(zmm_reg) value[2], b11 = in(zmm_reg) value[3],
            p0 = in(zmm_reg) place[0], p1 = in(zmm_reg) place[1],
            exponents = in(zmm_reg) _mm512_set1_epi32(255 << PLACE), all = in(zmm_reg) _mm512_set1_epi32(ALL),
            lowest = in(zmm_reg) _mm512_set1_epi32(LOWEST << PLACE), two = in(zmm_reg) _mm512_set1_epi32(2),
            zero = in(zmm_reg) _mm512_setzero_ps(), upper = in(kreg) upper_halves(), k0 = out(kreg) _, k1 = out(kreg) _,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _,
            out("zmm24") _, out("zmm25") _, out("zmm26") _, out("zmm27") _,
            out("zmm28") _, out("zmm29") _, out("zmm30") _, out("zmm31") _,
            options(nostack, preserves_flags),
        );
    }
}
