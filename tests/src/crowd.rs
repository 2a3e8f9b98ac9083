//! Many conversations at once, each known by its number, and where each is served.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ask::Ask;
use crate::gateway::must;
use crate::raw::{RawClient, RawResponse};

/// Client connections that ask at the same time.
const CLIENTS: usize = 8;

/// Conversations of one user.
pub struct Crowd<'a> {
    /// Where the gateway listens.
    pub addr: SocketAddr,
    /// The user's key.
    pub key: &'a str,
}

impl Crowd<'_> {
    /// One turn of each of these conversations, over several kept-alive connections; every one must be served. The name of
    /// the account that served each, in the order given.
    pub fn turns(&self, conversations: &[usize]) -> Vec<String> {
        let next = AtomicUsize::new(0);
        let served = Mutex::new(vec![String::new(); conversations.len()]);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    let mut client = must(RawClient::connect(self.addr), "cannot connect");
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(conversation) = conversations.get(index) else { return };
                        let answer = must(client.exchange(&self.ask(*conversation).request()), "no answer");
                        assert_eq!(answer.status(), 200, "conversation {conversation}: {}", answer.text());
                        let account = account_of(&answer);
                        if let Ok(mut served) = served.lock() {
                            served[index] = account;
                        }
                    }
                });
            }
        });
        served.into_inner().unwrap_or_default()
    }

    fn ask(&self, conversation: usize) -> Ask {
        Ask::turn(self.key).session(&format!("conversation-{conversation}"))
    }
}

/// The account whose name an answer of the scripted upstream bears.
pub fn account_of(answer: &RawResponse) -> String {
    let text = answer.output_text();
    let name = text.strip_prefix("Hello from ").and_then(|rest| rest.split(' ').next());
    name.unwrap_or_else(|| panic!("an answer that names no account: {text:?}")).to_owned()
}
