//! Plays conversations through the core in a WebAssembly module that has nothing around it: no standard library, no host
//! functions, no clock, no randomness.
#![no_std]

extern crate alloc;

use alloc::collections::BTreeSet;
use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32;

use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, TenantId};
use homing_core::key::{Keys, SignalKind};
use homing_core::settings::{Caps, Settings};
use homing_core::store::Subject;
use homing_core::table::Table;
use homing_core::time::Time;
use homing_core::turn::{Effect, Env, Outcome, Reply, Request, Turn};

/// Plays two turns of each of so many sessions over three accounts, all first turns before all second ones. Returns how
/// many second turns went to the account of the first; 0 where a turn failed or an account was left out.
#[unsafe(no_mangle)]
pub extern "C" fn sessions_that_came_home(sessions: u32) -> u32 {
    let mut world = World { table: Table::new(Caps::default()), fleet: Fleet::new(), settings: Settings::default() };
    (1..=3).for_each(|n| world.fleet.set(AccountId(n), Standing::Usable));
    let firsts: alloc::vec::Vec<_> = (0..sessions).map(|session| world.turn(session)).collect();
    let used: BTreeSet<_> = firsts.iter().flatten().collect();
    if used.len() != 3 || firsts.contains(&None) {
        return 0;
    }
    // Backwards, so that taking turns brings few of them home by chance.
    let home = |session: &u32| world.turn(*session) == firsts[*session as usize];
    u32::try_from((0..sessions).rev().filter(home).count()).unwrap_or(0)
}

struct World {
    table: Table,
    fleet: Fleet,
    settings: Settings,
}

impl World {
    /// One turn; the account that served it.
    fn turn(&mut self, session: u32) -> Option<AccountId> {
        let (fleet, settings, now) = (&mut self.fleet, &self.settings, Time(1_000));
        let name = session.to_le_bytes().map(|b| b % 64 + b'0');
        let name = [name, (session / 64).to_le_bytes().map(|b| b % 64 + b'0')].concat();
        let keys = Keys::session("user:ada", [(SignalKind::SessionHeader, name.as_slice())]);
        let request = Request { keys, ..Request::new(TenantId(1), now) };
        let mut account = None;
        let mut step = Turn::start(request, &mut Env { fleet: &mut *fleet, settings, now, word: 0 });
        loop {
            let reply = match step.effect {
                Effect::Store(op) => {
                    Reply::Store(self.table.answer(Subject::new(request.tenant, &request.keys), op, now))
                }
                Effect::Dial { account: dialled, .. } => {
                    account = Some(dialled);
                    Reply::Served { issued: false }
                }
                Effect::Commit(_) => Reply::Committed { in_time: true },
                Effect::Done(outcome) => return account.filter(|_| outcome == Outcome::Served),
                Effect::Wait(_) | Effect::Refresh(_) | Effect::Stream => return None,
            };
            step = step.turn.resume(reply, &mut Env { fleet: &mut *fleet, settings, now, word: 0 }).ok()?;
        }
    }
}

/// Hands out fresh memory and takes nothing back: the module lives for one call.
struct Fresh;

#[global_allocator]
static ALLOCATOR: Fresh = Fresh;

/// Bytes of one page of WebAssembly memory.
const PAGE: usize = 65_536;

// SAFETY: each block is part of memory that was grown for it alone and starts at a multiple of its alignment; there is one
// thread, so that the two statics are never reached twice at a time.
unsafe impl GlobalAlloc for Fresh {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        static mut NEXT: usize = 0;
        static mut END: usize = 0;
        unsafe {
            let mut start = NEXT.next_multiple_of(layout.align());
            if NEXT == 0 || start + layout.size() > END {
                let pages = layout.size().div_ceil(PAGE) + 1;
                let before = wasm32::memory_grow(0, pages);
                if before == usize::MAX {
                    return core::ptr::null_mut();
                }
                start = (before * PAGE).next_multiple_of(layout.align());
                END = (before + pages) * PAGE;
            }
            NEXT = start + layout.size();
            start as *mut u8
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    wasm32::unreachable()
}
