fn main() {
    let mut hoard = Vec::new();
    loop {
        hoard.push(vec![1u8; 1 << 20]);
    }
}
