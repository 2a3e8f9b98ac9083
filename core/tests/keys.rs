//! What is a key (K1) and what a digest is made of (K2).

use homing_core::ids::PoolId;
use homing_core::key::{ConversationScope, Digest, KEYS_PER_REQUEST, Key, Keys, Policy, SignalKind};
use homing_core::key::{conversation_digest, normalise, session_digest};
use homing_core::pin::{ANCHOR_VALUE_MAX, AnchorKind, anchor_digest};

const SCOPE: ConversationScope<'_> = ConversationScope { pool: PoolId(7), api_key: "key:1", model: "gpt" };
const KINDS: [SignalKind; 6] = [
    SignalKind::SessionHeader,
    SignalKind::BodySession,
    SignalKind::Conversation,
    SignalKind::PromptCacheKey,
    SignalKind::ThreadHeader,
    SignalKind::ConversationHeader,
];

fn session(signals: &[(SignalKind, &[u8])]) -> Keys {
    Keys::session("user:ada", signals.iter().copied())
}

fn kinds(keys: &Keys) -> Vec<SignalKind> {
    keys.iter().map(|key| key.kind).collect()
}

fn hex(digest: Digest) -> String {
    digest.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn k1_a_value_is_trimmed_and_bounded() {
    assert_eq!(normalise(b" \t s-1 \n", 256), Some("s-1"));
    assert_eq!(normalise(&[b'x'; 256], 256).map(str::len), Some(256));
    assert_eq!(normalise(&[b'x'; 257], 256), None);
    let padded = [b"  ".as_slice(), &[b'x'; 256], b"  "].concat();
    assert_eq!(normalise(&padded, 256).map(str::len), Some(256), "the bound counts after trimming");
}

#[test]
fn k1_blank_binary_and_control_characters_are_no_key() {
    for value in [b"".as_slice(), b"   ", b"a\nb", b"a\x00b", b"a\x7fb", b"\xff\xfe", "a\u{85}b".as_bytes()] {
        assert_eq!(normalise(value, 256), None, "{value:?}");
        assert!(session(&[(SignalKind::SessionHeader, value)]).is_empty(), "{value:?}: the request goes on without it");
    }
    assert_eq!(normalise("sitzung-ä".as_bytes(), 256), Some("sitzung-ä"));
}

#[test]
fn k1_a_session_takes_256_bytes_a_conversation_1024() {
    let long = [b'x'; 1025];
    let is_session = |n: usize| !session(&[(SignalKind::SessionHeader, &long[..n])]).is_empty();
    let is_conversation = |n: usize| Keys::conversation(&SCOPE, &[&long[..n]], &[]).is_some();
    assert_eq!([is_session(256), is_session(257)], [true, false]);
    assert_eq!([is_conversation(1024), is_conversation(1025)], [true, false]);
}

#[test]
fn k1_one_bad_signal_does_not_take_the_others_with_it() {
    let keys = session(&[(SignalKind::SessionHeader, b"\xff"), (SignalKind::PromptCacheKey, b"p")]);
    assert_eq!(kinds(&keys), [SignalKind::PromptCacheKey]);
}

#[test]
fn k2_the_same_value_in_two_places_is_one_key_of_the_strongest_kind() {
    let strong = (SignalKind::SessionHeader, b"same".as_slice());
    let weak = (SignalKind::PromptCacheKey, b"same".as_slice());
    for signals in [[strong, weak], [weak, strong]] {
        let keys = session(&signals);
        assert_eq!(kinds(&keys), [SignalKind::SessionHeader]);
    }
}

#[test]
fn k2_keys_stand_strongest_first_and_the_weakest_beyond_four_is_left_out() {
    let mut keys = session(&[
        (SignalKind::PromptCacheKey, b"p"),
        (SignalKind::Conversation, b"c"),
        (SignalKind::SessionHeader, b"s"),
        (SignalKind::BodySession, b"b"),
    ]);
    assert_eq!(kinds(&keys), KINDS[..KEYS_PER_REQUEST]);
    keys.add(Key { digest: session_digest("user:ada", "s-2"), kind: SignalKind::SessionHeader });
    assert_eq!(kinds(&keys).len(), KEYS_PER_REQUEST);
    assert!(keys.has(&session_digest("user:ada", "s-2")) && keys.has(&session_digest("user:ada", "c")));
    assert!(!keys.has(&session_digest("user:ada", "p")));
}

/// What is stored must be found again by every later version.
#[test]
fn k2_digests_are_length_framed_over_version_policy_class_scope_and_value() {
    let of_session = session_digest("user:ada", "s-1");
    let thread = conversation_digest(&SCOPE, SignalKind::ThreadHeader, "t-1");
    let conversation = conversation_digest(&SCOPE, SignalKind::ConversationHeader, "t-1");
    let anchor = anchor_digest(AnchorKind::Response, b"resp_1").unwrap();
    assert_eq!(hex(of_session), "d5618c5c27570a88da0c893a8b86460f3777e51515b1f7fbab92de42d9c65dd1");
    assert_eq!(hex(thread), "5b6e36fb8bbe3f8a6ae38f40a8e7bc270c480cf00b95740fa7816ab85abf6999");
    assert_eq!(hex(conversation), "f89ded44bc3bc461b540e8509f8e251c1f6a316a86aac094b6ae140ea0b3f4e0");
    assert_eq!(hex(anchor), "4174aa0662eae35d8417b06c15ee2b6c6b2e9f5d8efa8e93025f828fa35873c1");
    assert_ne!(session_digest("user:ab", "c"), session_digest("user:a", "bc"), "lengths are framed");
}

#[test]
fn k2_tenants_pools_keys_and_models_are_scopes() {
    assert_ne!(session_digest("user:ada", "s"), session_digest("user:bob", "s"));
    let of = |scope: &ConversationScope<'_>| conversation_digest(scope, SignalKind::ThreadHeader, "t");
    let others = [
        ConversationScope { pool: PoolId(8), ..SCOPE },
        ConversationScope { api_key: "key:2", ..SCOPE },
        ConversationScope { model: "other", ..SCOPE },
    ];
    assert!(others.iter().all(|other| of(other) != of(&SCOPE)));
}

#[test]
fn k2_the_header_name_is_the_class_of_a_conversation() {
    let thread = Keys::conversation(&SCOPE, &[b"t"], &[]).unwrap();
    let conversation = Keys::conversation(&SCOPE, &[], &[b"t"]).unwrap();
    assert_eq!((kinds(&thread), kinds(&conversation)), (vec![KINDS[4]], vec![KINDS[5]]));
    assert!(thread.iter().all(|key| !conversation.has(&key.digest)));
}

#[test]
fn k1_the_conversation_header_that_is_present_decides() {
    let of = |thread: &[&[u8]], conversation: &[&[u8]]| Keys::conversation(&SCOPE, thread, conversation);
    assert_eq!(of(&[b"t"], &[b"c"]).map(|keys| kinds(&keys)), Some(vec![SignalKind::ThreadHeader]));
    for refused in [&[b" ".as_slice()] as &[&[u8]], &[b"t", b"t"], &[b"\xff"]] {
        assert_eq!(of(refused, &[b"c"]), None, "{refused:?}: the other header is not tried");
        assert_eq!(of(&[], refused), None, "{refused:?}");
    }
    assert_eq!(of(&[], &[]), None);
}

#[test]
fn keys_say_which_policy_they_belong_to() {
    let of_session = session(&[(SignalKind::SessionHeader, b"s")]);
    let conversation = Keys::conversation(&SCOPE, &[b"t"], &[]).unwrap();
    assert_eq!((of_session.policy(), of_session.pool()), (Policy::Session, None));
    assert_eq!((conversation.policy(), conversation.pool()), (Policy::Conversation, Some(PoolId(7))));
    let policies = KINDS.map(SignalKind::policy);
    assert_eq!(policies[..4], [Policy::Session; 4]);
    assert_eq!(policies[4..], [Policy::Conversation; 2]);
}

#[test]
fn a_stored_kind_is_read_back() {
    assert_eq!(KINDS.map(|kind| SignalKind::from_u8(kind as u8)), KINDS.map(Some));
    assert_eq!(SignalKind::from_u8(6), None);
}

#[test]
fn a_digest_is_shown_by_its_first_four_bytes_alone() {
    assert_eq!(format!("{:?}", session_digest("user:ada", "s-1")), "d5618c5c…");
}

#[test]
fn r1_an_anchor_is_known_by_its_kind_and_value() {
    let response = anchor_digest(AnchorKind::Response, b"id-1");
    assert_eq!(response, anchor_digest(AnchorKind::Response, b" id-1 "));
    assert_ne!(response, anchor_digest(AnchorKind::File, b"id-1"));
    assert!(anchor_digest(AnchorKind::File, &[b'x'; ANCHOR_VALUE_MAX]).is_some());
    assert_eq!(anchor_digest(AnchorKind::File, &[b'x'; ANCHOR_VALUE_MAX + 1]), None);
}
