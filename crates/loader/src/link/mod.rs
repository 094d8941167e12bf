//! The mock loader: code objects in host memory, linked as a device's loader would link them.
//!
//! [`MockLoader`] has mock *agents*, each with a target id, and *executables*, sets of objects that are linked with
//! each other. Loading copies an object's segments to addresses of its own and does nothing else. Variables can be
//! defined from outside. [`MockLoader::finalize`] then relocates everything at once, so that objects may refer to each
//! other in circles; afterwards nothing can be added.
//!
//! | module | one idea |
//! |---|---|
//! | `loader` | agents, executables, loading, externals |
//! | `object` | one object's segments in memory |
//! | `records` | which relocation records there are, and which GOT slots they need |
//! | `scope` | which definition a name stands for |
//! | `apply` | the formula and the field of each relocation type |
//! | `finalize` | from records to bytes |
//! | `query` | symbols, memory, what an address belongs to |
//! | `error` | what can go wrong |

mod apply;
mod error;
mod finalize;
mod loader;
mod object;
mod query;
mod records;
mod scope;

pub use error::{Definition, LinkError, Site, Unresolved};
pub use loader::{AgentId, ExecutableId, LoadOptions, MockLoader, ObjectId};
pub use object::{LoadedObject, LoadedSegment};
pub use query::{LoadedSymbol, Location, Region};
pub use scope::{External, Resolution};
