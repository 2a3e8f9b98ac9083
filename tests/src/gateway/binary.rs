//! Where the program under test is.

use std::path::PathBuf;

/// `target/<profile>/homing`, beside the directory of the test's own executable.
pub(super) fn path() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    // target/<profile>/deps/<test>, or target/<profile>/<program> for a program of this package.
    let beside = own.ancestors().skip(1).take(2).map(|dir| dir.join("homing")).find(|path| path.is_file());
    beside
        .unwrap_or_else(|| panic!("there is no `homing` near {}; build it first: cargo build -p homing", own.display()))
}
