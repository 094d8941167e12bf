//! Immediates with a notation of their own that is the same in several generations.

/// `s_waitcnt`: every counter that is waited for; all when none is. Each has its name, its value and its largest value.
pub fn waitcnt(counters: [(&str, u32, u32); 3]) -> String {
    let none = counters.iter().all(|(_, value, max)| value == max);
    let shown = counters.iter().filter(|(_, value, max)| none || value != max);
    shown.map(|(name, value, _)| format!("{name}({value})")).collect::<Vec<_>>().join(" ")
}

/// `s_getreg`, `s_setreg`: register, and the bit range unless it is the whole. `name` is empty for what has none.
pub fn hwreg(raw: u32, name: impl Fn(u32) -> &'static str) -> String {
    let (id, offset, width) = (raw & 0x3f, raw >> 6 & 0x1f, (raw >> 11 & 0x1f) + 1);
    let name = name(id);
    let name = if name.is_empty() { id.to_string() } else { name.to_string() };
    if offset == 0 && width == 32 { format!("hwreg({name})") } else { format!("hwreg({name}, {offset}, {width})") }
}

/// `s_sendmsg` of GCN5, RDNA1 and RDNA2: message, operation and stream where the message has them.
pub fn sendmsg(raw: u32, has_draw_id: bool) -> String {
    let (id, operation, stream) = (raw & 0xf, raw >> 4 & 7, raw >> 8 & 3);
    let name = match id {
        1 => "MSG_INTERRUPT",
        2 => "MSG_GS",
        3 => "MSG_GS_DONE",
        4 => "MSG_SAVEWAVE",
        5 => "MSG_STALL_WAVE_GEN",
        6 => "MSG_HALT_WAVES",
        7 => "MSG_ORDERED_PS_DONE",
        8 => "MSG_EARLY_PRIM_DEALLOC",
        9 => "MSG_GS_ALLOC_REQ",
        10 => "MSG_GET_DOORBELL",
        11 if has_draw_id => "MSG_GET_DDID",
        15 => "MSG_SYSMSG",
        _ => "",
    };
    let geometry = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
    let system = ["SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC"];
    // Bits outside the three fields are not looked at.
    let (has_operation, valid) = match id {
        2 => (true, (1..4).contains(&operation)),
        3 => (true, operation < 4 && (operation > 0 || stream == 0)),
        15 => (true, matches!(operation, 1 | 2 | 4) && stream == 0),
        1 | 4..=11 if !name.is_empty() => (false, operation == 0 && stream == 0),
        _ => (false, false),
    };
    match id {
        _ if !valid && raw & !0x37f == 0 => format!("sendmsg({id}, {operation}, {stream})"),
        _ if !valid => raw.to_string(),
        _ if !has_operation => format!("sendmsg({name})"),
        15 => format!("sendmsg({name}, {})", system[operation as usize - 1]),
        _ if operation == 0 => format!("sendmsg({name}, {})", geometry[0]),
        _ => format!("sendmsg({name}, {}, {stream})", geometry[operation as usize]),
    }
}

/// `s_version`: a processor generation, and what the code was compiled for.
pub fn version(raw: u32) -> String {
    const BITS: [(u32, &str); 3] =
        [(0x2000, "UC_VERSION_W64_BIT"), (0x4000, "UC_VERSION_W32_BIT"), (0x8000, "UC_VERSION_MDP_BIT")];
    let mut text = match raw & 0x1fff {
        0 => "UC_VERSION_GFX7".to_string(),
        4 => "UC_VERSION_GFX10".to_string(),
        6 => "UC_VERSION_GFX11".to_string(),
        9 => "UC_VERSION_GFX12".to_string(),
        n @ ..=255 => n.to_string(),
        _ => return format!("0x{raw:x}"),
    };
    for (name, nested) in BITS.into_iter().filter(|(bit, _)| raw & bit != 0).map(|(_, name)| name).zip(0..) {
        text = if nested == 0 { format!("{text}|{name}") } else { format!("({text})|{name}") };
    }
    text
}
