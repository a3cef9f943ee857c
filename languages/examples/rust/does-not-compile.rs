fn main() {
    let count: u32 = "text";
}
