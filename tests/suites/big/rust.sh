# needs: cargo rustc
# A project of a library, a program and their tests, built and run.
mkdir -p p/src && cd p || exit 1
cat >Cargo.toml <<'P'
[package]
name = "p"
version = "0.1.0"
edition = "2021"
P
cat >src/lib.rs <<'P'
use std::collections::BTreeMap;
pub fn words(n: u32) -> BTreeMap<String, u32> {
    let mut m = BTreeMap::new();
    for i in 0..n { *m.entry(format!("k{}", i.wrapping_mul(7919) % 1009)).or_insert(0) += i; }
    m
}
#[test]
fn counts() { assert_eq!(words(5000).len(), 1009); }
#[test]
#[should_panic]
fn panics() { let v: Vec<i32> = vec![]; let _ = v[words(3).len()]; }
P
cat >src/main.rs <<'P'
use std::sync::{mpsc, Arc, Mutex};
fn main() {
    let total = Arc::new(Mutex::new(0u64));
    let (tx, rx) = mpsc::channel();
    let threads: Vec<_> = (0..4).map(|t| { let (total, tx) = (total.clone(), tx.clone()); std::thread::spawn(move || {
        for (k, v) in p::words(20000 + t) { *total.lock().unwrap() += v as u64 + k.len() as u64; }
        tx.send(t).unwrap();
    }) }).collect();
    for t in threads { t.join().unwrap(); }
    drop(tx);
    println!("{} {}", total.lock().unwrap(), rx.iter().sum::<u32>());
}
P
export CARGO_HOME=$PWD/home
cargo build --offline --release -j2 >log 2>&1; echo "build $?"
./target/release/p; echo "run $?"
cargo test --offline -j2 2>log | grep -E '^test |test result: ' | sed 's/finished in.*//' | sort; tail -3 log | grep -i error
