//! The loader: agents, executables, what is loaded, and its end, `finalize`.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::error::LinkError;
use super::object::{Layout, LoadedObject, object_error};
use super::records::Records;
use super::scope::{External, Scope};
use crate::uri::CodeObjectUri;
use crate::{Bytes, CodeObject, Container, TargetId};

/// A device that objects are loaded for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AgentId(pub u32);

/// A set of objects that are linked with each other. There is one from the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ExecutableId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ObjectId(pub u32);

/// How to load an object.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// What errors call it. By default its path, or `object 3`.
    pub name: Option<String>,
    /// By default the first agent that it suits; where there is none, a plain code object gets a new one of its own
    /// target.
    pub agent: Option<AgentId>,
    pub executable: ExecutableId,
    /// What is added to its vaddrs. By default it is placed behind what is there.
    pub base: Option<u64>,
}

/// Who has a range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Object(u32),
    External(u32),
}

/// Between objects, so that an overrun does not reach the next one. As on the mock device.
const GUARD: u64 = 1 << 16;
const PAGE: u64 = 1 << 12;
/// Addresses that are given out end here: flat addresses above are LDS and scratch on the mock device.
const LIMIT: u64 = 1 << 48;

/// Loads code objects into host memory, at addresses that a device could have, and links them. See the
/// [module's documentation](super).
///
/// It may be sent to another thread, but not be shared: it is not thread-safe by contract.
///
/// ```
/// fn sent<T: Send>(_: T) {}
/// sent(luthier_loader::MockLoader::new());
/// ```
///
/// ```compile_fail
/// fn shared<T: Sync>(_: T) {}
/// shared(luthier_loader::MockLoader::new());
/// ```
#[derive(Debug)]
pub struct MockLoader {
    pub(super) agents: Vec<TargetId>,
    pub(super) executables: Vec<String>,
    pub(super) objects: Vec<LoadedObject>,
    pub(super) externals: Vec<External>,
    pub(super) external_names: HashMap<String, Vec<usize>>,
    pub(super) scopes: HashMap<(ExecutableId, AgentId), Scope>,
    /// Start, end and owner.
    pub(super) spans: BTreeMap<u64, (u64, Owner)>,
    next: u64,
    pub(super) finalized: bool,
    not_sync: PhantomData<Cell<()>>,
}

impl Default for MockLoader {
    fn default() -> MockLoader {
        MockLoader::new()
    }
}

impl MockLoader {
    /// Where objects go by default: far from what a mock device gives out by itself.
    pub const BASE: u64 = 0x2000_0000_0000;

    pub fn new() -> MockLoader {
        MockLoader::at(MockLoader::BASE)
    }

    /// Objects are placed from `base` on.
    pub fn at(base: u64) -> MockLoader {
        MockLoader {
            agents: Vec::new(),
            executables: vec!["default".to_owned()],
            objects: Vec::new(),
            externals: Vec::new(),
            external_names: HashMap::new(),
            scopes: HashMap::new(),
            spans: BTreeMap::new(),
            next: base,
            finalized: false,
            not_sync: PhantomData,
        }
    }

    /// One object, loaded at a base and linked with nothing else: what a loader would put into a device's memory.
    pub fn single(object: impl Into<Arc<CodeObject>>, base: u64) -> Result<MockLoader, LinkError> {
        let mut loader = MockLoader::new();
        loader.load(object, &LoadOptions { base: Some(base), ..LoadOptions::default() })?;
        loader.finalize()?;
        Ok(loader)
    }

    /// One more mock agent. Several may have the same target.
    pub fn add_agent(&mut self, target: TargetId) -> AgentId {
        self.agents.push(target);
        AgentId(self.agents.len() as u32 - 1)
    }

    /// One more executable: its objects and externals are not seen by those of others.
    pub fn add_executable(&mut self, name: impl Into<String>) -> ExecutableId {
        self.executables.push(name.into());
        ExecutableId(self.executables.len() as u32 - 1)
    }

    /// The agents' targets; their numbers are [`AgentId`]s.
    pub fn agents(&self) -> &[TargetId] {
        &self.agents
    }

    /// The executables' names.
    pub fn executables(&self) -> &[String] {
        &self.executables
    }

    pub fn is_finalized(&self) -> bool {
        self.finalized
    }

    /// Copies the segments of an object to the place that it gets. Nothing is relocated.
    pub fn load(&mut self, object: impl Into<Arc<CodeObject>>, options: &LoadOptions) -> Result<ObjectId, LinkError> {
        let object = object.into();
        let name = options.name.clone().unwrap_or_else(|| format!("object {}", self.objects.len()));
        self.check_open(&name, options)?;
        let agent = self.agent_for(&object, &name, options.agent)?;
        let records = Records::of(&object, &name)?;
        let layout = Layout::of(&object, &name, records.got.len())?;
        let base = match options.base {
            Some(base) => layout.check_base(&name, base).map(|()| base)?,
            None => self.place(&layout, &name)?,
        };
        let start = base.wrapping_add(layout.vaddrs.start);
        self.check_free(&name, start..start + layout.size())?;

        let scope = (agent.unwrap_or(AgentId(self.agents.len() as u32)), options.executable);
        let loaded = LoadedObject::copy(object, name, scope, base, &layout, records)?;
        let agent = agent.unwrap_or_else(|| self.add_agent(loaded.object.target().clone()));
        let number = self.objects.len() as u32;
        let span = loaded.span();
        self.objects.push(loaded);
        let scope = self.scopes.entry((options.executable, agent)).or_default();
        scope.objects.push(number);
        if scope.objects.len() > 1
            && let Some((first, second)) = scope.index(&self.objects)
        {
            scope.pop();
            let definition = |(object, symbol): (u32, u32)| {
                let object = &self.objects[object as usize];
                let symbol = &object.object.symbols()[symbol as usize];
                (symbol.name.clone(), object.definition(symbol))
            };
            let ((symbol, first), (_, second)) = (definition(first), definition(second));
            self.objects.pop();
            return Err(LinkError::DuplicateSymbol { symbol, first, second });
        }
        self.take(span, Owner::Object(number));
        Ok(ObjectId(number))
    }

    /// Loads what bytes hold: a code object, or those of a fat binary or bundle that suit the agent, one of each
    /// translation unit.
    pub fn load_bytes(&mut self, bytes: impl Into<Bytes>, options: &LoadOptions) -> Result<Vec<ObjectId>, LinkError> {
        let name = options.name.clone().unwrap_or_else(|| format!("object {}", self.objects.len()));
        self.check_open(&name, options)?;
        let container = Container::from_bytes(bytes).map_err(object_error(&name))?;
        self.load_container(&container, &LoadOptions { name: Some(name), ..options.clone() })
    }

    /// As [`MockLoader::load_bytes`], of a file.
    pub fn load_path(&mut self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<Vec<ObjectId>, LinkError> {
        let path = path.as_ref();
        let name = options.name.clone().unwrap_or_else(|| path.display().to_string());
        self.check_open(&name, options)?;
        let container = Container::open(path).map_err(object_error(&name))?;
        self.load_container(&container, &LoadOptions { name: Some(name), ..options.clone() })
    }

    /// As [`MockLoader::load_bytes`], of a range of a file or of a process's memory, by the name that the ROCm runtime
    /// has for it: `file:///usr/lib/libx.so#offset=4096&size=8192`, `memory://1234#offset=0x7f0000001000&size=8192`.
    pub fn load_uri(&mut self, uri: &str, options: &LoadOptions) -> Result<Vec<ObjectId>, LinkError> {
        let name = options.name.clone().unwrap_or_else(|| uri.to_owned());
        self.check_open(&name, options)?;
        let container = uri.parse::<CodeObjectUri>().and_then(|uri| uri.open()).map_err(object_error(&name))?;
        self.load_container(&container, &LoadOptions { name: Some(name), ..options.clone() })
    }

    /// As [`MockLoader::load_bytes`], of a range of bytes in memory.
    pub fn load_range(
        &mut self,
        memory: &[u8],
        range: Range<u64>,
        options: &LoadOptions,
    ) -> Result<Vec<ObjectId>, LinkError> {
        let size = range.end.saturating_sub(range.start);
        let bytes = crate::elf::slice(memory, "memory range", range.start, size)
            .map_err(object_error(options.name.as_deref().unwrap_or("a memory range")))?;
        self.load_bytes(bytes, options)
    }

    /// Loads the entries of a container that suit the agent, one of each bundle. Nothing stays when one of them fails.
    pub fn load_container(&mut self, container: &Container, options: &LoadOptions) -> Result<Vec<ObjectId>, LinkError> {
        let name = options.name.clone().unwrap_or_else(|| format!("object {}", self.objects.len()));
        self.check_open(&name, options)?;
        let failed = object_error(&name);
        let targets = container.targets();
        let wanted = match options.agent {
            Some(agent) => self.agents[agent.0 as usize].clone(),
            None if targets.len() == 1 => targets[0].clone(),
            None => {
                let suits = |agent: &&TargetId| targets.iter().any(|target| target.suits(agent).is_some());
                let mut fitting = self.agents.iter().filter(suits);
                match (fitting.next(), fitting.next()) {
                    (Some(agent), None) => agent.clone(),
                    _ => {
                        let available = targets.iter().map(TargetId::to_string).collect();
                        return Err(LinkError::AgentNeeded { object: name, available });
                    }
                }
            }
        };
        let chosen: Vec<usize> = container.select(&wanted).map_err(&failed)?.iter().map(|entry| entry.index).collect();
        let mut objects = Vec::with_capacity(chosen.len());
        for &index in &chosen {
            objects.push((index, container.code_object(index).map_err(&failed)?));
        }
        let (agents, mut loaded) = (self.agents.len(), Vec::with_capacity(objects.len()));
        for (index, object) in objects {
            let name = if chosen.len() == 1 { name.clone() } else { format!("{name}, entry {index}") };
            match self.load(object, &LoadOptions { name: Some(name), ..options.clone() }) {
                Ok(id) => loaded.push(id),
                Err(error) => {
                    loaded.iter().for_each(|_| self.unload_last());
                    self.agents.truncate(agents);
                    return Err(error);
                }
            }
        }
        Ok(loaded)
    }

    /// Loads one entry of a container, whatever its target.
    pub fn load_entry(
        &mut self,
        container: &Container,
        index: usize,
        options: &LoadOptions,
    ) -> Result<ObjectId, LinkError> {
        let name = options.name.clone().unwrap_or_else(|| format!("entry {index}"));
        self.check_open(&name, options)?;
        let object = container.code_object(index).map_err(object_error(&name))?;
        self.load(object, &LoadOptions { name: Some(name), ..options.clone() })
    }

    /// Says where a symbol is that objects refer to: `size` bytes at `address`, for one agent or for all. It may stand
    /// for a symbol of any type.
    pub fn define(
        &mut self,
        name: &str,
        address: u64,
        size: u64,
        agent: Option<AgentId>,
        executable: ExecutableId,
    ) -> Result<(), LinkError> {
        self.check_external(name, agent, executable)?;
        if address.checked_add(size).is_none() {
            return Err(LinkError::ExternalTooLarge { symbol: name.to_owned(), address, size });
        }
        self.add_external(External { name: name.to_owned(), address, size, agent, executable, data: None });
        Ok(())
    }

    /// A variable that the loader keeps, with these contents, for objects to refer to. Gives its address.
    pub fn define_data(
        &mut self,
        name: &str,
        data: impl Into<Vec<u8>>,
        agent: Option<AgentId>,
        executable: ExecutableId,
    ) -> Result<u64, LinkError> {
        self.check_external(name, agent, executable)?;
        let data = data.into();
        let size = data.len() as u64;
        let too_large = |address| LinkError::ExternalTooLarge { symbol: name.to_owned(), address, size };
        let address = self.next.checked_next_multiple_of(PAGE).ok_or_else(|| too_large(self.next))?;
        let end = address.checked_add(size.max(1)).filter(|end| *end <= LIMIT).ok_or_else(|| too_large(address))?;
        self.check_free(name, address..end)?;
        self.take(address..end, Owner::External(self.externals.len() as u32));
        let data = Some(data);
        self.add_external(External { name: name.to_owned(), address, size, agent, executable, data });
        Ok(address)
    }

    fn add_external(&mut self, external: External) {
        self.external_names.entry(external.name.clone()).or_default().push(self.externals.len());
        self.externals.push(external);
    }

    fn check_external(&self, name: &str, agent: Option<AgentId>, executable: ExecutableId) -> Result<(), LinkError> {
        if self.finalized {
            return Err(LinkError::DefineAfterFinalize { symbol: name.to_owned() });
        }
        if name.is_empty() {
            return Err(LinkError::ExternalWithoutName);
        }
        self.check_ids(agent, executable)?;
        let same = |&index: &usize| {
            let external = &self.externals[index];
            external.executable == executable && external.agent == agent
        };
        if self.external_names.get(name).is_some_and(|known| known.iter().any(same)) {
            let agent = agent.map(|agent| agent.0 as usize);
            return Err(LinkError::DuplicateExternal { symbol: name.to_owned(), agent });
        }
        Ok(())
    }

    fn check_ids(&self, agent: Option<AgentId>, executable: ExecutableId) -> Result<(), LinkError> {
        if let Some(agent) = agent.filter(|agent| agent.0 as usize >= self.agents.len()) {
            return Err(LinkError::NoSuchAgent { agent: agent.0 as usize, count: self.agents.len() });
        }
        if executable.0 as usize >= self.executables.len() {
            let count = self.executables.len();
            return Err(LinkError::NoSuchExecutable { executable: executable.0 as usize, count });
        }
        Ok(())
    }

    fn check_open(&self, name: &str, options: &LoadOptions) -> Result<(), LinkError> {
        if self.finalized {
            return Err(LinkError::LoadAfterFinalize { object: name.to_owned() });
        }
        self.check_ids(options.agent, options.executable)
    }

    /// The agent that an object is for; `None`: a new one.
    fn agent_for(&self, object: &CodeObject, name: &str, wish: Option<AgentId>) -> Result<Option<AgentId>, LinkError> {
        let target = object.target();
        let Some(agent) = wish else {
            let suited = self.agents.iter().position(|agent| target.suits(agent).is_some());
            return Ok(suited.map(|index| AgentId(index as u32)));
        };
        let device = &self.agents[agent.0 as usize];
        if target.suits(device).is_none() {
            return Err(LinkError::WrongAgent {
                object: name.to_owned(),
                target: target.clone(),
                agent: agent.0 as usize,
                device: device.clone(),
            });
        }
        Ok(Some(agent))
    }

    /// A base behind everything that is there.
    fn place(&self, layout: &Layout, name: &str) -> Result<u64, LinkError> {
        let align = layout.align.max(PAGE);
        let low = layout.vaddrs.start & !(align - 1);
        let too_high = || LinkError::BaseTooHigh { object: name.to_owned(), base: self.next, end: layout.vaddrs.end };
        let start = self.next.checked_next_multiple_of(align).ok_or_else(too_high)?;
        let end = start.checked_add(layout.vaddrs.end - low + layout.tail).filter(|end| *end <= LIMIT);
        end.ok_or_else(too_high)?;
        // An object that was linked for high addresses moves down: the sum is meant modulo 2^64.
        Ok(start.wrapping_sub(low))
    }

    fn check_free(&self, name: &str, range: Range<u64>) -> Result<(), LinkError> {
        let below = self.spans.range(..range.end).next_back();
        match below.filter(|(_, (end, _))| *end > range.start) {
            None => Ok(()),
            Some((_, (_, owner))) => {
                let other = match *owner {
                    Owner::Object(index) => self.objects[index as usize].name.clone(),
                    Owner::External(index) => format!("external {}", self.externals[index as usize].name),
                };
                let (object, start, end) = (name.to_owned(), range.start, range.end);
                Err(LinkError::AddressTaken { object, start, end, other })
            }
        }
    }

    fn take(&mut self, range: Range<u64>, owner: Owner) {
        self.next = self.next.max(range.end.saturating_add(GUARD));
        self.spans.insert(range.start, (range.end, owner));
    }

    /// Forgets the object loaded last.
    fn unload_last(&mut self) {
        if let Some(object) = self.objects.pop() {
            self.spans.remove(&object.span.start);
            if let Some(scope) = self.scopes.get_mut(&(object.executable, object.agent)) {
                scope.pop();
            }
        }
    }
}
