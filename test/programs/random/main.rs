// A line for each random number, from each source: in the program, its threads, and children.
use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::Read;

fn show(who: &str) {
    println!("{who} RandomState\t{}", RandomState::new().build_hasher().finish());
    let mut bytes = [0u8; 8];
    File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    println!("{who} device\t{}", u64::from_ne_bytes(bytes));
}

fn main() {
    if let Some(who) = std::env::args().nth(1) {
        return show(&who);
    }
    show("program");
    for who in ["thread", "other thread"] {
        std::thread::spawn(move || show(who)).join().unwrap();
    }
    for who in ["child", "other child"] {
        let output = std::process::Command::new("./main").arg(who).output().unwrap();
        print!("{}", String::from_utf8(output.stdout).unwrap());
    }
    show("program again");
}
