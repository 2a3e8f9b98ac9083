//! A turn state goes back to the account that issued it, for the tenant that got it (R7).

use homing_core::ids::{AccountId, TenantId};
use homing_core::turn_state::{TOKENS_MAX, TurnStates};

const ADA: TenantId = TenantId(1);
const A: AccountId = AccountId(1);
const B: AccountId = AccountId(2);

#[test]
fn r7_a_token_belongs_to_its_issuer_alone() {
    let mut states = TurnStates::new();
    states.issued(ADA, "token", A);
    assert!(states.belongs(ADA, "token", A));
    assert!(!states.belongs(ADA, "token", B));
    assert!(!states.belongs(ADA, "another", A), "a token nobody remembers belongs to nobody");
    states.issued(ADA, "token", B);
    assert!(states.belongs(ADA, "token", B) && !states.belongs(ADA, "token", A), "the last issuer counts");
}

#[test]
fn r7_b14_no_tenant_shares_a_token_with_another() {
    let mut states = TurnStates::new();
    states.issued(TenantId(0), "token", A);
    for bit in 0..u32::BITS {
        assert!(!states.belongs(TenantId(1 << bit), "token", A), "tenant {}", 1_u32 << bit);
        states.issued(TenantId(1 << bit), "token", A);
    }
    assert!(!states.belongs(TenantId(3), "token", A));
}

#[test]
fn r7_the_oldest_token_is_forgotten_first() {
    let mut states = TurnStates::new();
    states.issued(ADA, "first", A);
    states.issued(ADA, "second", A);
    for n in 2..TOKENS_MAX {
        states.issued(ADA, &n.to_string(), A);
    }
    assert!(states.belongs(ADA, "first", A), "there is room for this many");
    // Issued once more, a token takes no second place.
    states.issued(ADA, "second", A);
    assert!(states.belongs(ADA, "first", A));
    states.issued(ADA, "one more", A);
    assert!(!states.belongs(ADA, "first", A));
    assert!(states.belongs(ADA, "second", A) && states.belongs(ADA, "one more", A));
}
