use std::thread;

fn spin() {
    loop {
        std::hint::spin_loop();
    }
}

fn main() {
    for _ in 0..3 {
        thread::spawn(spin);
    }
    spin();
}
