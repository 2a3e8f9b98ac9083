//! What the management API needs of the gateway: plain data in and out.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Stamp;

/// The gateway, as seen by its operator. A running gateway implements it over its live state; without one it is
/// implemented over the database alone. Users are named by their id or their name.
#[async_trait]
pub trait Control: Send + Sync {
    /// Makes a user with a fresh key. `Conflict` where the name is taken.
    async fn create_user(&self, user: NewUser) -> Result<CreatedUser, ControlError>;
    /// Users by name.
    async fn users(&self, page: PageRequest) -> Result<Page<User>, ControlError>;
    /// One user.
    async fn user(&self, user: &str) -> Result<User, ControlError>;
    /// Gives the user a fresh key; the old one is void from then on, the sessions stay (B12).
    async fn reset_key(&self, user: &str) -> Result<CreatedUser, ControlError>;
    /// Disables or enables the user. A disabled user's requests get 403.
    async fn set_disabled(&self, user: &str, disabled: bool) -> Result<User, ControlError>;
    /// Deletes the user with all bindings and pins (B12).
    async fn delete_user(&self, user: &str) -> Result<DeletedUser, ControlError>;
    /// All accounts, by label.
    async fn accounts(&self) -> Result<Vec<Account>, ControlError>;
    /// Live bindings, in an order that stays the same from page to page.
    async fn bindings(&self, page: PageRequest) -> Result<Page<Binding>, ControlError>;
    /// Where the session would go, and why.
    async fn explain(&self, request: ExplainRequest) -> Result<Explanation, ControlError>;
    /// How the gateway is.
    async fn health(&self) -> Result<Health, ControlError>;
}

/// A user to be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// 1 to 64 of `A-Z a-z 0-9 . _ @ -`, not beginning with `.` or `-`; unique.
    pub name: String,
}

/// A managed user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The id, which never changes.
    pub id: String,
    /// The name.
    pub name: String,
    /// Whether requests get 403.
    pub disabled: bool,
    /// When the user was made.
    pub created: Stamp,
    /// When the key was made.
    pub key_created: Stamp,
}

/// A user with a key that is shown this once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreatedUser {
    /// The user.
    pub user: User,
    /// The key.
    pub key: ShownKey,
}

/// An API key on its only way out.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShownKey(pub String);

impl fmt::Debug for ShownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What went with a deleted user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedUser {
    /// The user as it was.
    pub user: User,
    /// Bindings deleted.
    pub bindings: u64,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Most items, 1 to 1,000.
    pub limit: usize,
    /// The `next` of the page before; absent: from the start. At most 256 bytes, checked by the implementation.
    pub after: Option<String>,
}

impl PageRequest {
    /// Items of a page where none are asked for.
    pub const USUAL: usize = 100;
    /// Most items of a page.
    pub const MOST: usize = 1_000;
}

/// A part of a list and where the next one starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// `after` of the next page; absent on the last.
    pub next: Option<String>,
}

/// An upstream account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its label: no token, no raw identity.
    pub label: String,
    /// `ready`, `cooling`, `spent`, `needs login`, `disabled` or the like.
    pub state: String,
    /// Why it is in that state.
    pub reason: Option<String>,
    /// When that state is expected to end.
    pub until: Option<Stamp>,
    /// When its access token expires.
    pub expires: Option<Stamp>,
    /// Whether requests may go to it.
    pub in_pool: bool,
}

/// How far a binding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BindingState {
    /// Its account was chosen and has not succeeded yet (B4).
    Reserved,
    /// Its account is the session's home.
    Bound,
}

/// The stored row of a session. Never holds raw identifiers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The tenant: a user's name or an account's label.
    pub tenant: String,
    /// Label of the account, or its stable id where it is not loaded.
    pub account: String,
    /// Reserved or bound.
    pub state: BindingState,
    /// Counts the moves (B5).
    pub generation: u64,
    /// When the row was made.
    pub created: Stamp,
    /// When it was last renewed.
    pub renewed: Stamp,
    /// When it ends unless it is renewed (B8).
    pub expires: Stamp,
    /// How many keys lead to it, 1 to 8 (B10).
    pub keys: u32,
}

/// A question about one session.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// The tenant: a user's id or name, or an account's label.
    pub tenant: String,
    /// The identifier as the client sends it. Hashed at once, never kept, never shown.
    pub session_id: String,
}

impl fmt::Debug for ExplainRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExplainRequest").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

/// What would decide a session's next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It goes to its home.
    Home,
    /// Its home cannot serve now; it goes elsewhere and moves with the first success there.
    HomeOut,
    /// No account can serve now: it gets the pool's answer.
    AllOut,
    /// It was reserved and has not succeeded yet.
    Reserved,
    /// No live row: the strategy chooses.
    NoBinding,
    /// The identifier is no key (K1): the strategy chooses.
    NotAKey,
    /// Affinity is off: the strategy chooses.
    Off,
}

/// The answer to [`ExplainRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// What decides.
    pub verdict: Verdict,
    /// Why, in a few sentences for people.
    pub text: String,
    /// The row, where there is one.
    pub binding: Option<Binding>,
    /// The state of the row's account, where it is loaded.
    pub account: Option<Account>,
}

/// Whether all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// All is well.
    Ok,
    /// It serves, and an operator should look: see the notes.
    Degraded,
    /// It cannot serve.
    Down,
}

/// How the gateway is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// In a word.
    pub status: HealthStatus,
    /// Homing's version.
    pub version: String,
    /// Whether a gateway runs; false where the database alone was opened.
    pub running: bool,
    /// Accounts loaded.
    pub accounts: u64,
    /// Of them those that could serve now.
    pub usable_accounts: u64,
    /// Live bindings.
    pub bindings: u64,
    /// Bindings that are not yet on disk (B15).
    pub not_durable: u64,
    /// What an operator should know.
    pub notes: Vec<String>,
}

/// Why the gateway did not do what was asked. The texts name the fix; none holds a secret or a session identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ControlError {
    /// There is no such thing.
    #[error("{what}: {value:?} does not exist; {fix}")]
    NotFound {
        /// What was looked for, as "user".
        what: String,
        /// The name it was looked for by.
        value: String,
        /// What to do.
        fix: String,
    },
    /// It is there already, or in a state that does not allow this.
    #[error("{what}: {value:?} is there already; {fix}")]
    Conflict {
        /// What is in the way.
        what: String,
        /// Its name.
        value: String,
        /// What to do.
        fix: String,
    },
    /// A value cannot be taken.
    #[error("{field}: {value:?} cannot be taken; {fix}")]
    Invalid {
        /// The field of the request.
        field: String,
        /// The value, or a description of one that must not be shown.
        value: String,
        /// What would be right.
        fix: String,
    },
    /// The gateway cannot answer now.
    #[error("{what} is not available now; {fix}")]
    Unavailable {
        /// What is missing, as "the store".
        what: String,
        /// What to do.
        fix: String,
    },
}
