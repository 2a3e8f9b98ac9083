//! Runs told by the names of their actions, so that they mean the same when the order of what can happen changes.

use homing_sim::world::World;

/// The choices that make these actions happen, one behind the other. `!name` says that this action must not be possible there.
///
/// A name is an action's whole text, or its beginning where it ends before a bracket.
pub(crate) fn choices<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<u16> {
    let (mut world, mut enabled, mut choices) = (World::default(), Vec::new(), Vec::new());
    for name in names {
        world.enabled(&mut enabled);
        let is = |text: &str, name: &str| text == name || text.strip_prefix(name).is_some_and(|r| r.starts_with('('));
        let find = |name: &str| enabled.iter().position(|a| is(&a.to_string(), name));
        if let Some(name) = name.strip_prefix('!') {
            assert_eq!(find(name), None, "{name} is possible behind {} actions", choices.len());
            continue;
        }
        let at = find(name).unwrap_or_else(|| panic!("{name} is not possible: {enabled:?}"));
        choices.push(u16::try_from(at).unwrap_or(u16::MAX));
        world.apply(enabled[at]);
    }
    choices
}
