fn main() {
    let nowhere = std::hint::black_box(std::ptr::null::<i32>());
    println!("{}", unsafe { nowhere.read_volatile() });
}
