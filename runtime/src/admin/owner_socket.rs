//! The Unix socket of the command line (T2): open to the gateway's own user alone.

use std::{
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use smol::net::unix::{UnixListener, UnixStream};

use crate::os::{self, Lock};

/// A listening Unix socket; its file goes when it is dropped.
#[derive(Debug)]
pub struct OwnerSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the file, so that only our own is removed.
    identity: (u64, u64),
}

/// The socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Something that is no socket has its name; it is left alone.
    #[error("state.socket: {} is there and is no socket; move it away or set another path", path.display())]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("state.socket: {} cannot be opened ({error}); set a path in a directory that this user can write to", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl OwnerSocket {
    /// Opens the socket with mode 0600. A socket file that a dead gateway left is replaced; that no live one owns it is
    /// what the database's lock proves.
    ///
    /// # Errors
    /// See [`SocketError`].
    pub fn bind(path: &Path, _proof: &Lock) -> Result<Self, SocketError> {
        if std::fs::symlink_metadata(path).is_ok_and(|facts| !facts.file_type().is_socket()) {
            return Err(SocketError::NoSocket { path: path.into() });
        }
        let failed = |error: io::Error| SocketError::Io { path: path.into(), error };
        // Made under another name and moved, so that there is no moment in which others could connect.
        let mut draft = path.as_os_str().to_owned();
        draft.push(".new");
        let draft = PathBuf::from(draft);
        if std::fs::symlink_metadata(&draft).is_ok_and(|facts| facts.file_type().is_socket()) {
            std::fs::remove_file(&draft).map_err(failed)?;
        }
        let listener = UnixListener::bind(&draft).map_err(failed)?;
        let settle = || {
            std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))?;
            std::fs::rename(&draft, path)?;
            std::fs::symlink_metadata(path).map(|facts| (facts.dev(), facts.ino()))
        };
        let identity = settle().map_err(failed)?;
        Ok(Self { listener, path: path.into(), identity })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next connection of this process's user or root. Others are dropped: the mode keeps them out already, unless
    /// someone changed it.
    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            match os::peer_is_owner(&stream) {
                Ok(true) => return Ok(stream),
                Ok(false) => tracing::warn!("another user on state.socket was turned away"),
                Err(error) => tracing::warn!(%error, "a peer on state.socket could not be told and was turned away"),
            }
        }
    }
}

impl Drop for OwnerSocket {
    fn drop(&mut self) {
        let facts = std::fs::symlink_metadata(&self.path);
        if facts.is_ok_and(|facts| (facts.dev(), facts.ino()) == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
