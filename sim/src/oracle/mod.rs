//! What always holds: one file and one sentence for each rule. An oracle reads observations and the record of the run; it never
//! looks into a turn, and into tables and fleets only through what they show to everybody.

mod b01_no_identity;
mod b02_eligible;
mod b03_home;
mod b04_reserve;
mod b05_converge;
mod b06_fence;
mod b07_renew;
mod b08_expired;
mod b09_no_bounce;
mod b10_aliases;
mod b11_removed;
mod b12_erased;
mod b13_bounded;
mod b14_isolation;
mod b15_durable;
mod b16_switch;
mod b17_pins;
mod limits;
mod live;
mod policy;
mod r1_pins;
mod r2_spent;
mod r3_visible;
mod r4_out;
mod r7_turn_state;
mod restart;
mod t3_guess;

use homing_core::ids::AccountId;
use homing_core::row::{Row, View};

use crate::event::Event;
use crate::history::{Story, view_of};
use crate::world::Moment;

/// What an oracle says of one event: nothing, or what is wrong.
pub type Verdict = Result<(), String>;

/// One rule that holds in every run.
#[derive(Debug)]
pub struct Oracle {
    /// The rule's name in the specification.
    pub id: &'static str,
    /// The rule in one sentence.
    pub says: &'static str,
    /// Looks at one event. The record in the moment ends before it.
    pub see: fn(&Event, &Moment<'_>) -> Verdict,
}

/// All oracles. Of several that see the same fault, the first one names it: the more particular come first.
pub const ALL: [&Oracle; 27] = [
    &r1_pins::ORACLE,
    &r3_visible::ORACLE,
    &limits::ORACLE,
    &b14_isolation::ORACLE,
    &policy::ORACLE,
    &b01_no_identity::ORACLE,
    &b16_switch::ORACLE,
    &b11_removed::ORACLE,
    &b02_eligible::ORACLE,
    &r2_spent::ORACLE,
    &b08_expired::ORACLE,
    &b12_erased::ORACLE,
    &b17_pins::ORACLE,
    &b07_renew::ORACLE,
    &b10_aliases::ORACLE,
    &b04_reserve::ORACLE,
    &b03_home::ORACLE,
    &b06_fence::ORACLE,
    &b05_converge::ORACLE,
    &b09_no_bounce::ORACLE,
    &b13_bounded::ORACLE,
    &b15_durable::ORACLE,
    &r4_out::ORACLE,
    &r7_turn_state::ORACLE,
    &t3_guess::ORACLE,
    &restart::ORACLE,
    &live::ORACLE,
];

/// Shows the event to every oracle; the first objection and whose it is.
///
/// # Errors
/// The oracle's name and what it saw.
pub fn see(event: &Event, moment: &Moment<'_>) -> Result<(), (&'static str, String)> {
    for oracle in ALL {
        (oracle.see)(event, moment).map_err(|text| (oracle.id, text))?;
    }
    Ok(())
}

/// `Err` with the text unless the condition holds.
fn must(holds: bool, text: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(text()) }
}

/// Whether all that happened is that a longer life was written down: housekeeping, which may happen to any row.
fn only_written(before: &Row, after: &Row) -> bool {
    (Row { stored_expires: before.stored_expires, seq: before.seq, ..after.clone() }) == *before
}

impl Moment<'_> {
    /// Whether the account would be taken for this request if it came first, as routing saw it when the step began.
    #[must_use]
    pub fn serves(&self, account: AccountId, story: &Story) -> bool {
        let known = self.fleet.get(account);
        known.is_some_and(|a| {
            a.eligible(story.request.model, self.now) && a.is_in(story.request.pool) && !a.cools(self.now)
        })
    }

    /// The row an answer speaks of, as the table has it now.
    #[must_use]
    pub fn row(&self, view: &View) -> Option<&Row> {
        self.table?.rows().find(|row| row.id == view.fence.id)
    }
}
