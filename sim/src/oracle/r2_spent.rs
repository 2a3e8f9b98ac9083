//! R2, as far as it is not about text.

use homing_core::fleet::Standing;

use super::{Oracle, Verdict, must};
use crate::event::{Event, FIRST};
use crate::history::Barred;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "R2",
    says: "Nobody goes to an account before the time the upstream named, one request at a time finds out whether it serves again, none needs a login before its credential was renewed, and nothing is held against an account that gave no reason.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let Event::Dial { turn, account, .. } = event else { return Ok(()) };
    for known in moment.fleet.iter().filter(|a| a.standing == Standing::NeedsLogin) {
        let asked = moment.process.is_some_and(|here| moment.history.renewed.contains(&(here, known.id)));
        must(asked, || format!("{:?} needs a login, but nobody tried to renew its credential", known.id))?;
    }
    blamed(moment)?;
    let Some(story) = moment.history.story(*turn) else { return Ok(()) };
    if story.tried(*account) {
        return Ok(());
    }
    for kind in [Barred::Quota, Barred::Rate] {
        let bar = moment.history.barred.get(&(story.process, *account, kind));
        let until = bar.map(|bar| bar.until).filter(|until| moment.now < *until);
        must(until.is_none(), || format!("{turn:?} goes to {account:?}, barred until {until:?} ({kind:?})"))?;
    }
    let Some(known) = moment.fleet.get(*account) else { return Ok(()) };
    let spent = known.spent.is_some();
    let probes = moment.history.under_way(*account, *turn).any(|a| a.probes);
    must(!(spent && probes), || format!("{turn:?} probes {account:?} beside another probe"))?;
    let warms = !story.pinned() && known.cools(moment.now);
    let warming = moment.history.under_way(*account, *turn).any(|a| a.warms);
    must(!(warms && warming), || format!("{turn:?} goes to the cooling {account:?} beside another"))
}

/// Whatever is held against an account began when it gave a reason.
fn blamed(moment: &Moment<'_>) -> Verdict {
    for known in moment.fleet.iter() {
        for bar in [known.spent, known.limited, known.cooling].into_iter().flatten() {
            let here = moment.process.unwrap_or(FIRST);
            let reason = moment.history.blamed.contains(&(here, known.id, bar.since));
            must(reason, || format!("{bar:?} is held against {:?}, which gave no reason for it then", known.id))?;
        }
    }
    Ok(())
}
