//! The README's table of keys is the one the program prints.

#[test]
fn the_readme_lists_every_key_as_the_program_does() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let reference = homing::config::reference();
    assert!(readme.contains(&reference), "put the output of `homing check-config --keys` into the README");
}
