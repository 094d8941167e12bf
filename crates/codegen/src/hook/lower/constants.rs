//! Tables of constants: read-only memory that is placed with the hook.

use super::{
    super::ast::{At, Expr, Table, Type},
    Body, Val, ll, ll_memory,
};
use crate::template::HookError;

/// The IR name of the `number`th table.
fn name(number: usize) -> String {
    format!("@luthier.table.{number}")
}

/// The bytes of one element.
fn size(table: &Table) -> usize {
    Type::from(table.of).bits().div_ceil(8) as usize
}

/// The table's definition. Behind its elements stands one more, a zero, for what it does not have.
pub fn definition(number: usize, table: &Table) -> String {
    let size = size(table);
    let bytes = table.data.len() / 2 + size;
    let mut text = String::with_capacity(3 * bytes);
    for pair in table.data.as_bytes().chunks_exact(2) {
        text.push('\\');
        text.push_str(&String::from_utf8_lossy(pair));
    }
    (0..size).for_each(|_| text.push_str("\\00"));
    let name = name(number);
    format!("{name} = private unnamed_addr addrspace(4) constant [{bytes} x i8] c\"{text}\", align 16\n")
}

impl<'u> Body<'_, 'u> {
    /// An element, loaded from where it lies.
    pub(super) fn element(
        &mut self,
        number: usize,
        places: &'u [(u32, Expr)],
        ty: Type,
        at: At,
    ) -> Result<Val, HookError> {
        let Some(table) = self.module.unit.tables.get(number) else {
            return self.fail(at, format!("the hook has no table {number}"));
        };
        let count = table.data.len() / 2 / size(table);
        let own = self.is_of_lanes(|found| places.iter().any(|(_, p)| found.loads.contains(&std::ptr::from_ref(p))));
        let (mut index, mut inside) = ("0".to_owned(), "true".to_owned());
        for (extent, place) in places {
            let place = self.expr(place)?;
            // A negative one is a very large one.
            let wide = if place.ty.bits() > 32 { Type::U64 } else { Type::U32 };
            let place = self.cast(place, wide, at)?;
            let is_one = self.op(format!("icmp ult {}, {extent}", place.typed()));
            inside = self.op(format!("select i1 {inside}, i1 {is_one}, i1 false"));
            let place = self.cast(place, Type::U32, at)?;
            let rows = self.op(format!("mul i32 {index}, {extent}"));
            index = self.op(format!("add i32 {rows}, {}", place.text));
        }
        let index = self.op(format!("select i1 {inside}, i32 {index}, i32 {count}"));
        let index = self.op(format!("zext i32 {index} to i64"));
        let of = table.of;
        let load = move |body: &mut Self| {
            let place = format!("getelementptr {}, ptr addrspace(4) {}, i64 {index}", ll_memory(of), name(number));
            let place = body.op(place);
            let align = Type::from(of).bits().div_ceil(8);
            let text = body.op(format!("load {}, ptr addrspace(4) {place}, align {align}", ll_memory(of)));
            let text = if of == super::Scalar::Bool { body.op(format!("icmp ne i8 {text}, 0")) } else { text };
            Ok(Some(Val { ty, text }))
        };
        debug_assert_eq!(ll(ty), ll(of.into()));
        let found = if own { self.with_lanes(load)? } else { load(self)? };
        match found {
            Some(value) => Ok(value),
            None => self.fail(at, "this has no value"),
        }
    }
}
