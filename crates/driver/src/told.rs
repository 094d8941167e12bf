//! How the GPUs' sizes are told: by variables, or by options of `luthier trace`. Errors speak of what the user has written.

/// What says which GPUs there are and how large they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    Mock,
    As,
    Memory,
    Cus,
}

/// By what it is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    Variables,
    Options,
}

impl Size {
    pub const ALL: [Size; 4] = [Size::Mock, Size::As, Size::Memory, Size::Cus];

    pub fn variable(self) -> &'static str {
        match self {
            Size::Mock => "LUTHIER_MOCK",
            Size::As => "LUTHIER_MOCK_AS",
            Size::Memory => "LUTHIER_MOCK_MEMORY",
            Size::Cus => "LUTHIER_MOCK_CUS",
        }
    }

    pub fn option(self) -> &'static str {
        match self {
            Size::Mock => "--mock",
            Size::As => "--as",
            Size::Memory => "--memory",
            Size::Cus => "--cus",
        }
    }
}

impl Told {
    pub fn name(self, size: Size) -> &'static str {
        match self {
            Told::Variables => size.variable(),
            Told::Options => size.option(),
        }
    }

    /// As the user has written it.
    pub fn written(self, size: Size, value: &str) -> String {
        let between = if self == Told::Variables { "=" } else { " " };
        format!("{}{between}{value}", self.name(size))
    }
}
