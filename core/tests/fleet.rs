//! The accounts as they come and go.

use homing_core::failure::Failure;
use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::AccountId;
use homing_core::time::Time;

const A: AccountId = AccountId(1);
const B: AccountId = AccountId(2);
const NOW: Time = Time(1_000);

fn ids(fleet: &Fleet) -> Vec<AccountId> {
    fleet.iter().map(|account| account.id).collect()
}

#[test]
fn b11_a_forgotten_account_comes_back_with_a_clean_slate() {
    let mut fleet = Fleet::new();
    [B, A].iter().for_each(|id| fleet.set(*id, Standing::Usable));
    fleet.failed(A, Failure::QuotaSpent { until: None }, None, NOW, NOW);
    fleet.remove(A);
    assert_eq!((ids(&fleet), fleet.get(A)), (vec![B], None));
    fleet.set(A, Standing::Usable);
    assert_eq!(ids(&fleet), [A, B], "in the order of their ids");
    assert!(fleet.get(A).is_some_and(|account| account.spent.is_none() && account.eligible(None, NOW)));
}
