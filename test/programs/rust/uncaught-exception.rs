fn main() {
    panic!("an uncaught exception");
}
