//! Rows of words by the host's vectors.
//!
//! These are spelt out: where such loops stand in loops over registers, the compiler does several registers at a time, by
//! gathers and scatters.

#[cfg(target_arch = "x86_64")]
use super::lanes::{Job, Lanes, by_widest};
#[cfg(target_arch = "x86_64")]
use crate::level::{Level, level};

/// What a row of `N` words becomes, by vectors, and the same for any processor.
macro_rules! by_vectors {
    ($(#[$doc:meta])* $name:ident($($x:ident: $type:ty),*) $plain:block $L:ident $vectors:block) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<const N: usize>($($x: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                const { assert!(N.is_multiple_of(16)) };
                struct Rows<T>(T);
                impl<const N: usize> Job for Rows<($($type,)*)> {
                    type Result = ();
                    #[inline(always)]
                    unsafe fn run<$L: Lanes>(self) {
                        let Rows(($($x,)*)) = self;
                        // SAFETY: rows have `N` words; the processor is what the caller says.
                        unsafe { $vectors }
                    }
                }
                if level() != Level::Base {
                    by_widest(Rows(($($x,)*)));
                    return;
                }
            }
            $plain
        }
    };
}

by_vectors! {
    /// Fields of words, some of their bits inverted.
    take(words: &[u32; N], shift: u32, mask: u32, inverted: u32, fields: &mut [u32; N]) {
        for i in 0..N {
            fields[i] = (words[i] >> shift & mask) ^ inverted;
        }
    }
    L {
        for i in (0..N).step_by(L::N) {
            let field = L::and(L::down(L::load_int(words.as_ptr().add(i).cast()), shift), L::all_int(mask as i32));
            L::store_int(fields.as_mut_ptr().add(i).cast(), L::xor(field, L::all_int(inverted as i32)));
        }
    }
}

by_vectors! {
    /// Puts fields into words, whose other bits stay.
    put(fields: &[u32; N], shift: u32, mask: u32, words: &mut [u32; N]) {
        for i in 0..N {
            words[i] = words[i] & !(mask << shift) | fields[i] << shift;
        }
    }
    L {
        for i in (0..N).step_by(L::N) {
            let kept = L::and(L::load_int(words.as_ptr().add(i).cast()), L::all_int(!(mask << shift) as i32));
            let field = L::up(L::load_int(fields.as_ptr().add(i).cast()), shift);
            L::store_int(words.as_mut_ptr().add(i).cast(), L::xor(kept, field));
        }
    }
}

by_vectors! {
    /// Multiplies numbers by powers of two.
    scale(values: &mut [f32; N], powers: &[i32; N]) {
        for i in 0..N {
            values[i] *= f32::from_bits(((powers[i] + 127) as u32) << 23);
        }
    }
    L {
        for i in (0..N).step_by(L::N) {
            let power = L::add(L::load_int(powers.as_ptr().add(i)), L::all_int(127));
            let value = L::multiply(L::load(values.as_ptr().add(i)), L::as_float(L::up(power, 23)));
            L::store(values.as_mut_ptr().add(i).cast(), value);
        }
    }
}

by_vectors! {
    /// Adds to words, which may be two numbers each.
    add_words(words: &mut [u32; N], more: &[i32; N]) {
        for i in 0..N {
            words[i] = words[i].wrapping_add(more[i] as u32);
        }
    }
    L {
        for i in (0..N).step_by(L::N) {
            let sum = L::add(L::load_int(words.as_ptr().add(i).cast()), L::load_int(more.as_ptr().add(i)));
            L::store_int(words.as_mut_ptr().add(i).cast(), sum);
        }
    }
}

by_vectors! {
    /// Adds to numbers.
    add(numbers: &mut [i32; N], more: &[i32; N]) {
        for i in 0..N {
            numbers[i] += more[i];
        }
    }
    L {
        for i in (0..N).step_by(L::N) {
            let sum = L::add(L::load_int(numbers.as_ptr().add(i)), L::load_int(more.as_ptr().add(i)));
            L::store_int(numbers.as_mut_ptr().add(i), sum);
        }
    }
}
