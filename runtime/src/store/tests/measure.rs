//! Figures for the documentation, not tests: `cargo test -p homing store::tests::measure -- --ignored --nocapture`.

use std::time::Instant;

use super::*;

#[test]
#[ignore = "a measurement"]
fn durable_binds_with_64_in_flight() {
    let place = place();
    let store = open(&place.path, START);
    let began = Instant::now();
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let store = Arc::clone(&store);
            smol::spawn(async move {
                let mut taken = Vec::new();
                for i in 0..1_000 {
                    let began = Instant::now();
                    let (_, seq) = serve(&store, T1, &session(T1, &format!("{task}/{i}")), A, START);
                    assert_eq!(store.commit(seq, LONG).await, Commit::Committed);
                    taken.push(began.elapsed());
                }
                taken
            })
        })
        .collect();
    let mut taken = smol::block_on(async {
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await);
        }
        all
    });
    taken.sort();
    let rate = taken.len() as f64 / began.elapsed().as_secs_f64();
    println!("{rate:.0} durable binds/s, p50 {:?}, p99 {:?}", taken[taken.len() / 2], taken[taken.len() * 99 / 100]);
}

#[test]
#[ignore = "a measurement"]
fn load_200_000() {
    let place = place();
    let store = open(&place.path, START);
    let began = Instant::now();
    for i in 0..200_000_u32 {
        serve(&store, TenantId(1 + i % 8), &session(TenantId(1 + i % 8), &i.to_string()), A, START);
    }
    durable(&store);
    println!("200,000 binds: {:?}", began.elapsed());
    smol::block_on(store.shutdown());
    drop(store);
    println!("file: {} MB", std::fs::metadata(&place.path).unwrap().len() >> 20);
    let began = Instant::now();
    let store = open(&place.path, START);
    println!("loaded {} in {:?}", store.len(), began.elapsed());
}
