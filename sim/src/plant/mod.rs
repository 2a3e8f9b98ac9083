//! Known bugs, put into the world around the core on purpose: each has to be caught by the oracle it names.

mod catalogue;
mod prove;

pub use catalogue::{PLANTS, Planted};
pub use prove::{Missed, Proof, plan, prove};

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
    /// A binding brings its account back although its owner switched it off.
    StickyBeforeHealth,
    /// The account that comes first is preferred to the session's home.
    PriorityBeforeHome,
    /// An account that serves again gets the sessions back that left it.
    BouncesBack,
    /// A weaker key goes on leading to the home before the failover.
    AliasKeepsOldHome,
    /// Requests go by the settings of the process's start.
    IgnoresOffSwitch,
    /// A success under a hard pin moves the session's home.
    PinMovesHome,
    /// What an account said about its quota is not remembered.
    ForgetsQuota,
    /// A client that hangs up is held against the account.
    HangUpBlames,
    /// A faulty request is held against the account.
    RequestFaultBlames,
    /// A probe whose client hangs up is never over.
    LeaksProbe,
    /// A reset in a thousand years is believed.
    BelievesAbsurdResets,
    /// A file that cannot be read is taken for a removal.
    UnreadableIsRemoval,
    /// A row is lost on the way from the disk to the table.
    DropsRowsAtStart,
    /// A late failure on the old home unbinds the session.
    LateFailureUnbinds,
    /// A look-up extends the session's life.
    ReadsRenew,
    /// A key that many sessions share leads each of them to the first one's row.
    SharedKeyMelts,
    /// Clients are told to come back at once.
    HammersClients,
    /// The sweep goes by the expiry a row was made with, not by the renewed one.
    PurgesTheRenewed,
    /// Renewals are put off for ever.
    CoalescesForEver,
    /// A request that cannot be repeated is sent again.
    RepeatsTheUnrepeatable,
    /// The head of an answer counts as success.
    HeadersAreSuccess,
    /// A shared store takes the clock of whoever asks for its own.
    ProcessClockDecides,
    /// A shared store answers before it commits.
    CommitsLate,
    /// A shared store shows the loser of a race the row that its statement began with.
    ShowsLoserOldRow,
    /// A process forgets where it saw its sessions at home, when the store is away.
    ForgetsLastHome,
    /// Routing is not told which pools an account is in.
    ForgetsPools,
    /// A conversation is taken for the session behind it.
    DeafToConversations,
    /// An id of another tenant is served like one's own.
    ServesForeignIds,
    /// Where the store cannot say what an id belongs to, it is taken for an id of nobody.
    UnknownIdIsNoPin,
}

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
        PLANTS.iter().map(|planted| planted.plant).find(|plant| plant.name() == name)
    }

    /// What is to be known of it.
    #[must_use]
    pub fn planted(self) -> Option<&'static Planted> {
        PLANTS.iter().find(|planted| planted.plant == self)
    }
}
