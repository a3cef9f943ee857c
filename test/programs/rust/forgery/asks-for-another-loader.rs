// Sets an invalid loader name, so that the kernel could not start it.
#[used]
#[link_section = ".interp"]
static LOADER: [u8; 3] = *b"abc";

fn main() {}
