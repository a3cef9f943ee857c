// Reads a path and a port. Prints whether it can read the file, connect to the port and write to the image, and what it sees.
use std::{env, fs, io, net::TcpStream};

fn word<T>(attempt: io::Result<T>, done: &'static str) -> &'static str {
    if attempt.is_ok() { done } else { "cannot" }
}

fn main() {
    let given = io::read_to_string(io::stdin()).unwrap();
    let mut lines = given.lines();
    let (path, port) = (lines.next().unwrap(), lines.next().unwrap());
    println!("file: {}", word(fs::read(path), "read"));
    println!("tcp: {}", word(TcpStream::connect(format!("127.0.0.1:{port}")), "connected"));
    println!("image: {}", word(fs::File::create("/usr/attack"), "written"));
    let entries = fs::read_dir("/proc").unwrap();
    let numbered = entries.filter(|entry| entry.as_ref().unwrap().file_name().as_encoded_bytes()[0].is_ascii_digit());
    println!("processes: {}", numbered.count());
    let names: Vec<String> = env::vars().map(|(name, _)| name).collect();
    println!("environment: {}", names.join(" "));
}
