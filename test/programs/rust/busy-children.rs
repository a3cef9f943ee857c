use std::env;
use std::process::Command;

/// Each child stays far below its own limits.
fn spin() {
    for i in 0..100_000_000u64 {
        std::hint::black_box(i);
    }
}

fn main() {
    if env::args().nth(1).is_some() {
        return spin();
    }
    let program = env::args().next().unwrap();
    loop {
        assert!(Command::new(&program).arg("child").status().unwrap().success());
    }
}
