//! The file of the control socket.
//!
//! Law: only the user of the run can connect, from the moment the file exists. An existing file is not touched if it is
//! not a socket, or if another run listens on it. At the end, the file is removed only if it is still the file that
//! this run created.

use std::{
    fmt, fs, io,
    os::fd::OwnedFd,
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{Mode, fchmod},
    io::{Errno, ioctl_fionbio},
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
        sockopt::{Timeout, set_socket_timeout},
    },
};
use teetap_wire::printable_path;

use super::ControlError;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// A listening socket on which no connection is accepted yet.
#[derive(Debug)]
pub struct Socket {
    pub(super) listener: UnixListener,
    pub(super) guard: std::sync::Arc<Guard>,
}

/// The file of a socket, removed when the guard is dropped.
#[derive(Debug)]
pub struct Guard {
    path: PathBuf,
    /// Device and inode number of the file.
    id: (u64, u64),
}

impl Socket {
    /// Creates the socket. Replaces the file of a run that has ended.
    ///
    /// # Errors
    /// Another run listens on the path, another file exists there, or the file cannot be created.
    pub fn bind(path: &Path) -> Result<Self, ControlError> {
        let failed = |why: &dyn fmt::Display| ControlError::Create {
            name: printable_path(path),
            why: why.to_string(),
        };
        let listener = match open(path) {
            Err(Errno::ADDRINUSE) => {
                let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
                if !is_socket {
                    return Err(failed(&"another file is there; choose another path"));
                }
                match connect(path, Duration::ZERO) {
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                    // The listener has no room for a connection.
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(failed(&error)),
                    Ok(_) | Err(_) => return Err(failed(&"another run listens on it; choose another path")),
                }
                fs::remove_file(path).map_err(|error| failed(&error))?;
                open(path)
            }
            opened => opened,
        };
        let listener = listener.map_err(|error| match error {
            Errno::NAMETOOLONG => failed(&"the path is too long for a socket; choose one below 108 bytes"),
            _ => failed(&io::Error::from(error)),
        })?;
        let found = fs::symlink_metadata(path).map_err(|error| failed(&error))?;
        Ok(Self {
            listener,
            guard: std::sync::Arc::new(Guard {
                path: path.to_owned(),
                id: (found.dev(), found.ino()),
            }),
        })
    }
}

/// Connects to the socket of a run. Waits up to `patience` if it has no room for a connection.
///
/// # Errors
/// The error of the operating system; [`io::ErrorKind::WouldBlock`] if there was no room in time.
pub fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = stream_socket()?;
    if patience.is_zero() {
        ioctl_fionbio(&socket, true)?;
    } else {
        set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    }
    rustix::net::connect(&socket, &address)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Creates a local stream socket that child processes do not inherit.
fn stream_socket() -> Result<OwnedFd, Errno> {
    socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
}

/// Creates the listening socket. The file gets the mode of the descriptor.
fn open(path: &Path) -> Result<UnixListener, Errno> {
    let address = SocketAddrUnix::new(path)?;
    let socket = stream_socket()?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

impl Guard {
    /// Removes the file, unless another file has replaced it.
    pub fn remove(&self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.id) {
            // If the file cannot be removed, the next run replaces it, since nothing listens on it.
            let _stays = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.sock");
        (folder, path)
    }

    #[test]
    fn only_the_user_can_connect_and_the_file_is_removed() {
        let (_folder, path) = place();
        let socket = Socket::bind(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        UnixStream::connect(&path).unwrap();
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_of_an_ended_run_is_replaced_and_other_files_are_not() {
        let (_folder, path) = place();
        drop(UnixListener::bind(&path).unwrap());
        let first = Socket::bind(&path).unwrap();
        let error = Socket::bind(&path).unwrap_err().to_string();
        assert!(
            error.ends_with(": another run listens on it; choose another path"),
            "{error}"
        );
        // A file that replaced it is not removed.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "text").unwrap();
        drop(first);
        let error = Socket::bind(&path).unwrap_err().to_string();
        assert!(
            error.ends_with(": another file is there; choose another path"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
    }

    #[test]
    fn a_path_that_is_no_place_for_a_socket_is_an_error() {
        let (folder, path) = place();
        let error = |path: &Path| Socket::bind(path).unwrap_err().to_string();
        assert!(error(&path.join("run.sock")).contains("No such file or directory"));
        let long = folder.path().join("x".repeat(120));
        assert!(error(&long).contains("the path is too long for a socket"));
    }
}
