//! Every string of bytes is a run, one choice a byte; a broken rule is a crash. See `sim/fuzz/README.md`.
#![no_main]

use homing_sim::corpus::replay;
use homing_sim::run::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let plan = Plan::default();
    let report = replay(&plan, bytes);
    if let Some(violation) = &report.violation {
        panic!("{violation}\n{}", report.command(&plan));
    }
});
