extern "C" {
    fn raise(signal: i32) -> i32;
}

fn main() {
    unsafe { raise(9) };
}
