//! What clients send: sessions named in several ways, the same ids under every tenant.

use homing_core::fleet::ModelId;
use homing_core::ids::{AccountId, PoolId, TenantId};
use homing_core::key::{ConversationScope, Digest, Keys, SignalKind};
use homing_core::time::Time;
use homing_core::turn::Request;

/// How a request names its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// Header only.
    Header,
    /// Header, and a `prompt_cache_key` that every session of the tenant sends.
    HeaderAndShared,
    /// Header, and a `prompt_cache_key` of this session alone.
    HeaderAndOwn,
    /// Body field, and the shared `prompt_cache_key`.
    BodyAndShared,
    /// Only the session's own `prompt_cache_key`.
    Own,
    /// Only the shared `prompt_cache_key`.
    Shared,
    /// No session at all (B1).
    Nothing,
    /// Header, and `thread-id`: a conversation where its policy is on.
    Thread,
}

/// All forms of sessions.
pub const FORMS: [Form; 7] = [
    Form::Header,
    Form::HeaderAndShared,
    Form::HeaderAndOwn,
    Form::BodyAndShared,
    Form::Own,
    Form::Shared,
    Form::Nothing,
];

/// What is odd about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Oddity {
    /// Nothing.
    Plain,
    /// It names one model.
    Model,
    /// It names another model.
    OtherModel,
    /// It cannot be repeated once it was sent.
    Once,
    /// Only this account can serve it (R1).
    Pinned(AccountId),
    /// Its success brings an id that pins (R1).
    Issues,
    /// It names the last id its session got, and its success brings another.
    Continues,
    /// It names the last id that the same session of another tenant got.
    Foreign,
    /// It names the last ids of its tenant's first two sessions.
    Mixed,
}

/// The pins of one request: what it names, and what its success brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Anchors {
    /// The ids it names, in order.
    pub named: [Option<Digest>; 2],
    /// The id its success brings.
    pub issued: Option<Digest>,
}

impl Anchors {
    /// The ids it names.
    #[must_use]
    pub fn list(&self) -> Vec<Digest> {
        self.named.iter().flatten().copied().collect()
    }
}

/// Where a tenant's requests come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Desk {
    /// Its pool.
    pub pool: PoolId,
    /// Which of its API keys it uses.
    pub api_key: u8,
}

/// One request a client may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ask {
    /// Who.
    pub tenant: TenantId,
    /// Which session of theirs.
    pub session: u8,
    /// How it names it.
    pub form: Form,
    /// What is odd.
    pub oddity: Oddity,
}

impl Form {
    /// Whether requests of this form differ between sessions.
    #[must_use]
    pub const fn names_session(self) -> bool {
        !matches!(self, Self::Shared | Self::Nothing)
    }

    /// Its name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Header => "h",
            Self::HeaderAndShared => "h+shared",
            Self::HeaderAndOwn => "h+own",
            Self::BodyAndShared => "b+shared",
            Self::Own => "own",
            Self::Shared => "shared",
            Self::Nothing => "none",
            Self::Thread => "thread",
        }
    }

    /// The form with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FORMS.into_iter().chain([Self::Thread]).find(|form| form.name() == name)
    }
}

impl Ask {
    /// The session keys under a scope.
    #[must_use]
    pub fn keys(&self, scope: &str) -> Keys {
        let (header, body, own) =
            (format!("s{}", self.session), format!("b{}", self.session), format!("p{}", self.session));
        let shared = "the-application";
        let signals: &[(SignalKind, &str)] = match self.form {
            Form::Header | Form::Thread => &[(SignalKind::SessionHeader, &header)],
            Form::HeaderAndShared => &[(SignalKind::SessionHeader, &header), (SignalKind::PromptCacheKey, shared)],
            Form::HeaderAndOwn => &[(SignalKind::SessionHeader, &header), (SignalKind::PromptCacheKey, &own)],
            Form::BodyAndShared => &[(SignalKind::BodySession, &body), (SignalKind::PromptCacheKey, shared)],
            Form::Own => &[(SignalKind::PromptCacheKey, &own)],
            Form::Shared => &[(SignalKind::PromptCacheKey, shared)],
            Form::Nothing => &[],
        };
        Keys::session(scope, signals.iter().map(|(kind, value)| (*kind, value.as_bytes())))
    }

    fn model(&self) -> Option<&'static str> {
        match (self.oddity, self.form) {
            (Oddity::OtherModel, _) => Some("model-2"),
            (Oddity::Model, _) | (_, Form::Thread) => Some("model-1"),
            _ => None,
        }
    }

    /// The key of its conversation, if it names one.
    fn conversation(&self, desk: Desk) -> Option<Keys> {
        let model = self.model().filter(|_| self.form == Form::Thread)?;
        let (api_key, thread) = (format!("user:{} key {}", self.tenant.0, desk.api_key), format!("th{}", self.session));
        let scope = ConversationScope { pool: desk.pool, api_key: &api_key, model };
        Keys::conversation(&scope, &[thread.as_bytes()], &[])
    }

    /// The request as the core gets it.
    #[must_use]
    pub fn request(&self, began: Time, desk: Desk, anchors: &Anchors) -> Request {
        Request {
            pool: desk.pool,
            keys: self.keys(&format!("user:{}", self.tenant.0)),
            conversation: self.conversation(desk),
            anchors: u8::try_from(anchors.list().len()).unwrap_or(u8::MAX),
            model: self.model().map(ModelId::of),
            repeatable: self.oddity != Oddity::Once,
            pin: match self.oddity {
                Oddity::Pinned(account) => Some(account),
                _ => None,
            },
            ..Request::new(self.tenant, began)
        }
    }

    /// A short name for traces: tenant, session, form, oddity. [`Ask::named`] reads it.
    #[must_use]
    pub fn name(&self) -> String {
        let form = self.form.name();
        let odd = match self.oddity {
            Oddity::Plain => String::new(),
            Oddity::Model => " model".into(),
            Oddity::OtherModel => " model=2".into(),
            Oddity::Once => " once".into(),
            Oddity::Pinned(account) => format!(" pin=a{}", account.0),
            Oddity::Issues => " issues".into(),
            Oddity::Continues => " continues".into(),
            Oddity::Foreign => " foreign".into(),
            Oddity::Mixed => " mixed".into(),
        };
        format!("t{}/s{}/{form}{odd}", self.tenant.0, self.session)
    }

    /// The request with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (what, odd) = name.split_once(' ').map_or((name, None), |(what, odd)| (what, Some(odd)));
        let mut parts = what.split('/');
        let (tenant, session, form) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let oddity = match odd {
            None => Oddity::Plain,
            Some("model") => Oddity::Model,
            Some("model=2") => Oddity::OtherModel,
            Some("once") => Oddity::Once,
            Some("issues") => Oddity::Issues,
            Some("continues") => Oddity::Continues,
            Some("foreign") => Oddity::Foreign,
            Some("mixed") => Oddity::Mixed,
            Some(pin) => Oddity::Pinned(AccountId(pin.strip_prefix("pin=a")?.parse().ok()?)),
        };
        Some(Self {
            tenant: TenantId(tenant.strip_prefix('t')?.parse().ok()?),
            session: session.strip_prefix('s')?.parse().ok()?,
            form: Form::named(form)?,
            oddity,
        })
    }
}
