//! Asks the running gateway, or the database where none runs.

use std::{path::PathBuf, sync::Arc};

use http_types::Method;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Failure, dispatch};
use crate::{
    admin::{
        Control,
        client::{self, CallError},
        handle,
    },
    config::Config,
    os,
};

/// Who answers management requests.
pub(super) enum Gateway {
    /// A running gateway, on this socket.
    Running(PathBuf),
    /// The database alone.
    Offline(Arc<dyn Control>),
}

/// The part of an error answer that is for people.
#[derive(Deserialize)]
struct ErrorAnswer {
    error: ErrorText,
}

#[derive(Deserialize)]
struct ErrorText {
    message: String,
}

impl Gateway {
    /// Finds who answers. The lock on the database keeps a gateway that starts meanwhile and this command apart.
    pub(super) fn find(config: &Config) -> Result<Self, Failure> {
        let socket = &config.state.socket;
        let probe = client::request::<()>(Method::Get, "/health", &[], None).map_err(Failure::of)?;
        match os::block_on(client::call(socket, probe)) {
            Ok(_) => Ok(Self::Running(socket.clone())),
            Err(CallError::NoGateway) => dispatch::offline_control(config).map(Self::Offline),
            Err(error) => Err(Failure(format!("{}: {error}", socket.display()))),
        }
    }

    /// Asks for a path below `/v0/management`, and reads the answer as a `T`.
    ///
    /// # Errors
    /// The gateway's own words where it refuses.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        let request = client::request(method, path, query, body).map_err(Failure::of)?;
        let answer = match self {
            Self::Running(socket) => os::block_on(client::call(socket, request)),
            Self::Offline(control) => {
                os::block_on(async { client::answer(handle(control.as_ref(), request).await).await })
            }
        };
        let answer = answer.map_err(Failure::of)?;
        if answer.status.is_success() {
            return serde_json::from_slice(&answer.body).map_err(|error| {
                Failure(format!("the gateway's answer is not understood ({error}); use its own version"))
            });
        }
        let text = serde_json::from_slice::<ErrorAnswer>(&answer.body).map(|answer| answer.error.message);
        Err(Failure(text.unwrap_or_else(|_| format!("the gateway answered {}; look at its log", answer.status))))
    }
}
