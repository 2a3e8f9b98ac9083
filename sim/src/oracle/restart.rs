//! The embedded store after a restart (T1, T2).

use super::{Oracle, Verdict, must};
use crate::event::Event;
use crate::world::Moment;

pub(super) const ORACLE: Oracle = Oracle {
    id: "T1",
    says: "A new process holds exactly the rows that were durable, and everything it holds is durable from the start.",
    see,
};

fn see(event: &Event, moment: &Moment<'_>) -> Verdict {
    let (Event::Restarted(refused), Some(table)) = (event, moment.table) else { return Ok(()) };
    must(*refused == 0, || format!("{refused} durable rows were refused"))?;
    let (on_disk, held) = (moment.disk.rows().count(), table.rows().count());
    must(on_disk == held, || format!("{on_disk} rows are durable, {held} were restored"))?;
    let waiting = table.rows().find(|row| row.seq > table.seq());
    must(waiting.is_none(), || format!("{waiting:?} rests on a change this process never made"))
}
