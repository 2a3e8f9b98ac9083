//! Rules: which request meets which behaviour, and how often.

use serde::{Deserialize, Serialize};

use super::behaviour::Behaviour;

/// Rules an upstream keeps at most; further ones are refused.
pub(super) const MOST_RULES: usize = 10_000;

/// Names a rule that was added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RuleId(pub u64);

/// One rule. Rules are tried in the order in which they were added: the first matching outcome counts, and every
/// matching manner.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Only this account (its name); absent: every account.
    #[serde(default)]
    pub account: Option<String>,
    /// Only paths that end so; absent: every path under `/backend-api/codex` and `/v1`, but not `/oauth/token`.
    #[serde(default)]
    pub path: Option<String>,
    /// How often it applies before it goes away; absent: always.
    #[serde(default)]
    pub times: Option<u32>,
    /// Matching requests to let through first.
    #[serde(default)]
    pub skip: u32,
    /// What happens.
    pub behaviour: Behaviour,
}

impl Rule {
    /// A rule for every account, every path and any number of times.
    pub fn always(behaviour: Behaviour) -> Self {
        Self { account: None, path: None, times: None, skip: 0, behaviour }
    }

    /// A rule for the next matching request only.
    pub fn once(behaviour: Behaviour) -> Self {
        Self::always(behaviour).times(1)
    }

    /// Restricts it to one account.
    #[must_use]
    pub fn on(mut self, account: &str) -> Self {
        self.account = Some(account.to_owned());
        self
    }

    /// Restricts it to paths that end so.
    #[must_use]
    pub fn path(mut self, suffix: &str) -> Self {
        self.path = Some(suffix.to_owned());
        self
    }

    /// Restricts it to so many requests.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Lets so many matching requests through first.
    #[must_use]
    pub fn skip(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    fn matches(&self, account: &str, path: &str) -> bool {
        let path_fits = match &self.path {
            Some(suffix) => path.ends_with(suffix.as_str()),
            None => path != super::oauth::PATH,
        };
        path_fits && self.account.as_deref().is_none_or(|name| name == account)
    }
}

/// What the rules say about one request.
#[derive(Clone, Default, Debug)]
pub(super) struct Orders {
    pub(super) outcome: Option<Behaviour>,
    pub(super) manners: Vec<Behaviour>,
}

#[derive(Default)]
pub(super) struct Rules {
    next: u64,
    rules: Vec<(RuleId, Rule)>,
}

impl Rules {
    /// Adds a rule; `None` where there are too many.
    pub(super) fn add(&mut self, rule: Rule) -> Option<RuleId> {
        if self.rules.len() >= MOST_RULES {
            return None;
        }
        self.next += 1;
        self.rules.push((RuleId(self.next), rule));
        Some(RuleId(self.next))
    }

    pub(super) fn remove(&mut self, id: RuleId) -> bool {
        let before = self.rules.len();
        self.rules.retain(|(other, _)| *other != id);
        self.rules.len() < before
    }

    pub(super) fn clear(&mut self) {
        self.rules.clear();
    }

    /// The orders for a request, using up the rules that apply.
    pub(super) fn take(&mut self, account: &str, path: &str) -> Orders {
        let mut orders = Orders::default();
        for (_, rule) in &mut self.rules {
            let wanted = rule.behaviour.is_manner() || orders.outcome.is_none();
            if !wanted || rule.times == Some(0) || !rule.matches(account, path) {
                continue;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            rule.times = rule.times.map(|left| left - 1);
            if rule.behaviour.is_manner() {
                orders.manners.push(rule.behaviour.clone());
            } else {
                orders.outcome = Some(rule.behaviour.clone());
            }
        }
        self.rules.retain(|(_, rule)| rule.times != Some(0));
        orders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_outcome_counts_and_every_manner() {
        let mut rules = Rules::default();
        rules.add(Rule::once(Behaviour::Html403).on("amber"));
        rules.add(Rule::always(Behaviour::SplitSegments));
        rules.add(Rule::always(Behaviour::Incomplete).skip(1));
        let first = rules.take("amber", "/v1/responses");
        assert_eq!(first.outcome, Some(Behaviour::Html403));
        assert_eq!(first.manners, [Behaviour::SplitSegments]);
        assert_eq!(rules.take("amber", "/v1/responses").outcome, None, "skipped once");
        assert_eq!(rules.take("amber", "/v1/responses").outcome, Some(Behaviour::Incomplete));
    }

    #[test]
    fn a_rule_without_a_path_leaves_the_token_endpoint_alone() {
        let mut rules = Rules::default();
        rules.add(Rule::always(Behaviour::Html403));
        assert_eq!(rules.take("amber", "/oauth/token").outcome, None);
        rules.add(Rule::once(Behaviour::LostAnswer).path("/oauth/token"));
        assert_eq!(rules.take("amber", "/oauth/token").outcome, Some(Behaviour::LostAnswer));
        assert_eq!(rules.take("amber", "/oauth/token").outcome, None);
    }
}
