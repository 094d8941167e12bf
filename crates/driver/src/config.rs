//! What the mock GPUs are, from environment variables.

use luthier_emulator::environment;
use luthier_emulator::{FindingKind, Kinds, Schedule, Strict, TARGETS};
use luthier_isa::Target;

use crate::card::{self, CARDS, Card};
use crate::partition::{Partition, WHOLE};
use crate::told::{Size, Told};

/// The mock GPUs of a process.
#[derive(Clone, Debug)]
pub struct Config {
    pub target: Target,
    pub gpus: u32,
    /// What each of them is: a card, or a part of one.
    pub card: Card,
    /// How a card is divided into GPUs.
    pub partition: Partition,
    /// Bytes of local memory of each.
    pub memory: u64,
    pub compute_units: u32,
    /// One node that is CPU and GPU, without local memory and without checks of addresses.
    pub apu: bool,
    pub strict: Strict,
    /// Instructions after which a workgroup is given up.
    pub watchdog: u64,
    /// Workers of a launch; 0: one for each core.
    pub threads: usize,
    /// How the waves of a launch take turns.
    pub schedule: Schedule,
    /// Findings that the account keeps are not said.
    pub keep_findings: bool,
    /// Says on standard error what is asked of the driver, and each packet.
    pub log: bool,
    /// HIP's copies and fills are done by the driver, not by the kernels.
    pub copies: bool,
    /// No packet does anything: what is left is what the runtime itself costs.
    pub idle: bool,
}

/// GPUs of one process.
pub const MOST_GPUS: u32 = 8;

impl Config {
    /// From the process's environment.
    ///
    /// # Errors
    /// What is wrong with a variable, in a line.
    pub fn from_environment() -> Result<Config, String> {
        // What is no text is not taken for a variable that is not there.
        let text = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
        Config::read(|name| text(name).filter(|value| !value.is_empty()))
    }

    /// From variables that `get` knows.
    ///
    /// # Errors
    /// As [`Config::from_environment`].
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Config, String> {
        Config::read_told(Told::Variables, get)
    }

    /// From variables that `get` knows; its user has told sizes by them or by options.
    ///
    /// # Errors
    /// As [`Config::from_environment`].
    pub fn read_told(told: Told, get: impl Fn(&str) -> Option<String>) -> Result<Config, String> {
        let size = |size: Size| get(size.variable());
        let (card, partition, target, gpus) = gpus(told, size(Size::Mock).as_deref(), size(Size::As).as_deref())?;
        let impossible = |written: &str, range: &std::ops::RangeInclusive<u64>| {
            format!("{written} is not possible: it is a whole number from {} to {}", range.start(), range.end())
        };
        let number = |name: &str, default: u64, range: std::ops::RangeInclusive<u64>| match get(name) {
            None => Ok(default),
            Some(text) => {
                let found = text.parse().ok().filter(|n| range.contains(n));
                found.ok_or_else(|| impossible(&format!("{name}={text}"), &range))
            }
        };
        let flag = |name: &str| get(name).is_some_and(|value| value != "0");
        environment::check_words(&get)?;
        let compute_units = match size(Size::Cus) {
            None => card.map_or(8, |card| card.compute_units),
            Some(text) => {
                let (range, found) = (1..=512, text.parse().ok());
                let found = found.filter(|n| range.contains(&u64::from(*n)));
                found.ok_or_else(|| impossible(&told.written(Size::Cus, &text), &range))?
            }
        };
        let card = card.unwrap_or_else(|| card::small(target, compute_units));
        Ok(Config {
            target,
            gpus,
            card,
            partition,
            memory: match size(Size::Memory) {
                None => card.memory << 30,
                Some(text) => bytes(&text).filter(|n| (64 << 20..=1 << 42).contains(n)).ok_or_else(|| {
                    let written = told.written(Size::Memory, &text);
                    format!("{written} is not possible: it is a size from 64M to 4T, such as 16G")
                })?,
            },
            compute_units,
            apu: flag("LUTHIER_MOCK_APU"),
            strict: strict(get("LUTHIER_STRICT").as_deref().unwrap_or("0"))?,
            watchdog: number("LUTHIER_WATCHDOG", 1_000_000_000_000, 1..=u64::MAX)?,
            threads: number("LUTHIER_THREADS", 0, 0..=1024)? as usize,
            schedule: schedule(get("LUTHIER_SCHEDULE").as_deref().unwrap_or("fair"))?,
            keep_findings: match get("LUTHIER_MOCK_FINDINGS").as_deref() {
                None | Some("say") => false,
                Some("keep") => true,
                Some(text) => return Err(format!("LUTHIER_MOCK_FINDINGS={text} is not possible: it is say or keep")),
            },
            log: flag("LUTHIER_MOCK_LOG"),
            copies: match get("LUTHIER_MOCK_COPIES").as_deref() {
                // A tool may have changed the kernels, or count what they do.
                None => get("HSA_TOOLS_LIB").is_none(),
                Some("driver") => true,
                Some("kernels") => false,
                Some(text) => {
                    return Err(format!("LUTHIER_MOCK_COPIES={text} is not possible: it is driver or kernels"));
                }
            },
            idle: flag("LUTHIER_MOCK_IDLE"),
        })
    }
}

/// The card or the part of one that each GPU is, if one is named; how it is divided; the processor, and how many GPUs.
fn gpus(told: Told, mock: Option<&str>, named: Option<&str>) -> Result<(Option<Card>, Partition, Target, u32), String> {
    let Some(name) = named else {
        let (target, count) = devices(told, mock.unwrap_or("gfx90a"))?;
        return Ok((None, WHOLE, target, count));
    };
    let written = told.written(Size::As, name);
    let (plain, mode) = name.split_once(':').map_or((name, None), |(plain, mode)| (plain, Some(mode)));
    let card = card::named(plain).ok_or_else(|| {
        let known: Vec<_> = CARDS.iter().map(|card| card.name).collect();
        format!("{written}: there is no such card here; there are {}", known.join(", "))
    })?;
    let (target, count) = mock.map_or(Ok((card.target, 1)), |mock| devices(told, mock))?;
    if target != card.target {
        let (is, other, asks) = (card.target.name(), target.name(), told.name(Size::Mock));
        return Err(format!("{written}: its processor is {is}, and {asks} asks for {other}"));
    }
    let partition = mode.map_or(Ok(WHOLE), |mode| Partition::of(card, mode));
    let partition = partition.map_err(|why| format!("{written}: {why}"))?;
    let gpus = count * partition.parts;
    if gpus > MOST_GPUS {
        return Err(format!("{written}: {count} of them are {gpus} GPUs, and a process has at most {MOST_GPUS}"));
    }
    Ok((Some(partition.share(card)), partition, target, gpus))
}

fn devices(told: Told, text: &str) -> Result<(Target, u32), String> {
    let written = told.written(Size::Mock, text);
    let (name, count) = text.split_once(',').unwrap_or((text, "1"));
    let target = TARGETS.into_iter().find(|target| target.name() == name).ok_or_else(|| {
        let known: Vec<_> = TARGETS.iter().map(|target| target.name()).collect();
        format!("{written}: the mock driver cannot be {name}; it can be {}", known.join(", "))
    })?;
    let count = count.parse().ok().filter(|n| (1..=MOST_GPUS).contains(n));
    let count = count.ok_or_else(|| format!("{written}: behind the comma is a number from 1 to {MOST_GPUS}"))?;
    Ok((target, count))
}

fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        b'T' | b't' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn strict(text: &str) -> Result<Strict, String> {
    match text {
        "0" => Ok(Strict::Off),
        "1" => Ok(Strict::On),
        _ => {
            let mut kinds = Kinds::empty();
            for name in text.split(',') {
                kinds |= Kinds::named(name).ok_or_else(|| {
                    let known: Vec<_> = FindingKind::ALL.iter().map(|kind| kind.name()).collect();
                    format!("LUTHIER_STRICT={text}: no findings are called {name}; there are all, {}", known.join(", "))
                })?;
            }
            Ok(Strict::Only(kinds))
        }
    }
}

fn schedule(text: &str) -> Result<Schedule, String> {
    match text.parse() {
        Ok(schedule @ (Schedule::Fair | Schedule::Alternate | Schedule::Random(_))) => Ok(schedule),
        _ => Err(format!("LUTHIER_SCHEDULE={text}: programs run under fair, alternate or random:SEED")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, String> {
        Config::read(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
    }

    fn with_options(pairs: &[(Size, &str)]) -> Result<Config, String> {
        Config::read_told(Told::Options, |name| {
            pairs.iter().find(|(size, _)| size.variable() == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn variables_say_what_the_gpus_are() {
        let config =
            with(&[("LUTHIER_MOCK", "gfx1030,3"), ("LUTHIER_MOCK_MEMORY", "2G"), ("LUTHIER_STRICT", "lds-race")]);
        let config = config.expect("possible");
        assert_eq!((config.target, config.gpus, config.memory), (Target::Gfx1030, 3, 2 << 30));
        assert_eq!(config.strict, Strict::Only(FindingKind::LdsRace.into()));
        assert_eq!(with(&[("LUTHIER_STRICT", "all")]).expect("possible").strict, Strict::Only(Kinds::ALL));
        let plain = with(&[]).expect("possible");
        assert_eq!((plain.target, plain.gpus, plain.apu, plain.strict), (Target::Gfx90a, 1, false, Strict::Off));
        let turns = |text| with(&[("LUTHIER_SCHEDULE", text)]).expect("possible").schedule;
        assert_eq!((plain.schedule, turns("random:7")), (Schedule::Fair, Schedule::Random(7)));
    }

    #[test]
    fn a_card_is_as_large_as_it_is_unless_that_is_said() {
        let config = with(&[("LUTHIER_MOCK_AS", "MI300X")]).expect("possible");
        assert_eq!((config.target, config.compute_units, config.memory), (Target::Gfx942, 304, 192 << 30));
        let config = with(&[("LUTHIER_MOCK_AS", "mi300x"), ("LUTHIER_MOCK", "gfx942,2"), ("LUTHIER_MOCK_CUS", "16")]);
        let config = config.expect("possible");
        assert_eq!((config.gpus, config.compute_units, config.memory), (2, 16, 192 << 30));
        let error = with(&[("LUTHIER_MOCK_AS", "MI300X"), ("LUTHIER_MOCK", "gfx90a")]).expect_err("two processors");
        assert_eq!(error, "LUTHIER_MOCK_AS=MI300X: its processor is gfx942, and LUTHIER_MOCK asks for gfx90a");
    }

    #[test]
    fn a_card_in_parts_is_several_gpus() {
        let config = with(&[("LUTHIER_MOCK_AS", "MI300X:DPX"), ("LUTHIER_MOCK", "gfx942,3")]).expect("possible");
        assert_eq!((config.gpus, config.compute_units, config.memory, config.card.xccs), (6, 152, 96 << 30, 4));
        let error = with(&[("LUTHIER_MOCK_AS", "MI300X:CPX"), ("LUTHIER_MOCK", "gfx942,2")]).expect_err("too many");
        assert_eq!(error, "LUTHIER_MOCK_AS=MI300X:CPX: 2 of them are 16 GPUs, and a process has at most 8");
    }

    #[test]
    fn a_tool_sees_the_kernels_that_copy() {
        let copies = |pairs: &[_]| with(pairs).expect("possible").copies;
        assert!(copies(&[]) && !copies(&[("HSA_TOOLS_LIB", "x.so")]) && !copies(&[("LUTHIER_MOCK_COPIES", "kernels")]));
        assert!(copies(&[("HSA_TOOLS_LIB", "x.so"), ("LUTHIER_MOCK_COPIES", "driver")]));
    }

    #[test]
    fn what_is_not_possible_is_named() {
        for (name, value) in [
            ("LUTHIER_MOCK", "gfx803"),
            ("LUTHIER_MOCK_AS", "MI300"),
            ("LUTHIER_MOCK_AS", "MI300X:TPX"),
            ("LUTHIER_MOCK_AS", "MI300X:"),
            ("LUTHIER_MOCK", "gfx90a,9"),
            ("LUTHIER_MOCK_MEMORY", "much"),
            ("LUTHIER_MOCK_CUS", "0"),
            ("LUTHIER_STRICT", "lds-race,nonsense"),
            ("LUTHIER_MOCK_COPIES", "fast"),
            ("LUTHIER_SCHEDULE", "pct:7"),
            ("LUTHIER_SCHEDULE", "random"),
            ("LUTHIER_MOCK_FINDINGS", "twice"),
            ("LUTHIER_EMULATOR_SIMD", "sse9"),
            ("LUTHIER_NATIVE", "often"),
        ] {
            let error = with(&[(name, value)]).expect_err(value);
            assert!(error.starts_with(&format!("{name}={value}")), "{error}");
        }
    }

    #[test]
    fn options_are_named_as_options_whatever_is_in_their_values() {
        for (options, said) in [
            (&[(Size::As, "LUTHIER_MOCK=1")][..], "--as LUTHIER_MOCK=1: there is no such card here"),
            (
                &[(Size::As, "MI300X"), (Size::Mock, "gfx90a")],
                "--as MI300X: its processor is gfx942, and --mock asks for",
            ),
            (&[(Size::As, "MI300X:TPX")], "--as MI300X:TPX: MI300X has no partitions TPX"),
            (&[(Size::Mock, "gfx803")], "--mock gfx803: the mock driver cannot be gfx803"),
            (&[(Size::Cus, "0")], "--cus 0 is not possible: it is a whole number from 1 to 512"),
            (&[(Size::Memory, "much")], "--memory much is not possible: it is a size"),
        ] {
            let error = with_options(options).expect_err(said);
            assert!(error.starts_with(said), "{error}");
        }
    }
}
