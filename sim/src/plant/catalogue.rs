//! All planted bugs: who has to catch each, in which world, and where it was seen in the field.

use super::Plant;

/// One planted bug.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// Which.
    pub plant: Plant,
    /// The oracle that has to catch it.
    pub oracle: &'static str,
    /// The profile in which it has to be found.
    pub world: &'static str,
    /// Where it was seen, in one line.
    pub field: &'static str,
}

const fn bug(plant: Plant, oracle: &'static str, world: &'static str, field: &'static str) -> Planted {
    Planted { plant, oracle, world, field }
}

/// All of them.
pub const PLANTS: [Planted; 48] = [
    bug(Plant::BindsTheNameless, "B1", "roomy", "llm-gateway#2641: a fallback key made unrelated agents one session"),
    bug(
        Plant::StickyBeforeHealth,
        "B2",
        "one-row",
        "OmniRoute#6219: a sticky session never left its exhausted account",
    ),
    bug(Plant::PriorityBeforeHome, "B3", "one-row", "CPA#4808: sessions jumped when a high-priority account recovered"),
    bug(
        Plant::LoserIgnoresWinner,
        "B4",
        "one-row",
        "codex-lb, claim_session: two claimants held one fence after a re-read",
    ),
    bug(Plant::ForgetsPending, "B5", "one-row", "OmniRoute#12279: failover picked X, the selector then picked Y"),
    bug(
        Plant::HeadersAreSuccess,
        "B5",
        "one-row",
        "CPA#4643: a 200 stream that refused before any output counted as success",
    ),
    bug(Plant::DropsFence, "B6", "one-row", "codex-lb#1751: a late release of the predecessor closed the successor"),
    bug(Plant::RenewsOnFailure, "B7", "one-row", "codex-lb#1627: the sticky row was refreshed with every request"),
    bug(Plant::ReadsRenew, "B7", "one-row", "codex-lb#1790: refresh on read, a row-lock convoy for 7 keys"),
    bug(
        Plant::RevivesExpired,
        "B8",
        "one-row",
        "codex-lb, claim_session: a permission from before the race was used after it",
    ),
    bug(Plant::BouncesBack, "B9", "one-row", "codex-lb#279: sessions bounced between accounts near their limits"),
    bug(Plant::AliasKeepsOldHome, "B9", "aliases", "codex-lb#1638: an alias of the old account survived the failover"),
    bug(Plant::WeakestKeyWins, "B10", "aliases", "ocx#2046: only one of several identifiers was read"),
    bug(
        Plant::SharedKeyMelts,
        "B10",
        "aliases",
        "codex-lb#1703: all sub-agents of a process-wide id piled on one account",
    ),
    bug(Plant::BlindToRemoval, "B11", "one-row", "CPA#440: the watcher added a deleted file's account again"),
    bug(Plant::UnreadableIsRemoval, "B11", "one-row", "cpx#504: unreadable JSON, and all accounts were wiped"),
    bug(
        Plant::IgnoresEpochs,
        "B12",
        "roomy",
        "design study: an insert that lingered past an erasure brought the choice back",
    ),
    bug(Plant::ForgetsCaps, "B13", "tight", "CPA#2215: maps without caps, 3 GB and out of memory"),
    bug(
        Plant::LateFailureUnbinds,
        "B13",
        "one-row",
        "CPA#4989: the late failure of the old attempt deleted the new binding",
    ),
    bug(
        Plant::PurgesTheRenewed,
        "B13",
        "tight",
        "codex-lb, sticky_repository: expiry deleted without comparing what was read",
    ),
    bug(Plant::SharesTenants, "B14", "roomy", "sub2api#3127: the key was address, agent and token; clients shared one"),
    bug(Plant::EndsBeforeDurable, "B15", "one-row", "cpx#418: the chain was gone after a restart"),
    bug(Plant::UnknownIsSuccess, "B15", "one-row", "design study: an unknown commit was taken for success"),
    bug(Plant::LosesWrites, "B15", "one-row", "codex-lb#2447: writers blocked past busy_timeout, writes failed"),
    bug(
        Plant::CoalescesForEver,
        "B15",
        "tight",
        "codex-lb#1790: a renewal skipped past its own deadline while coalescing",
    ),
    bug(Plant::IgnoresOffSwitch, "B16", "roomy", "codex-multi-auth#475: a manual switch was ignored"),
    bug(Plant::PinMovesHome, "B17", "roomy", "codex-lb#1765: a narrower pin overwrote the mapping it came from"),
    bug(Plant::SoftPins, "R1", "roomy", "CPA#1382: round robin although previous_response_id named an account"),
    bug(Plant::ForgetsQuota, "R2", "roomy", "OmniRoute#3954: accounts that had answered 429 went on being chosen"),
    bug(Plant::HangUpBlames, "R2", "roomy", "CPA#4819: a client's Ctrl-C cooled accounts"),
    bug(Plant::RequestFaultBlames, "R2", "roomy", "CPA#4976: an account cooled for 30 minutes by a bad request"),
    bug(Plant::RetriesAfterVisible, "R3", "one-row", "codex-lb#696: events of two streams in one answer"),
    bug(Plant::GivesUpEarly, "R4", "roomy", "sub2api#3817: no switch to another account on exhaustion"),
    bug(Plant::HammersClients, "R4", "roomy", "ocx#507: a retryable answer without Retry-After, clients hammered"),
    bug(Plant::KeepsForeignToken, "R7", "roomy", "CPA#5947: turn state sent to another account"),
    bug(Plant::TriesTooMuch, "LIMITS", "hurried", "CPA#4017: a request retried over every account"),
    bug(Plant::RepeatsTheUnrepeatable, "LIMITS", "roomy", "cpx#286: a one-time token redeemed again after a reset"),
    bug(
        Plant::ProcessClockDecides,
        "B8",
        "shared",
        "codex-lb#1673: leases looked expired, two clock domains were compared",
    ),
    bug(Plant::CommitsLate, "B4", "shared-row", "design study: a reservation was dialled on before it was committed"),
    bug(
        Plant::ShowsLoserOldRow,
        "B5",
        "shared-row",
        "design study: update-or-return in one statement showed the loser the row its guard had asked for",
    ),
    bug(Plant::ForgetsLastHome, "T3", "shared-row", "cpx#418: a lost map sent conversations to another account"),
    bug(Plant::DropsRowsAtStart, "T1", "roomy", "cpx#418: a map in memory was lost, and the conversations with it"),
    bug(Plant::LeaksProbe, "LIVE", "aliases", "codex-lb#1282: a lease nobody released, capacity leaked to zero"),
    bug(Plant::BelievesAbsurdResets, "LIVE", "roomy", "codex-lb#1374: an account blocked for years by an absurd reset"),
    bug(Plant::ForgetsPools, "B2", "pools", "no report of it: what happens where the pool is only a label"),
    bug(
        Plant::DeafToConversations,
        "POLICY",
        "conversations",
        "no report of it: two identities in one request, and the wrong one counts",
    ),
    bug(Plant::ServesForeignIds, "R1", "anchors", "no report of it: an id copied from another tenant's answer"),
    bug(
        Plant::UnknownIdIsNoPin,
        "R1",
        "anchors",
        "cpx#418: the map of response ids was gone, and the client saw previous_response_not_found",
    ),
];
