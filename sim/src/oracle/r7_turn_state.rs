//! R7.

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle =
    Oracle { id: "R7", says: "A turn state goes back to the account that issued it and to no other.", see };

fn see(event: &Event, _: &Moment<'_>) -> Verdict {
    let Event::Dial { turn, account, token: Some(issuer), .. } = event else { return Ok(()) };
    must(issuer == account, || format!("{turn:?} takes the turn state of {issuer:?} to {account:?}"))
}
