//! The address that an instruction accesses, from its inputs.

use std::fmt::Write;

use crate::template::AddressShape;

/// Writes the computation of the address; gives its text, an i64. `inputs` are the raw parts.
pub fn compute(body: &mut String, index: usize, shape: &AddressShape, inputs: &[String]) -> String {
    let mut sum = "0".to_owned();
    for (n, (part, input)) in shape.parts.iter().zip(inputs).enumerate() {
        let mut value = input.clone();
        if part.units == 1 {
            let extend = if part.signed { "sext" } else { "zext" };
            let _ = writeln!(body, "  %p{index}.{n} = {extend} i32 {value} to i64");
            value = format!("%p{index}.{n}");
        }
        if part.shift != 0 {
            let _ = writeln!(body, "  %q{index}.{n} = shl i64 {value}, {}", part.shift);
            value = format!("%q{index}.{n}");
        }
        let _ = writeln!(body, "  %u{index}.{n} = add i64 {sum}, {value}");
        sum = format!("%u{index}.{n}");
    }
    sum
}
