//! Which bytes a launch of one of HIP's copying kernels moves.

use super::kind::{Kind, Shape, half_word, word};

/// A box of bytes in memory: where it begins, and from one row and slice to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub start: u64,
    pub row: u64,
    pub slice: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Memory(Place),
    /// A pattern of this many bytes, repeated.
    Pattern {
        start: u64,
        len: u64,
    },
}

/// `width` bytes of each of `rows` rows of `slices` slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    pub width: u64,
    pub rows: u64,
    pub slices: u64,
    pub to: Place,
    pub from: Source,
}

/// A pattern has at most this many bytes.
const LONGEST_PATTERN: u64 = 256;

impl Plan {
    /// What a launch with these arguments does. `None`: less than all of it, nothing, or in an order that matters.
    pub fn of(kind: Kind, arguments: &[u8], shape: &Shape) -> Option<Plan> {
        let a = |at: usize| word(arguments, at);
        let h = |at: usize| half_word(arguments, at).map(u64::from);
        let reaches = |sizes: [u64; 3]| (0..3).all(|i| sizes[i] <= u64::from(shape.grid[i]));
        // Work-items of the x axis do all of `count` things, each those that lie `step` apart.
        let step_over = |count: u64, step: u64, workgroup: u64| {
            (workgroup == u64::from(shape.workgroup[0]) && step != 0 && reaches([count.min(step), 1, 1])).then_some(())
        };
        match kind {
            Kind::Linear => {
                let (size, remain) = (a(32)?, half_word(arguments, 40)?);
                let bytes = match remain {
                    8 => size,
                    0..4 => size.checked_sub(1)?.checked_mul(4)? + u64::from(remain),
                    _ => return None,
                };
                reaches([size, 1, 1]).then_some(())?;
                Plan::linear(a(0)?.checked_add(a(16)?)?, a(8)?.checked_add(a(24)?)?, bytes)
            }
            Kind::LinearAligned => {
                let unit = if half_word(arguments, 40)? == 16 { 16 } else { 4 };
                let place = |base: u64, origin: u64| base.checked_add(origin.checked_mul(unit)?);
                let size = a(32)?;
                reaches([size, 1, 1]).then_some(())?;
                Plan::linear(place(a(0)?, a(16)?)?, place(a(8)?, a(24)?)?, size.checked_mul(unit)?)
            }
            Kind::Rect | Kind::RectAligned => {
                let unit = match kind {
                    Kind::Rect => 1,
                    _ if a(120)? == 16 => 16,
                    _ => 4,
                };
                let place = |base: u64, at: usize| {
                    let (row, slice) = (a(at)?.checked_mul(unit)?, a(at + 8)?.checked_mul(unit)?);
                    Some(Place { start: base.checked_add(a(at + 16)?.checked_mul(unit)?)?, row, slice })
                };
                let sizes = [a(96)?, a(104)?, a(112)?];
                reaches(sizes).then_some(())?;
                Plan {
                    width: sizes[0].checked_mul(unit)?,
                    rows: sizes[1],
                    slices: sizes[2],
                    to: place(a(8)?, 64)?,
                    from: Source::Memory(place(a(0)?, 32)?),
                }
                .checked()
            }
            Kind::Fill | Kind::Fill2D => {
                let (number, base) = (0..4).rev().map(|i| (i, a(8 * i))).find(|(_, base)| *base != Some(0))?;
                let unit = 1u64 << number;
                let (pattern, elements, offset) = (a(32)?, u64::from(half_word(arguments, 40)?), a(48)?);
                let len = elements.checked_mul(unit).filter(|len| *len <= LONGEST_PATTERN)?;
                let start = base?.checked_add(offset.checked_mul(unit)?)?;
                let from = Source::Pattern { start: pattern, len };
                let (width, rows, row) = if kind == Kind::Fill {
                    reaches([a(56)?, 1, 1]).then_some(())?;
                    (a(56)?.checked_mul(len)?, 1, 0)
                } else {
                    // Elements of longer patterns would lie over one another.
                    let sizes = [a(56)?, a(64)?, 1];
                    (elements == 1 && reaches(sizes)).then_some(())?;
                    (sizes[0].checked_mul(unit)?, sizes[1], a(72)?.checked_mul(unit)?)
                };
                Plan { width, rows, slices: 1, to: Place { start, row, slice: 0 }, from }.checked()
            }
            Kind::Stepped => {
                let (to, size, rest) = (a(8)?, a(16)?, h(24)?);
                let unit = if h(28)? == 16 { 16 } else { 4 };
                let words = a(32)?.checked_sub(to)?.div_ceil(unit);
                step_over(words, h(40)?, h(44)?)?;
                let bytes = words.checked_mul(unit)?;
                let whole = rest == 0 || size.checked_sub(rest) == Some(bytes);
                whole.then_some(())?;
                Plan::linear(a(0)?, to, bytes.checked_add(rest)?)
            }
            Kind::SteppedFill => {
                let (start, elements, step) = (a(0)?, h(16)?, h(32)?);
                let unit = match h(20)? {
                    unit @ (2 | 4 | 8 | 16) => unit,
                    _ => 1,
                };
                let len = elements.checked_mul(unit).filter(|len| (1..=LONGEST_PATTERN).contains(len))?;
                // Patterns that begin elsewhere would lie over one another.
                step.is_multiple_of(elements).then_some(())?;
                let count = a(24)?.checked_sub(start)?.div_ceil(len);
                step_over(count, step / elements, h(36)?)?;
                let to = Place { start, row: 0, slice: 0 };
                Plan {
                    width: count.checked_mul(len)?,
                    rows: 1,
                    slices: 1,
                    to,
                    from: Source::Pattern { start: a(8)?, len },
                }
                .checked()
            }
        }
    }

    fn linear(from: u64, to: u64, bytes: u64) -> Option<Plan> {
        let place = |start| Place { start, row: 0, slice: 0 };
        Plan { width: bytes, rows: 1, slices: 1, to: place(to), from: Source::Memory(place(from)) }.checked()
    }

    fn checked(self) -> Option<Plan> {
        let (extent, to) = (self.extent(&self.to)?, self.to);
        if let Source::Memory(from) = self.from {
            self.extent(&from)?;
        }
        let rows_apart = self.rows == 1 || to.row >= self.width;
        let slices_apart = self.slices == 1 || to.slice >= (self.rows - 1) * to.row + self.width;
        (extent != 0 && rows_apart && slices_apart).then_some(self)
    }

    /// Bytes from the first that a box has in memory to behind its last; `None` if it has none, or has no end.
    pub fn extent(&self, place: &Place) -> Option<u64> {
        if self.width == 0 {
            return None;
        }
        let rows = self.rows.checked_sub(1)?.checked_mul(place.row)?;
        let slices = self.slices.checked_sub(1)?.checked_mul(place.slice)?;
        let extent = rows.checked_add(slices)?.checked_add(self.width)?;
        place.start.checked_add(extent).map(|_| extent)
    }

    /// Where each row begins, from the start of the box.
    pub fn offsets(&self, place: Place) -> impl Iterator<Item = u64> + use<> {
        let rows = self.rows;
        (0..self.slices).flat_map(move |z| (0..rows).map(move |y| z * place.slice + y * place.row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(grid: [u32; 3]) -> Shape {
        Shape { grid, workgroup: [64, 1, 1] }
    }

    fn arguments(words: &[(usize, u64)]) -> Vec<u8> {
        let mut bytes = vec![0; 128];
        for &(at, value) in words {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn last_work_item_of_a_copy_moves_what_remains() {
        let given = arguments(&[(0, 0x1000), (8, 0x2000), (16, 5), (24, 9), (32, 11), (40, 3)]);
        let plan = Plan::of(Kind::Linear, &given, &of([256, 1, 1])).expect("possible");
        assert_eq!((plan.width, plan.to.start), (43, 0x2009));
        assert_eq!(plan.from, Source::Memory(Place { start: 0x1005, row: 0, slice: 0 }));
    }

    #[test]
    fn launch_that_does_not_reach_the_end_is_left_to_the_kernel() {
        let given = arguments(&[(0, 0x1000), (8, 0x2000), (32, 300), (40, 4)]);
        assert_eq!(Plan::of(Kind::LinearAligned, &given, &of([256, 1, 1])), None);
        assert!(Plan::of(Kind::LinearAligned, &given, &of([300, 1, 1])).is_some());
    }

    #[test]
    fn boxes_whose_rows_lie_over_one_another_are_left_to_the_kernel() {
        let rect = |pitch| {
            arguments(&[
                (0, 0x1000),
                (8, 0x9000),
                (32, 64),
                (40, 640),
                (64, pitch),
                (72, 640),
                (96, 20),
                (104, 10),
                (112, 2),
            ])
        };
        assert_eq!(Plan::of(Kind::Rect, &rect(19), &of([32, 16, 2])), None);
        let plan = Plan::of(Kind::Rect, &rect(20), &of([32, 16, 2])).expect("possible");
        assert_eq!(plan.extent(&plan.to), Some(640 + 9 * 20 + 20));
        assert_eq!(plan.offsets(plan.to).nth(11), Some(640 + 20));
    }

    #[test]
    fn sizes_that_no_memory_has_are_left_to_the_kernel() {
        for size in [0, u64::MAX, 1 << 62] {
            let given = arguments(&[(0, 0x1000), (8, 0x2000), (32, size), (40, 16)]);
            assert_eq!(Plan::of(Kind::LinearAligned, &given, &of([u32::MAX, 1, 1])), None, "{size}");
        }
    }

    #[test]
    fn a_fill_takes_the_widest_pointer_that_it_is_given() {
        let given = arguments(&[(0, 0x100), (16, 0x3000), (32, 0x50), (40, 2), (48, 7), (56, 100)]);
        let plan = Plan::of(Kind::Fill, &given, &of([256, 1, 1])).expect("possible");
        assert_eq!((plan.to.start, plan.width, plan.from), (0x301c, 800, Source::Pattern { start: 0x50, len: 8 }));
    }

    #[test]
    fn work_items_that_step_move_all_words_and_what_remains() {
        let pair = |low: u64, high: u64| low | high << 32;
        // 75 words of 16 bytes and 3 bytes, by 64 work-items that step by 64.
        let given = |step, workgroup, rest| {
            let (sizes, steps) = (pair(rest, 16), pair(step, workgroup));
            arguments(&[(0, 0x1000), (8, 0x2000), (16, 1203), (24, sizes), (32, 0x2000 + 1200), (40, steps)])
        };
        let plan = Plan::of(Kind::Stepped, &given(64, 64, 3), &of([64, 1, 1])).expect("possible");
        assert_eq!((plan.width, plan.to.start), (1203, 0x2000));
        for (step, workgroup, rest) in [(65, 64, 3), (64, 32, 3), (0, 64, 3), (64, 64, 4)] {
            assert_eq!(Plan::of(Kind::Stepped, &given(step, workgroup, rest), &of([64, 1, 1])), None);
        }
    }

    #[test]
    fn a_fill_that_steps_writes_whole_patterns() {
        let pair = |low: u64, high: u64| low | high << 32;
        // Patterns of three words, as many as begin within 100 bytes.
        let given = |step| arguments(&[(0, 0x1000), (8, 0x50), (16, pair(3, 4)), (24, 0x1064), (32, pair(step, 64))]);
        let plan = Plan::of(Kind::SteppedFill, &given(192), &of([64, 1, 1])).expect("possible");
        assert_eq!((plan.width, plan.from), (108, Source::Pattern { start: 0x50, len: 12 }));
        assert_eq!(Plan::of(Kind::SteppedFill, &given(100), &of([64, 1, 1])), None);
    }
}
