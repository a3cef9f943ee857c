use std::{thread, time::Duration};

fn main() {
    loop {
        thread::spawn(|| thread::sleep(Duration::from_secs(600)));
    }
}
