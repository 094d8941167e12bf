//! Why a hook cannot be compiled, on the way from where that is found to the error that its user gets.

use serde::{Deserialize, Serialize};

use crate::template::{HookError, Place};

/// A sentence about the hook, and the place that it is about; without one it is about all of the hook.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    pub said: String,
    pub place: Option<Place>,
}

impl Refusal {
    /// What is said of a place, if that is known.
    pub fn at(place: Option<Place>, said: impl Into<String>) -> Refusal {
        Refusal { said: said.into(), place }
    }

    /// The same with more to say.
    pub fn and(self, more: &str) -> Refusal {
        Refusal { said: format!("{}; {more}", self.said), ..self }
    }

    /// The error, at the hook's place if this one is about all of it.
    pub fn of_hook(self, hook: Option<&Place>) -> HookError {
        HookError { place: self.place.or_else(|| hook.cloned()), message: self.said }
    }
}

impl From<String> for Refusal {
    fn from(said: String) -> Refusal {
        Refusal { said, place: None }
    }
}

impl From<&str> for Refusal {
    fn from(said: &str) -> Refusal {
        said.to_owned().into()
    }
}
