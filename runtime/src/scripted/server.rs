//! The accept loop and the life of one connection.

use std::sync::Arc;

use smol::Executor;
use smol::net::{TcpListener, TcpStream};

use super::connection::{Connection, ReadError};
use super::dispatch;
use super::play::Player;
use super::reply::Answer;
use super::state::State;

/// Accepts connections until the future is dropped. Tasks live on `executor` and end with it.
pub(super) async fn accept(listener: TcpListener, state: Arc<State>, executor: Arc<Executor<'static>>) {
    let mut number = 0;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                number += 1;
                executor.spawn(serve(stream, number, state.clone())).detach();
            }
            // Out of descriptors, most likely: connections that end will free some.
            Err(_) => crate::clock::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
}

async fn serve(stream: TcpStream, number: u64, state: Arc<State>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut connection = Connection::new(stream, number);
    loop {
        let served = match connection.head().await {
            Ok(Some(head)) => dispatch::serve(&state, &mut connection, &head).await,
            Ok(None) => return,
            Err(error) => Err(error),
        };
        match served {
            Ok(true) => {}
            Ok(false) | Err(ReadError::Closed) => return,
            Err(ReadError::Bad(status)) => {
                let mut player = Player::new(&state, &mut connection, &[]);
                player.keep_alive = false;
                player.play(Answer::empty(status).into()).await;
                return;
            }
        }
    }
}
