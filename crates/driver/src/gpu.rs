//! One mock GPU: its memory, its emulator, and what it knows of the code in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use luthier_emulator::{Device, DeviceConfig};

use crate::account::Account;
use crate::code::Codes;
use crate::config::Config;
use crate::events::Events;
use crate::memory::{Memory, View};
use crate::order::Order;
use crate::queue::Blits;

pub struct Gpu {
    pub view: Arc<View>,
    pub device: Device,
    pub codes: Codes,
    pub blits: Blits,
    account: Arc<Option<Account>>,
    order: Arc<Option<Order>>,
    /// The runtime's own, and the program's.
    launches: [AtomicU64; 2],
}

impl Gpu {
    pub fn new(
        memory: &Arc<Memory>,
        events: &Arc<Events>,
        account: &Arc<Option<Account>>,
        order: &Arc<Option<Order>>,
        node: u32,
    ) -> Gpu {
        let config = memory.config();
        let view = Arc::new(View { memory: Arc::clone(memory), events: Arc::clone(events), node });
        let how = DeviceConfig { threads: config.threads, watchdog: config.watchdog, ..DeviceConfig::default() };
        let device = Device::of_host(config.target, how, view.clone());
        let (account, order) = (Arc::clone(account), Arc::clone(order));
        let (codes, blits) = (Codes::default(), Blits::default());
        Gpu { view, device, codes, blits, account, order, launches: Default::default() }
    }

    pub fn config(&self) -> &Config {
        self.view.memory.config()
    }

    /// Which of the GPUs it is, from 0.
    pub fn number(&self) -> u32 {
        self.view.node - u32::from(!self.config().apu)
    }

    /// Where launches and findings are written down, if they are wanted.
    pub fn account(&self) -> Option<&Account> {
        (*self.account).as_ref()
    }

    /// What orders launches and copies, if that is looked for.
    pub fn order(&self) -> Option<&Order> {
        (*self.order).as_ref()
    }

    /// The number of the next launch, from 1. Those of the runtime's own kernels are counted by themselves.
    pub fn count_launch(&self, of_program: bool) -> u64 {
        self.launches[usize::from(of_program)].fetch_add(1, Ordering::Relaxed) + 1
    }
}
