//! Known bugs, put into the world around the core on purpose: each has to be caught by the oracle it names.

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Plant {
    /// Inserts are made whatever was erased since the plan.
    IgnoresEpochs,
    /// A failed attempt extends the session's life.
    RenewsOnFailure,
    /// The end goes out before what it rests on is durable.
    EndsBeforeDurable,
    /// A look-up hands out a row past its expiry.
    RevivesExpired,
    /// A success is written under the fence of whatever row stands now.
    DropsFence,
    /// A replacement is agreed on but not written.
    ForgetsPending,
    /// A first request that lost the race goes on as if it had won.
    LoserIgnoresWinner,
    /// Routing is not told that an account is gone.
    BlindToRemoval,
    /// A failure after visible output is retried.
    RetriesAfterVisible,
    /// Two tenants' sessions share one scope.
    SharesTenants,
    /// An unknown outcome is taken for success.
    UnknownIsSuccess,
    /// The weakest key of a request decides which session it is.
    WeakestKeyWins,
    /// Half of what is promised durable is not written.
    LosesWrites,
    /// The answer that all accounts are out comes after the first attempt.
    GivesUpEarly,
    /// A request wanders over every account.
    TriesTooMuch,
    /// The table's caps are not the ones that were set.
    ForgetsCaps,
    /// A hard pin is only a wish.
    SoftPins,
    /// A request without identity gets a row all the same.
    BindsTheNameless,
    /// Turn state goes along wherever the plan goes.
    KeepsForeignToken,
    /// A shared store takes the clock of whoever asks for its own.
    ProcessClockDecides,
    /// A shared store answers before it commits.
    CommitsLate,
    /// A shared store shows the loser of a race the row that its statement began with.
    ShowsLoserOldRow,
}

/// All of them, each with the oracle that has to catch it.
pub const PLANTS: [(Plant, &str); 22] = [
    (Plant::IgnoresEpochs, "B12"),
    (Plant::RenewsOnFailure, "B7"),
    (Plant::EndsBeforeDurable, "B15"),
    (Plant::RevivesExpired, "B8"),
    (Plant::DropsFence, "B6"),
    (Plant::ForgetsPending, "B5"),
    (Plant::LoserIgnoresWinner, "B4"),
    (Plant::BlindToRemoval, "B11"),
    (Plant::RetriesAfterVisible, "R3"),
    (Plant::SharesTenants, "B14"),
    (Plant::UnknownIsSuccess, "B15"),
    (Plant::WeakestKeyWins, "B10"),
    (Plant::LosesWrites, "B15"),
    (Plant::GivesUpEarly, "R4"),
    (Plant::TriesTooMuch, "LIMITS"),
    (Plant::ForgetsCaps, "B13"),
    (Plant::SoftPins, "R1"),
    (Plant::BindsTheNameless, "B1"),
    (Plant::KeepsForeignToken, "R7"),
    (Plant::ProcessClockDecides, "B8"),
    (Plant::CommitsLate, "B4"),
    (Plant::ShowsLoserOldRow, "B5"),
];

impl Plant {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        let mut name = String::new();
        for c in format!("{self:?}").chars() {
            if c.is_ascii_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(c.to_ascii_lowercase());
        }
        name
    }

    /// The plant with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        PLANTS.iter().map(|(p, _)| *p).find(|p| p.name() == name)
    }
}
