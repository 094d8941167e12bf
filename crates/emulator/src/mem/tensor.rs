//! Descriptors of the tensor data mover (gfx1250), and the pieces of memory and LDS that they name.
//!
//! A descriptor is 20 dwords in four groups of scalar registers. The layout is that of Triton's TDMUtility, of MLIR's
//! lowering of `amdgpu.make_dma_descriptor`, of composable_kernel's `amd_tdm_descriptor` and of AMD's ISA guide to
//! CDNA5 (10.11), which agree, except for one pair of bits: MLIR has the bits of gather mode and of the index size the
//! other way round. Of what the guide leaves open or calls unpredictable nothing is guessed: [`Descriptor::new`] says
//! by name which field asks for it.
//!
//! * Dimension 0 is the innermost; strides count elements from one row to the next, plane to plane and so on. A tile's
//!   dimension of zero is unused. `tensor_dim` is what is left of the tensor from the tile's start: what is beyond is
//!   zero to a load, and lost to a store.
//! * Padding leaves holes in LDS: after each `interval` bytes of the tile, `amount` bytes. Stores know none.
//! * Iteration does everything again, each time some elements further in memory and in LDS.
//! * Gather mode takes the rows of a tile of two dimensions from a list of row numbers.

/// The dwords of all four groups; those of groups that are not there are zero.
pub type Dwords = [u32; 20];

/// Gaps in LDS, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Padding {
    interval: u64,
    amount: u64,
}

/// What a descriptor asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Descriptor {
    lds: u32,
    global: u64,
    /// Bytes of an element.
    size: u64,
    padding: Option<Padding>,
    /// Where in LDS the barrier is that hears of the end.
    pub barrier: Option<u32>,
    /// Elements, the innermost dimension first; one where a dimension is unused.
    tile: [u64; 5],
    tensor: [u64; 5],
    /// In elements, of dimensions 1 and up.
    strides: [u64; 4],
    /// Row numbers, in gather mode.
    rows: Option<Vec<u64>>,
    /// What is outside of the tensor gets zeros in LDS; else nothing is read there.
    loads: bool,
    times: u64,
    /// What each time adds, in bytes.
    lds_step: u64,
    global_step: u64,
}

/// Neighbouring bytes of LDS, and where they are in memory, unless they are outside of the tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub lds: u64,
    pub global: Option<u64>,
    pub len: u64,
}

const ADDRESS: u64 = (1 << 57) - 1;

/// Some bits of consecutive dwords.
fn bits(dwords: &[u32], first: usize, count: usize) -> u64 {
    let dword = |k: usize| u128::from(dwords.get(first / 32 + k).copied().unwrap_or(0)) << (32 * k);
    let all = dword(0) | dword(1) | dword(2);
    (all >> (first % 32)) as u64 & (u64::MAX >> (64 - count))
}

impl Descriptor {
    /// Of a load into LDS or a store from there; nothing for a null tensor, which moves nothing and signals nothing.
    /// `rank` and `size`: which workgroup of its cluster this one is, and how many that has. Those that share a load each
    /// ask for it, and it comes to each.
    ///
    /// # Errors
    /// In words, the field that asks for something that is not documented or not modelled.
    pub fn new(
        dwords: &Dwords,
        loads: bool,
        (rank, size_of_cluster): (u32, u32),
    ) -> Result<Option<Descriptor>, String> {
        let (g0, g1, g2, g3) = (&dwords[..4], &dwords[4..12], &dwords[12..16], &dwords[16..20]);
        let field = |name: &str, value: u64, why: &str| Err(format!("the descriptor's {name} is {value}: {why}"));
        let count = bits(g0, 0, 2);
        if count > 1 || bits(g0, 2, 1) != 0 || bits(g0, 3, 8) != 0 {
            return field("first dword", g0[0].into(), "it restores a saved wave, which is not modelled");
        }
        if count == 0 {
            return Ok(None);
        }
        if bits(g0, 126, 2) != 2 {
            return field("type", bits(g0, 126, 2), "2 is the only one");
        }
        let mask = bits(g1, 0, 16);
        if loads && mask != 0 && (mask >> rank & 1 == 0 || mask >> size_of_cluster != 0) {
            return field(
                "workgroup_mask",
                mask,
                "it names others than the cluster has, or not the workgroup that loads",
            );
        }
        let (gather, wide) = (bits(g0, 31, 1) != 0, bits(g0, 30, 1) != 0);
        let iterates = bits(g1, 19, 1) != 0 && !gather;
        let size = 1 << bits(g1, 16, 2);
        let tile0 = bits(g1, 112, 16);
        let higher = match (gather, iterates) {
            (true, _) => [bits(g1, 128, 16), 0, 0, 0],
            (_, true) => [bits(g1, 128, 16), bits(g1, 144, 16), 0, 0],
            _ => [bits(g1, 128, 16), bits(g1, 144, 16), bits(g2, 112, 16), bits(g3, 80, 16)],
        };
        let barrier = (bits(g1, 18, 1) != 0).then(|| 8 * bits(g1, 32, 16) as u32);
        if tile0 == 0 && barrier.is_some() {
            return field("tile_dim0", 0, "whether atomic_barrier_enable counts then is not documented");
        }
        let used = higher.iter().take_while(|&&dim| dim != 0).count();
        if let Some(skipped) = higher.iter().skip(used).position(|&dim| dim != 0) {
            let why = format!("tile_dim{} is not, which is not documented", used + 1 + skipped);
            return field(&format!("tile_dim{}", used + 1), 0, &why);
        }
        let padding = (bits(g1, 20, 1) != 0 && loads)
            .then(|| Padding { interval: 8 << bits(g1, 22, 3), amount: 4 * (bits(g1, 25, 7) + 1) });
        if padding.is_some() && !(tile0 * size).is_multiple_of(4) {
            return field("tile_dim0", tile0, "with pad_enable rows of whole dwords are needed");
        }
        let times = if iterates { bits(g2, 112, 16) + 1 } else { 1 };
        if iterates && bits(g3, 80, 16) != 0 {
            return field("tile_dim4", bits(g3, 80, 16), "iterate_enable leaves three dimensions");
        }
        if times > 256 {
            return field("iterate_count", times - 1, "what is above 255 is not documented");
        }
        let tile = [tile0, higher[0].max(1), higher[1].max(1), higher[2].max(1), higher[3].max(1)];
        let bytes = tile.iter().fold(size, |all, &dim| all.saturating_mul(dim));
        if let Some(pad) = padding.filter(|pad| times > 1 && !bytes.is_multiple_of(pad.interval)) {
            return field("pad_interval", pad.interval, "(bytes) whether it goes on in the next iteration is unknown");
        }
        let dims = [bits(g1, 48, 32), bits(g1, 80, 32), bits(g2, 0, 32), bits(g2, 32, 32), bits(g3, 48, 32)];
        let is_used = |k: usize| k == 0 || higher[k - 1] != 0;
        let step = |count: u64| if iterates { count * size } else { 0 };
        Ok(Some(Descriptor {
            lds: g0[1],
            global: bits(g0, 64, 57),
            size,
            padding,
            barrier,
            tile,
            tensor: std::array::from_fn(|k| if is_used(k) { dims[k] } else { 1 }),
            strides: [bits(g1, 160, 48), bits(g1, 208, 48), bits(g2, 64, 48), bits(g3, 0, 48)],
            loads,
            rows: gather.then(|| Self::rows(&dwords[12..], wide, higher[0], dims[1])).transpose()?,
            times,
            lds_step: step(bits(g2, 32, 32)),
            global_step: step(bits(g2, 64, 48)),
        }))
    }

    fn rows(indices: &[u32], wide: bool, count: u64, end: u64) -> Result<Vec<u64>, String> {
        let (width, most) = if wide { (32, 8) } else { (16, 16) };
        if count == 0 || count > most {
            return Err(format!("the descriptor's tile_dim1 is {count}: there are 1 to {most} row numbers"));
        }
        let rows: Vec<u64> = (0..count as usize).map(|k| bits(indices, width * k, width)).collect();
        if rows.iter().any(|&row| row >= end) && !rows.is_sorted() {
            return Err("row numbers beyond tensor_dim1 are only documented in ascending order".into());
        }
        Ok(rows)
    }

    /// How often everything is done.
    pub fn times(&self) -> u64 {
        self.times
    }

    /// Where in LDS the tile ends, the first time, as far as anything moves.
    pub fn end(&self) -> u64 {
        let [width, ..] = self.tile;
        let inside = if self.loads { width } else { width.min(self.tensor[0]) };
        let rows = self.moving_rows();
        let bytes = if rows == 0 || inside == 0 {
            0
        } else {
            (rows - 1).saturating_mul(width).saturating_add(inside).saturating_mul(self.size)
        };
        let gaps = self.padding.map_or(0, |pad| (bytes.saturating_sub(1) / pad.interval).saturating_mul(pad.amount));
        u64::from(self.lds).saturating_add(bytes).saturating_add(gaps)
    }

    /// The tile's rows up to the last that moves.
    fn moving_rows(&self) -> u64 {
        let [_, rows, planes, third, fourth] = self.tile;
        if self.loads {
            return [planes, third, fourth].iter().fold(rows, |all, &dim| all.saturating_mul(dim));
        }
        let inside = |k: usize| self.tile[k].min(self.tensor[k]);
        let in_plane = match &self.rows {
            Some(list) => list.iter().rposition(|&row| row < self.tensor[1]).map_or(0, |last| last as u64 + 1),
            None => inside(1),
        };
        let last = |count: u64| count.checked_sub(1);
        let (Some(y), Some(plane), Some(third_at), Some(fourth_at)) =
            (last(in_plane), last(inside(2)), last(inside(3)), last(inside(4)))
        else {
            return 0;
        };
        let place = fourth_at.saturating_mul(third).saturating_add(third_at);
        let place = place.saturating_mul(planes).saturating_add(plane);
        place.saturating_mul(rows).saturating_add(y).saturating_add(1)
    }

    /// The bytes that move the `time`th time, in order.
    pub fn pieces(&self, time: u64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let [width, rows, planes, third, _] = self.tile;
        let inside = width.min(self.tensor[0]);
        let lds = u64::from(self.lds) + time * self.lds_step;
        let global = self.global.wrapping_add(time * self.global_step);
        let mut done = 0;
        for index in 0..self.moving_rows() {
            let y = index % rows;
            let row = self.rows.as_ref().map_or(y, |list| list[y as usize]);
            let at = [row, index / rows % planes, index / rows / planes % third, index / rows / planes / third];
            let is_inside = (0..4).all(|k| at[k] < self.tensor[k + 1]);
            let elements = (0..4).fold(0u64, |sum, k| sum.wrapping_add(at[k].wrapping_mul(self.strides[k])));
            let start = global.wrapping_add(elements.wrapping_mul(self.size)) & ADDRESS;
            let inside = if is_inside { inside * self.size } else { 0 };
            self.row(&mut pieces, lds, done, Some(start), inside);
            self.row(&mut pieces, lds, done + inside, None, width * self.size - inside);
            done += width * self.size;
        }
        pieces
    }

    /// `len` bytes of a row, `done` bytes behind the tile's start, padding not counted.
    fn row(&self, pieces: &mut Vec<Piece>, lds: u64, mut done: u64, mut global: Option<u64>, mut len: u64) {
        while len > 0 {
            let (gap, some) = match self.padding {
                Some(pad) => (done / pad.interval * pad.amount, len.min(pad.interval - done % pad.interval)),
                None => (0, len),
            };
            pieces.push(Piece { lds: lds + done + gap, global, len: some });
            (done, len) = (done + some, len - some);
            global = global.map(|at| at + some);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tile of some dimensions, of dwords from 0x100 in LDS on, in a tensor with `left` elements left in each dimension.
    fn descriptor(tile: [u64; 3], tensor: [u64; 3], loads: bool) -> Descriptor {
        let mut dwords: Dwords = [0; 20];
        let mut set = |first: usize, value: u64| {
            let wide = u128::from(value) << (first % 32);
            (0..3).for_each(|k| dwords[first / 32 + k] |= (wide >> (32 * k)) as u32);
        };
        set(0, 1);
        set(32, 0x100);
        set(64, 1 << 20);
        set(126, 2);
        let group = 128;
        set(group + 16, 2);
        set(group + 48, tensor[0]);
        set(group + 80, tensor[1]);
        set(group + 112, tile[0]);
        set(group + 128, tile[1]);
        set(group + 144, tile[2]);
        set(group + 160, tensor[0]);
        set(group + 208, tensor[0] * tensor[1]);
        set(256 + 128, tensor[2]);
        Descriptor::new(&dwords, loads, (0, 1)).expect("it is documented").expect("no null tensor")
    }

    #[test]
    fn a_store_reaches_no_further_than_what_it_stores() {
        // Rows of four with two behind each that only keep LDS's banks apart.
        let bytes = |rows: u64, last: u64| 0x100 + 4 * (6 * rows + last);
        for (tile, tensor, loaded, stored) in [
            ([6, 4, 0], [4, 4, 0], bytes(4, 0), bytes(3, 4)),
            ([6, 4, 0], [4, 2, 0], bytes(4, 0), bytes(1, 4)),
            ([6, 4, 3], [4, 4, 2], bytes(12, 0), bytes(7, 4)),
            ([6, 4, 3], [9, 3, 3], bytes(12, 0), bytes(11, 0)),
            ([6, 4, 0], [4, 0, 0], bytes(4, 0), bytes(0, 0)),
        ] {
            for (loads, end) in [(true, loaded), (false, stored)] {
                let descriptor = descriptor(tile, tensor, loads);
                assert_eq!(descriptor.end(), end, "{tile:?} in {tensor:?}, loads: {loads}");
                let moves = |piece: &&Piece| loads || piece.global.is_some();
                let pieces = descriptor.pieces(0);
                let last = pieces.iter().filter(moves).map(|piece| piece.lds + piece.len).max();
                assert_eq!(last.unwrap_or(0x100), end, "{tile:?} in {tensor:?}, loads: {loads}");
            }
        }
    }
}
