use std::os::unix::process::ExitStatusExt;
use std::{env, process};

fn eat() -> ! {
    let mut hoard = Vec::new();
    loop {
        hoard.push(vec![1u8; 1 << 20]);
    }
}

fn main() {
    if env::args().nth(1).is_some() {
        eat();
    }
    let program = env::args().next().unwrap();
    let status = process::Command::new(program).arg("child").status().unwrap();
    process::exit(if status.signal().is_some() { 0 } else { 1 });
}
