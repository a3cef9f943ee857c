use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut file = std::fs::File::create("big")?;
    loop {
        file.write_all(&[0; 65536])?;
    }
}
