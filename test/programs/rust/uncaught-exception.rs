fn main() {
    panic!("nobody catches this");
}
