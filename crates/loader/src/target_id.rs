//! Processor and features: `gfx90a:sramecc+:xnack-`.
//!
//! Numbers from LLVM's BinaryFormat/ELF.h; the grammar and what each processor supports from the LLVM AMDGPU usage
//! page, sections "Processors" and "Target ID".

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::LoadError;

/// EF_AMDGPU_MACH of every AMDGCN processor that LLVM 22 knows, and of two that it dropped (gfx940, gfx941).
const MACHS: &[(u32, &str)] = &[
    (0x20, "gfx600"),
    (0x21, "gfx601"),
    (0x22, "gfx700"),
    (0x23, "gfx701"),
    (0x24, "gfx702"),
    (0x25, "gfx703"),
    (0x26, "gfx704"),
    (0x28, "gfx801"),
    (0x29, "gfx802"),
    (0x2a, "gfx803"),
    (0x2b, "gfx810"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3a, "gfx602"),
    (0x3b, "gfx705"),
    (0x3c, "gfx805"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x49, "gfx1250"),
    (0x4a, "gfx1151"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"),
    (0x5f, "gfx9-4-generic"),
    (0x40, "gfx940"),
    (0x4b, "gfx941"),
];

/// The members of each generic processor. All of them have been members since version 1 of the generic processor, which
/// is the lowest there is; code of a lower version serves none.
const GENERIC: &[(&str, &[&str])] = &[
    ("gfx9-generic", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    ("gfx10-3-generic", &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]),
    ("gfx11-generic", &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"]),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

/// Processors with the feature, by the flags that LLVM 22 writes (clang takes no features for gfx125x, the back end
/// does).
const SRAMECC: &[&str] =
    &["gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic", "gfx1250", "gfx1251"];
const XNACK: &[&str] = &[
    "gfx801",
    "gfx810",
    "gfx900",
    "gfx902",
    "gfx904",
    "gfx906",
    "gfx908",
    "gfx909",
    "gfx90a",
    "gfx90c",
    "gfx940",
    "gfx941",
    "gfx942",
    "gfx950",
    "gfx9-generic",
    "gfx9-4-generic",
    "gfx1010",
    "gfx1011",
    "gfx1012",
    "gfx1013",
    "gfx10-1-generic",
    "gfx1250",
    "gfx1251",
];

/// EF_AMDGPU_GENERIC_VERSION, which only v6 has.
pub(crate) fn generic_version(flags: u32, code_object_version: u8) -> u8 {
    if code_object_version >= 6 { (flags >> 24) as u8 } else { 0 }
}

/// What a code object says of one feature in e_flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureSetting {
    /// The processor has no such feature.
    Unsupported,
    /// The code runs with it on or off.
    Any,
    Off,
    On,
}

impl FeatureSetting {
    fn from_v4(bits: u32) -> FeatureSetting {
        match bits & 3 {
            0 => FeatureSetting::Unsupported,
            1 => FeatureSetting::Any,
            2 => FeatureSetting::Off,
            _ => FeatureSetting::On,
        }
    }

    /// `None` where the code does not care.
    pub fn required(self) -> Option<bool> {
        match self {
            FeatureSetting::Unsupported | FeatureSetting::Any => None,
            FeatureSetting::Off => Some(false),
            FeatureSetting::On => Some(true),
        }
    }

    /// The code may find it turned on.
    pub fn may_be_on(self) -> bool {
        matches!(self, FeatureSetting::Any | FeatureSetting::On)
    }
}

/// A processor and what is required of its optional features. Prints and parses as `gfx90a:sramecc+:xnack-`.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize)]
pub struct TargetId {
    /// LLVM's name: `gfx90a`, `gfx9-generic`.
    pub processor: String,
    /// Required on or off; `None` when the code runs with either, or the processor does not have the feature.
    pub sramecc: Option<bool>,
    pub xnack: Option<bool>,
}

impl TargetId {
    /// Without any feature: `gfx90a`.
    pub fn of_processor(processor: impl Into<String>) -> TargetId {
        TargetId { processor: processor.into(), sramecc: None, xnack: None }
    }

    /// From e_flags, with the meaning that code object version `version` gives them. Also the raw sramecc and xnack
    /// settings, in this order.
    pub(crate) fn from_flags(flags: u32, version: u8) -> Result<(TargetId, FeatureSetting, FeatureSetting), LoadError> {
        let mach = flags & 0xff;
        let (_, processor) =
            MACHS.iter().find(|(number, _)| *number == mach).ok_or(LoadError::UnknownProcessor { mach })?;
        let (sramecc, xnack) = if version >= 4 {
            (FeatureSetting::from_v4(flags >> 10), FeatureSetting::from_v4(flags >> 8))
        } else {
            // v3 has one bit for each, and no "any".
            let v3 = |supported: &[&str], bit: u32| match (supported.contains(processor), flags & bit != 0) {
                (false, _) => FeatureSetting::Unsupported,
                (true, false) => FeatureSetting::Off,
                (true, true) => FeatureSetting::On,
            };
            (v3(SRAMECC, 0x200), v3(XNACK, 0x100))
        };
        let target =
            TargetId { processor: processor.to_string(), sramecc: sramecc.required(), xnack: xnack.required() };
        Ok((target, sramecc, xnack))
    }

    /// Whether the name is one of LLVM's AMDGCN processors.
    pub fn is_known(&self) -> bool {
        MACHS.iter().any(|(_, name)| *name == self.processor)
    }

    /// Whether it stands for several processors: `gfx9-generic`.
    pub fn is_generic(&self) -> bool {
        GENERIC.iter().any(|(name, _)| *name == self.processor)
    }

    /// The generic processor that code for `self` may be built for instead: of gfx906, `gfx9-generic`.
    pub fn generic(&self) -> Option<&'static str> {
        GENERIC.iter().find(|(_, members)| members.contains(&self.processor.as_str())).map(|(name, _)| *name)
    }

    /// Whether code for this generic processor, of this version of its definition, runs on all its members.
    pub(crate) fn serves_members(&self, version: u8) -> bool {
        version >= 1
    }

    /// Whether the processor has the feature at all: a code object then says whether it needs it on, off or does not
    /// care.
    pub fn supports_sramecc(&self) -> bool {
        SRAMECC.contains(&self.processor.as_str())
    }
    pub fn supports_xnack(&self) -> bool {
        XNACK.contains(&self.processor.as_str())
    }

    /// That LLVM knows the processor, and that it has the features that are asked for.
    pub fn check(&self) -> Result<(), LoadError> {
        let bad = |reason| LoadError::BadTargetId { text: self.to_string(), reason };
        if !self.is_known() {
            return Err(bad("LLVM 22 has no such processor"));
        }
        if self.sramecc.is_some() && !self.supports_sramecc() {
            return Err(bad("the processor has no sramecc"));
        }
        if self.xnack.is_some() && !self.supports_xnack() {
            return Err(bad("the processor has no xnack"));
        }
        Ok(())
    }

    /// Whether the HSA runtime loads code built for `self` on an agent whose target id is `agent`: the processor is the
    /// agent's or a generic one that it belongs to, and every feature that the code settles is settled so by the agent.
    /// The version of generic code, which is not part of a target id, is a matter of
    /// [`CodeObject::runs_on`](crate::CodeObject::runs_on).
    pub fn runs_on(&self, agent: &TargetId) -> bool {
        let same = |code: Option<bool>, agent: Option<bool>| code.is_none() || code == agent;
        (self.processor == agent.processor || agent.generic() == Some(&self.processor))
            && same(self.sramecc, agent.sramecc)
            && same(self.xnack, agent.xnack)
    }

    /// How well code built for `self` suits a device (or wish) `device`: `None` when it cannot run there, higher is
    /// better. A feature that `device` leaves open is taken as the hardware's default, sramecc on and xnack off, when
    /// there is a choice.
    pub fn suits(&self, device: &TargetId) -> Option<u32> {
        let mut score = 0;
        if self.processor == device.processor {
            score += 100;
        } else {
            let (_, members) = GENERIC.iter().find(|(name, _)| *name == self.processor)?;
            if !members.contains(&device.processor.as_str()) {
                return None;
            }
        }
        for (code, device, default) in [(self.sramecc, device.sramecc, true), (self.xnack, device.xnack, false)] {
            score += match (code, device) {
                (None, None) => 4,
                (None, Some(_)) => 1,
                (Some(code), Some(device)) if code == device => 4,
                (Some(_), Some(_)) => return None,
                (Some(code), None) if code == default => 2,
                (Some(_), None) => 0,
            };
        }
        Some(score)
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.processor)?;
        for (name, value) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            if let Some(on) = value {
                write!(f, ":{name}{}", if on { '+' } else { '-' })?;
            }
        }
        Ok(())
    }
}

/// LLVM's environment of code whose generic address space is 0, which all code has had for years.
const ENVIRONMENT: &str = "-amdhsa-amdgiz-";

impl FromStr for TargetId {
    type Err = LoadError;

    /// `gfx90a:xnack+`, also with a triple (`amdgcn-amd-amdhsa--gfx90a`) or an offload kind before it
    /// (`hipv4-amdgcn-amd-amdhsa--gfx90a`).
    fn from_str(text: &str) -> Result<TargetId, LoadError> {
        let bad = |reason| LoadError::BadTargetId { text: text.chars().take(200).collect(), reason };
        // The processor follows the triple's empty environment component; generic names contain single dashes only. XLA's
        // triple has an environment, and an empty vendor.
        let id = match (text.split_once(ENVIRONMENT), text.rfind("--")) {
            (Some((_, id)), _) => id,
            (None, Some(at)) => &text[at + 2..],
            (None, None) => match text.find("-gfx") {
                Some(at) => &text[at + 1..],
                None => text,
            },
        };
        let mut parts = id.split(':');
        let processor = parts.next().unwrap_or_default();
        if processor.is_empty() {
            return Err(bad("it names no processor"));
        }
        if !processor.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Err(bad("a processor name has letters, digits and dashes only"));
        }
        if processor.contains("-gfx") {
            return Err(bad("it names two processors"));
        }
        let mut target = TargetId::of_processor(processor);
        for part in parts {
            let (name, value) = if let Some(name) = part.strip_suffix('+') {
                (name, true)
            } else if let Some(name) = part.strip_suffix('-') {
                (name, false)
            } else {
                return Err(bad("a feature ends in + or -"));
            };
            let slot = match name {
                "sramecc" => &mut target.sramecc,
                "xnack" => &mut target.xnack,
                _ => return Err(bad("the features are sramecc and xnack")),
            };
            if slot.replace(value).is_some() {
                return Err(bad("a feature is given twice"));
            }
        }
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::TargetId;

    #[test]
    fn a_target_id_is_found_behind_every_triple_that_compilers_write() {
        for triple in ["", "amdgcn-amd-amdhsa--", "hipv4-amdgcn-amd-amdhsa--", "amdgcn--amdhsa-amdgiz-"] {
            let id: TargetId = format!("{triple}gfx942:sramecc+:xnack-").parse().expect("known");
            assert_eq!(id.to_string(), "gfx942:sramecc+:xnack-", "{triple}");
        }
        assert!("amdgcn--amdhsa-amdgiz-".parse::<TargetId>().is_err());
    }
}
