// Typical use of Rust's library, which the system call filter must allow.
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, prelude::*, BufReader, SeekFrom};
use std::net::TcpListener;
use std::os::unix::fs::{symlink, FileExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

fn files() -> io::Result<()> {
    let place = Path::new("/tmp/typical");
    fs::create_dir_all(place.join("x/y/z"))?;
    let path = place.join("a");
    fs::write(&path, vec![b'x'; 100_000])?;
    let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
    file.seek(SeekFrom::Start(10))?;
    file.write_all_at(b"x", 3)?;
    file.read_exact_at(&mut [0; 10], 0)?;
    file.sync_all()?;
    file.sync_data()?;
    file.set_len(4096)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.try_clone()?;
    file.set_times(fs::FileTimes::new())?;
    fs::copy(&path, place.join("b"))?;
    io::copy(&mut file, &mut File::create(place.join("c"))?)?;
    fs::hard_link(&path, place.join("link"))?;
    symlink(&path, place.join("symbolic"))?;
    fs::read_link(place.join("symbolic"))?;
    fs::canonicalize(place.join("symbolic"))?;
    fs::rename(place.join("link"), place.join("renamed"))?;
    fs::metadata(&path)?.modified()?;
    fs::symlink_metadata(&path)?;
    assert_eq!(fs::read_dir(place)?.count(), 6);
    fs::remove_file(&path)?;
    fs::remove_dir_all(place)
}

fn threads() {
    let (sender, receiver) = mpsc::channel();
    let barrier = Arc::new(Barrier::new(3));
    let workers: Vec<_> = (0..3)
        .map(|n| {
            let (sender, barrier) = (sender.clone(), barrier.clone());
            thread::Builder::new()
                .name(format!("worker {n}"))
                .stack_size(1 << 20)
                .spawn(move || {
                    barrier.wait();
                    sender.send(n).unwrap();
                })
                .unwrap()
        })
        .collect();
    drop(sender);
    assert_eq!(receiver.iter().sum::<i32>(), 3);
    for worker in workers {
        worker.join().unwrap();
    }
    let shared = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new(0)));
    thread::scope(|scope| {
        scope.spawn(|| {
            *shared.0.lock().unwrap() += 1;
            shared.1.notify_all();
            *shared.2.write().unwrap() += 1;
        });
    });
    let guard = shared.0.lock().unwrap();
    let _ = shared.1.wait_timeout(guard, Duration::from_millis(1)).unwrap();
    let began = Instant::now();
    thread::sleep(Duration::from_millis(2));
    thread::yield_now();
    thread::park_timeout(Duration::from_millis(1));
    assert!(began.elapsed() >= Duration::from_millis(2));
    assert!(thread::available_parallelism().is_ok());
    assert!(thread::spawn(|| panic!("caught")).join().is_err());
}

fn processes() -> io::Result<()> {
    let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    cat.stdin.take().unwrap().write_all(b"x")?;
    assert_eq!(cat.wait_with_output()?.stdout, b"x");
    let mut slept = Command::new("sleep").arg("10").env_clear().current_dir("/tmp").spawn()?;
    assert!(slept.try_wait()?.is_none());
    slept.kill()?;
    slept.wait()?;
    assert!(Command::new("/nowhere").spawn().is_err());
    Ok(())
}

fn sockets() -> io::Result<()> {
    let listener = UnixListener::bind("/tmp/socket")?;
    let server = thread::spawn(move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut copy = stream.try_clone()?;
        io::copy(&mut copy, &mut stream)?;
        Ok(())
    });
    let mut client = UnixStream::connect("/tmp/socket")?;
    client.set_read_timeout(Some(Duration::from_secs(5)))?;
    client.write_all(b"hello\n")?;
    let mut line = String::new();
    BufReader::new(client.try_clone()?).read_line(&mut line)?;
    assert_eq!(line, "hello\n");
    client.shutdown(std::net::Shutdown::Write)?;
    io::copy(&mut client, &mut File::create("/tmp/received")?)?;
    server.join().unwrap()?;
    let (a, b) = UnixDatagram::pair()?;
    a.set_nonblocking(true)?;
    b.send(b"x")?;
    a.recv(&mut [0; 1])?;
    let (mut reader, mut writer) = UnixStream::pair()?;
    writer.write_all(b"x")?;
    reader.read_exact(&mut [0; 1])?;
    let _ = TcpListener::bind("127.0.0.1:0"); // a box has no network
    Ok(())
}

fn main() -> io::Result<()> {
    files()?;
    threads();
    processes()?;
    sockets()?;
    let map: HashMap<_, _> = std::env::vars().collect();
    io::stdin().read_to_string(&mut String::new())?;
    println!("ok {}", map.len() > 1);
    Ok(())
}
