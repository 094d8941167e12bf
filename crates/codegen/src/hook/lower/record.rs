//! `record`: lanes, or the wave, put records into a channel's ring, which the host reads meanwhile.
//!
//! The ring begins with three words of the channel's, each in a cache line of its own ([`TAIL`], [`HEAD`], [`DROPPED`]), and
//! goes on with the records at [`RECORDS`]. Positions are counted with 32 bits, which come round; the record of a position is
//! in slot `position % capacity`, and the capacity is a power of two that no wave has more lanes than. The stamp of a record
//! that is there is the position that the next round begins with, so that a ring of zeros is an empty one.
//!
//! * *wait*: positions are reserved by one add. A record is written when the host has taken what was in its slot. What a
//!   lane waits for are positions before all of its wave's, so the first of all that are not written never waits for another.
//! * *drop*: as many positions are reserved as are free; those that find none count what they drop.
//! * *overwrite*: positions are reserved by one add. A record is written when the one a round before has been; its stamp says
//!   meanwhile that nothing is there.

use super::{
    super::ast::{Expr, Record, Type, WhenFull},
    Body, Val, ll,
};
use crate::template::HookError;

/// How many positions are reserved.
const TAIL: u32 = 0;
/// The position up to which the host has read.
const HEAD: u32 = 64;
/// Not 0 when no host reads any more: nothing waits then, and what was not read is lost.
const CLOSED: u32 = 68;
/// How many records were dropped, of 64 bits.
const DROPPED: u32 = 128;
/// Where the records begin.
const RECORDS: u32 = 192;

/// The host takes part.
const SCOPE: &str = "syncscope(\"one-as\")";

impl<'u> Body<'_, 'u> {
    pub(super) fn record(&mut self, expr: &'u Expr, record: &'u Record) -> Result<Option<Val>, HookError> {
        let ring = self.expr(&record.ring)?;
        let ring = Val { text: self.held(&ring), ..ring };
        let values = record.fields.iter().map(|(at, value)| Ok((*at, self.expr(value)?)));
        let values = values.collect::<Result<Vec<_>, HookError>>()?;
        let room = u64::from(record.size) * u64::from(record.capacity) + u64::from(RECORDS);
        if !record.capacity.is_power_of_two() || record.capacity < 64 || room > u64::from(u32::MAX) {
            return self.fail(expr.at, format!("a channel of {} records cannot be", record.capacity));
        }
        if !record.per_wave {
            return self.with_lanes(|body| {
                body.put(record, &ring, &values, None);
                Ok(None)
            });
        }
        let of_lanes = self.is_of_lanes(|found| found.acts.contains(&std::ptr::from_ref(expr)));
        let act = |body: &mut Self| {
            let [first, out] = body.labels(["first", "recorded"]);
            let (_, rank) = body.ranks();
            let is_first = Val { ty: Type::Bool, text: body.op(format!("icmp eq i32 {rank}, 0")) };
            body.branch(&is_first, &first, &out);
            body.begin(&first);
            // LLVM is not to know that it is 0, nor that it is the same in all lanes: it would choose one of them again.
            let nothing = body.op(format!("call i32 asm \"\", \"=v,0\"(i32 {rank})"));
            body.put(record, &ring, &values, Some(&nothing));
            body.jump(&out);
            body.begin(&out);
            Ok(None)
        };
        if of_lanes { self.with_lanes(act) } else { act(self) }
    }

    /// A bool: this is the first of the lanes that are active here, the one that stands in for a wave without any among them.
    pub(super) fn is_first_lane(&mut self) -> Val {
        let (_, rank) = self.ranks();
        Val { ty: Type::Bool, text: self.op(format!("icmp eq i32 {rank}, 0")) }
    }

    /// The lanes that are active here, and how many of them are before this one.
    fn ranks(&mut self) -> (String, String) {
        let mask = self.target("llvm.amdgcn.ballot.i64", "i64", &["i1 true".to_owned()]);
        let low = self.op(format!("trunc i64 {mask} to i32"));
        let high = self.op(format!("lshr i64 {mask}, 32"));
        let high = self.op(format!("trunc i64 {high} to i32"));
        let below = self.target("llvm.amdgcn.mbcnt.lo", "i32", &[format!("i32 {low}"), "i32 0".to_owned()]);
        let rank = self.target("llvm.amdgcn.mbcnt.hi", "i32", &[format!("i32 {high}"), format!("i32 {below}")]);
        (mask, rank)
    }

    /// An address that is made once, and kept: LLVM would make it again in each block.
    fn held(&mut self, address: &Val) -> String {
        self.op(format!("call ptr addrspace(1) asm \"\", \"=s,0\"({})", address.typed()))
    }

    /// Every active lane puts its record into the ring. `alone`: there is one, in which this is 0.
    fn put(&mut self, record: &Record, ring: &Val, values: &[(u32, Val)], alone: Option<&str>) {
        match record.when_full {
            WhenFull::Wait => {
                let position = self.reserve(ring, alone);
                self.wait_for_host(record, ring, &position);
                let slot = self.slot(record, ring, &position);
                self.write(record, &slot, &position, values);
            }
            WhenFull::Overwrite => {
                let position = self.reserve(ring, alone);
                let slot = self.slot(record, ring, &position);
                self.wait_for_round_before(record, ring, &slot, &position);
                self.write(record, &slot, &position, values);
            }
            WhenFull::Drop => {
                let (position, has_room) = self.reserve_free(record, ring, alone.is_some());
                let [write, out] = self.labels(["write", "written"]);
                self.branch(&has_room, &write, &out);
                self.begin(&write);
                let slot = self.slot(record, ring, &position);
                self.write(record, &slot, &position, values);
                self.jump(&out);
                self.begin(&out);
            }
        }
    }

    fn field(&mut self, of: &str, at: u32) -> String {
        self.op(format!("getelementptr i8, ptr addrspace(1) {of}, i64 {at}"))
    }

    fn load_word(&mut self, at: &str) -> String {
        self.op(format!("load atomic i32, ptr addrspace(1) {at} {SCOPE} monotonic, align 4"))
    }

    /// One position for each active lane: LLVM makes one add of it, where there is more than one.
    fn reserve(&mut self, ring: &Val, alone: Option<&str>) -> String {
        let mut tail = self.field(&ring.text, TAIL);
        if let Some(nothing) = alone {
            let nothing = self.op(format!("zext i32 {nothing} to i64"));
            tail = self.op(format!("getelementptr i8, ptr addrspace(1) {tail}, i64 {nothing}"));
        }
        self.op(format!("atomicrmw add ptr addrspace(1) {tail}, i32 1 {SCOPE} monotonic, align 4"))
    }

    fn sleep(&mut self) {
        self.module.declare("llvm.amdgcn.s.sleep", "declare void @llvm.amdgcn.s.sleep(i32 immarg)".to_owned());
        self.line("call void @llvm.amdgcn.s.sleep(i32 1)");
    }

    /// The whole wave waits while `is_blocked` of any of its lanes, as long as the host reads.
    fn wait_while(&mut self, ring: &Val, mut is_blocked: impl FnMut(&mut Self) -> String) {
        let closed = self.field(&ring.text, CLOSED);
        let [sleep, go] = self.labels(["sleep", "go"]);
        let blocked = is_blocked(self);
        let any = self.in_any_lane(&blocked);
        let any = Val { ty: Type::Bool, text: self.rarely(&any) };
        self.branch(&any, &sleep, &go);
        self.begin(&sleep);
        self.sleep();
        let closed = self.load_word(&closed);
        let is_open = self.op(format!("icmp eq i32 {closed}, 0"));
        let blocked = is_blocked(self);
        let stays = self.op(format!("and i1 {blocked}, {is_open}"));
        let any = Val { ty: Type::Bool, text: self.in_any_lane(&stays) };
        self.branch(&any, &sleep, &go);
        self.begin(&go);
    }

    /// A bool of the wave: some active lane has it so.
    fn in_any_lane(&mut self, condition: &str) -> String {
        let lanes = self.target("llvm.amdgcn.ballot.i64", "i64", &[format!("i1 {condition}")]);
        self.op(format!("icmp ne i64 {lanes}, 0"))
    }

    /// A bool that is false nearly always.
    fn rarely(&mut self, condition: &str) -> String {
        self.target("llvm.expect.i1", "i1", &[format!("i1 {condition}"), "i1 false".to_owned()])
    }

    fn wait_for_host(&mut self, record: &Record, ring: &Val, position: &str) {
        let head = self.field(&ring.text, HEAD);
        self.wait_while(ring, |body| {
            let head = body.load_word(&head);
            let used = body.op(format!("sub i32 {position}, {head}"));
            body.op(format!("icmp uge i32 {used}, {}", record.capacity))
        });
    }

    fn wait_for_round_before(&mut self, record: &Record, ring: &Val, slot: &str, position: &str) {
        let stamp = self.field(slot, record.stamp);
        let before = self.op(format!("and i32 {position}, {}", mask(record).cast_signed()));
        self.wait_while(ring, |body| {
            let found = body.load_word(&stamp);
            body.op(format!("icmp ne i32 {found}, {before}"))
        });
        // No multiple of the capacity: nothing is there.
        let nothing = self.op(format!("or i32 {before}, 1"));
        self.line(format!("store atomic i32 {nothing}, ptr addrspace(1) {stamp} {SCOPE} monotonic, align 4"));
        self.line(format!("fence {SCOPE} release"));
    }

    /// Where the record of a position is.
    fn slot(&mut self, record: &Record, ring: &Val, position: &str) -> String {
        let records = self.field(&ring.text, RECORDS);
        let slot = self.op(format!("and i32 {position}, {}", record.capacity - 1));
        let offset = self.op(format!("mul nuw i32 {slot}, {}", record.size));
        let offset = self.op(format!("zext i32 {offset} to i64"));
        self.op(format!("getelementptr i8, ptr addrspace(1) {records}, i64 {offset}"))
    }

    /// The record, then its stamp.
    fn write(&mut self, record: &Record, slot: &str, position: &str, values: &[(u32, Val)]) {
        for (at, value) in values {
            let place = self.field(slot, *at);
            let bits = value.ty.bits();
            let value = match value.ty {
                Type::Bool => format!("i8 {}", self.op(format!("zext i1 {} to i8", value.text))),
                _ => value.typed(),
            };
            self.line(format!("store {value}, ptr addrspace(1) {place}, align {}", bits.div_ceil(8)));
        }
        let last = self.op(format!("or i32 {position}, {}", record.capacity - 1));
        let stamp = self.op(format!("add i32 {last}, 1"));
        let place = self.field(slot, record.stamp);
        self.line(format!("store atomic i32 {stamp}, ptr addrspace(1) {place} {SCOPE} release, align 4"));
    }

    /// A position for each lane that gets one, and a bool: whether it does.
    fn reserve_free(&mut self, record: &Record, ring: &Val, alone: bool) -> (String, Val) {
        let (tail, head) = (self.field(&ring.text, TAIL), self.field(&ring.text, HEAD));
        let (first_position, count) = (self.alloca("i32"), self.alloca("i32"));
        let [lead, again, take, got, drop, out] = self.labels(["lead", "again", "take", "got", "drop", "reserved"]);
        let (mut lanes, mut rank) = ("1".to_owned(), "0".to_owned());
        if alone {
            self.jump(&lead);
        } else {
            let mask;
            (mask, rank) = self.ranks();
            lanes = self.count_bits("ctpop", "", &Val { ty: Type::U64, text: mask });
            let is_first = Val { ty: Type::Bool, text: self.op(format!("icmp eq i32 {rank}, 0")) };
            self.branch(&is_first, &lead, &out);
        }

        self.begin(&lead);
        let seen = self.load_word(&tail);
        self.line(format!("store i32 {seen}, ptr addrspace(5) {first_position}"));
        self.jump(&again);

        self.begin(&again);
        let from = self.op(format!("load i32, ptr addrspace(5) {first_position}"));
        let head = self.load_word(&head);
        let used = self.op(format!("sub i32 {from}, {head}"));
        let free = self.op(format!("sub i32 {}, {used}", record.capacity));
        let list = [format!("i32 {free}"), format!("i32 {lanes}")];
        let some = self.target("llvm.umin.i32", "i32", &list);
        self.line(format!("store i32 {some}, ptr addrspace(5) {count}"));
        let none = self.op(format!("icmp eq i32 {some}, 0"));
        let none = Val { ty: Type::Bool, text: self.rarely(&none) };
        self.branch(&none, &got, &take);

        self.begin(&take);
        let to = self.op(format!("add i32 {from}, {some}"));
        let exchange = format!("i32 {from}, i32 {to} {SCOPE} monotonic monotonic, align 4");
        let pair = self.op(format!("cmpxchg ptr addrspace(1) {tail}, {exchange}"));
        let found = self.op(format!("extractvalue {{ i32, i1 }} {pair}, 0"));
        let done = Val { ty: Type::Bool, text: self.op(format!("extractvalue {{ i32, i1 }} {pair}, 1")) };
        self.line(format!("store i32 {found}, ptr addrspace(5) {first_position}"));
        self.branch(&done, &got, &again);

        self.begin(&got);
        let missing = self.op(format!("sub i32 {lanes}, {some}"));
        let any = self.op(format!("icmp ne i32 {missing}, 0"));
        let any = Val { ty: Type::Bool, text: self.rarely(&any) };
        self.branch(&any, &drop, &out);

        self.begin(&drop);
        let missing = self.op(format!("zext i32 {missing} to i64"));
        let dropped = self.field(&ring.text, DROPPED);
        self.op(format!("atomicrmw add ptr addrspace(1) {dropped}, i64 {missing} {SCOPE} monotonic, align 8"));
        self.jump(&out);

        self.begin(&out);
        let [first_position, count] = [first_position, count].map(|place| {
            let own = self.op(format!("load i32, ptr addrspace(5) {place}"));
            if alone { own } else { self.target("llvm.amdgcn.readfirstlane.i32", "i32", &[format!("i32 {own}")]) }
        });
        let position = self.op(format!("add i32 {first_position}, {rank}"));
        let has_room = self.op(format!("icmp ult i32 {rank}, {count}"));
        (position, Val { ty: Type::Bool, text: has_room })
    }

    /// One add for the wave, whose old value all lanes get. Some lane is active, as the unit says that it needs one.
    pub(super) fn wave_fetch_add(&mut self, pointer: &Val, amount: &Val) -> String {
        let (int, place) = (ll(amount.ty), self.alloca(ll(amount.ty)));
        let [first, out] = self.labels(["first", "added"]);
        self.line(format!("store {int} 0, ptr addrspace(5) {place}"));
        let is_first = self.is_first_lane();
        self.branch(&is_first, &first, &out);
        self.begin(&first);
        let align = amount.ty.bits() / 8;
        let scope = super::intrinsic::ATOMIC;
        let old = self.op(format!("atomicrmw add {}, {} {scope}, align {align}", pointer.typed(), amount.typed()));
        self.line(format!("store {int} {old}, ptr addrspace(5) {place}"));
        self.jump(&out);
        self.begin(&out);
        let own = self.op(format!("load {int}, ptr addrspace(5) {place}"));
        self.target(&format!("llvm.amdgcn.readfirstlane.{int}"), int, &[format!("{int} {own}")])
    }
}

/// What of a position says which round it is in.
fn mask(record: &Record) -> u32 {
    !(record.capacity - 1)
}
