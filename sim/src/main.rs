//! `homing-sim`: the simulator's command line.

fn main() {}
