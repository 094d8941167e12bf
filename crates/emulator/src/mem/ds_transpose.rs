//! `ds_read_b64_tr_*`, `ds_read_b96_tr_b6`: loads that transpose a matrix on the way, among sixteen lanes.
//!
//! Sixteen lanes hold the rows of a matrix of sixteen columns one after the other, each lane as many neighbouring
//! elements as it loads. Afterwards each lane has a column: element `k` comes from row `k`. (Triton's layouts for these
//! instructions, in its unit tests of `chooseDsReadB64TrLayout`, say so for 16 and 8 bits; the others follow suit.)

use luthier_isa::op::Op as IsaOp;

use super::access::Rows;
use super::{Action, Transfer, ds};
use crate::fp::small::packed;
use crate::op::{Flow, Handler, Op};
use crate::registers::Row;
use crate::wave::Wave;

/// Lanes that exchange.
const GROUP: usize = 16;

/// `WORDS` a lane of elements of `BITS` bits.
fn transposed<const WORDS: usize, const BITS: usize>(w: &mut Wave, op: &Op) -> Flow {
    let exec = w.exec();
    let offsets = w.row(op.src[0]).0.map(|o| o.wrapping_add(op.imm as u32));
    let rows = Rows { dst: op.dst, data: op.dst, words: WORDS as u8 };
    let flow = ds::access(w, Action::Load(Transfer::Words), rows, &offsets, exec);
    if flow != Flow::Next {
        return flow;
    }
    let loaded: [Row; WORDS] = std::array::from_fn(|k| *w.row(op.dst + k as u16));
    let elements = 32 * WORDS / BITS;
    let lanes_a_row = GROUP / elements;
    let mut out = [Row::ZERO; WORDS];
    for lane in 0..64 {
        let (first, column) = (lane & !(GROUP - 1), lane % GROUP);
        for k in 0..elements {
            let from = first + k * lanes_a_row + column / elements;
            // What a lane that is off would have loaded is undefined.
            if exec >> from & 1 == 0 {
                continue;
            }
            let element = u64::from(packed(|i| loaded[i].0[from], BITS as u32, column % elements));
            let placed = element << (k * BITS % 32);
            let word = k * BITS / 32;
            out[word].0[lane] |= placed as u32;
            if placed >> 32 != 0 {
                out[word + 1].0[lane] |= (placed >> 32) as u32;
            }
        }
    }
    for (k, row) in out.iter().enumerate() {
        w.write(op.dst + k as u16, row);
    }
    Flow::Next
}

/// The handler of an operation.
pub fn lookup(op: IsaOp) -> Option<Handler> {
    match op {
        IsaOp::DsReadB64TrB16 => Some(transposed::<2, 16>),
        IsaOp::DsReadB64TrB8 => Some(transposed::<2, 8>),
        IsaOp::DsReadB64TrB4 => Some(transposed::<2, 4>),
        IsaOp::DsReadB96TrB6 => Some(transposed::<3, 6>),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lds::Lds;

    /// A matrix of `elements` rows and sixteen columns, each element its place, comes back by columns.
    fn check(base: &str, words: usize, bits: usize) {
        let elements = 32 * words / bits;
        let lds = Lds::new(64 * 16);
        let mut wave = Wave::new();
        wave.set_exec(!0);
        for lane in 0..64 {
            let mut value = 0u128;
            for i in 0..elements {
                let place = lane % GROUP * elements + i;
                value |= (place as u128 & ((1 << bits) - 1)) << (i * bits);
            }
            wave.rows[0].0[lane] = 16 * lane as u32;
            for k in 0..words {
                lds.store32(16 * lane as u32 + 4 * k as u32, (value >> (32 * k)) as u32).expect("inside");
            }
        }
        wave.lds = std::rc::Rc::new(lds);
        let op = Op { dst: 4, src: [0; 3], ..Op::NOTHING };
        let run = IsaOp::from_name(base).and_then(super::lookup).expect("a transposing load");
        // SAFETY: a plain function; all rows are in the file.
        assert_eq!(unsafe { run(&mut wave, &op) }, Flow::Next);
        for lane in 0..64 {
            for k in 0..elements {
                let got = packed(|i| wave.rows[4 + i].0[lane], bits as u32, k);
                assert_eq!(got as usize, (k * GROUP + lane % GROUP) & ((1 << bits) - 1), "{base} lane {lane} row {k}");
            }
        }
    }

    #[test]
    fn rows_become_columns() {
        check("ds_read_b64_tr_b16", 2, 16);
        check("ds_read_b64_tr_b8", 2, 8);
        check("ds_read_b64_tr_b4", 2, 4);
        check("ds_read_b96_tr_b6", 3, 6);
    }
}
