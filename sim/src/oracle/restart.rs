//! The store after a restart (T1, T2).

use super::{Oracle, Verdict, must, only_written};
use crate::event::{Cause, Event};
use crate::scope::StoreKind;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "T1",
    says: "A table that begins again holds exactly the rows that were durable, all of them durable from the start; a shared one loses nothing.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    match event {
        Event::Restarted(refused) if moment.scope.store == StoreKind::Embedded => restored(*refused, moment),
        Event::Rebooted(refused) => restored(*refused, moment),
        Event::Row { cause: Cause::Reboot, before, after } => {
            let same = before.as_ref().zip(after.as_ref()).is_some_and(|(before, after)| only_written(before, after));
            must(same, || format!("{before:?} was committed and is {after:?} after the store began again"))
        }
        _ => Ok(()),
    }
}

fn restored(refused: usize, moment: &Moment<'_>) -> Verdict {
    let Some(table) = moment.table else { return Ok(()) };
    must(refused == 0, || format!("{refused} durable rows were refused"))?;
    let (on_disk, held) = (moment.disk.rows().count(), table.rows().count());
    must(on_disk == held, || format!("{on_disk} rows are durable, {held} were restored"))?;
    let waiting = table.rows().find(|row| row.seq > table.seq());
    must(waiting.is_none(), || format!("{waiting:?} rests on a change this table never made"))
}
