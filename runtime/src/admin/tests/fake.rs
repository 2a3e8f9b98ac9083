//! A gateway in memory.

use std::sync::Mutex;

use super::*;

#[derive(Default)]
pub(crate) struct Fake {
    users: Mutex<Vec<User>>,
}

impl Fake {
    fn with<T>(&self, user: &str, act: impl FnOnce(&mut User) -> T) -> Result<T, ControlError> {
        let mut users = self.users.lock().unwrap();
        let found = users.iter_mut().find(|known| known.id == user || known.name == user);
        let missing = || ControlError::NotFound {
            what: "user".into(),
            value: user.into(),
            fix: "`homing users list` shows all".into(),
        };
        found.map(act).ok_or_else(missing)
    }
}

fn binding(number: usize) -> Binding {
    let at = Stamp(1_700_000_000_000 + number as u64);
    let (state, generation) = (BindingState::Bound, 1);
    Binding {
        tenant: "ann".into(),
        account: "team-1".into(),
        state,
        generation,
        created: at,
        renewed: at,
        expires: at,
        keys: 2,
    }
}

#[async_trait::async_trait]
impl Control for Fake {
    async fn create_user(&self, user: NewUser) -> Result<CreatedUser, ControlError> {
        let mut users = self.users.lock().unwrap();
        if users.iter().any(|known| known.name == user.name) {
            let fix = "choose another name".to_owned();
            return Err(ControlError::Conflict { what: "user".into(), value: user.name, fix });
        }
        let (id, at) = (format!("u{}", users.len() + 1), Stamp(1_700_000_000_000));
        let user = User { id, name: user.name, disabled: false, created: at, key_created: at };
        users.push(user.clone());
        Ok(CreatedUser { user, key: ShownKey("hmg_first".into()) })
    }

    async fn users(&self, page: PageRequest) -> Result<Page<User>, ControlError> {
        let items = self.users.lock().unwrap().iter().take(page.limit).cloned().collect();
        Ok(Page { items, next: None })
    }

    async fn user(&self, user: &str) -> Result<User, ControlError> {
        assert_ne!(user, "panic", "a defect, on purpose");
        self.with(user, |user| user.clone())
    }

    async fn reset_key(&self, user: &str) -> Result<CreatedUser, ControlError> {
        self.with(user, |user| CreatedUser { user: user.clone(), key: ShownKey("hmg_second".into()) })
    }

    async fn set_disabled(&self, user: &str, disabled: bool) -> Result<User, ControlError> {
        self.with(user, |user| {
            user.disabled = disabled;
            user.clone()
        })
    }

    async fn delete_user(&self, user: &str) -> Result<DeletedUser, ControlError> {
        let user = self.with(user, |user| user.clone())?;
        self.users.lock().unwrap().retain(|known| known.id != user.id);
        Ok(DeletedUser { user, bindings: 3 })
    }

    async fn accounts(&self) -> Result<Vec<Account>, ControlError> {
        Err(ControlError::Unavailable { what: "the directory".into(), fix: "try again".into() })
    }

    async fn bindings(&self, page: PageRequest) -> Result<Page<Binding>, ControlError> {
        let start: usize = page.after.map_or(0, |after| after.parse().unwrap());
        let end = (start + page.limit).min(250);
        Ok(Page { items: (start..end).map(binding).collect(), next: (end < 250).then(|| end.to_string()) })
    }

    async fn explain(&self, request: ExplainRequest) -> Result<Explanation, ControlError> {
        assert_eq!(format!("{request:?}"), "ExplainRequest { tenant: \"ann\", .. }");
        let text = format!("{} bytes lead to team-1", request.session_id.len());
        Ok(Explanation { verdict: Verdict::Home, text, binding: Some(binding(0)), account: None })
    }

    async fn health(&self) -> Result<Health, ControlError> {
        Ok(Health {
            status: HealthStatus::Ok,
            version: "0.0.0".into(),
            running: true,
            accounts: 3,
            usable_accounts: 2,
            bindings: 250,
            not_durable: 0,
            notes: Vec::new(),
        })
    }
}
