"""Typical use of the standard library, which the system call filter must allow."""
import asyncio, concurrent.futures, contextlib, ctypes, fcntl, glob, mmap, multiprocessing, os, pathlib, queue, random
import select, selectors, shutil, signal, socket, sqlite3, subprocess, tempfile, threading, time


def square(n):
    return n * n


def fill(q):
    for n in range(3):
        q.put(n)


def databases():
    for path in (":memory:", "/box/some.db"):
        with contextlib.closing(sqlite3.connect(path)) as db:
            if path != ":memory:":
                assert db.execute("pragma journal_mode=wal").fetchone() == ("wal",)
            with db:
                db.execute("create table t (n integer primary key, s text)")
                db.executemany("insert into t (s) values (?)", [(str(n),) for n in range(100)])
            assert db.execute("select count(*) from t").fetchone() == (100,)
    with contextlib.closing(sqlite3.connect("/box/other.db")) as db, db:
        db.execute("create table t (n)")


def files():
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place, "a")
        path.write_text("text\n" * 1000)
        with open(path, "r+b") as file:
            with mmap.mmap(file.fileno(), 0) as mapped:
                mapped[0:4] = b"TEXT"
                mapped.flush()
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.posix_fallocate(file.fileno(), 0, 8192)
            file.truncate(4096)
            os.fsync(file.fileno())
            os.fdatasync(file.fileno())
            os.pwrite(file.fileno(), b"x", 10)
            os.pread(file.fileno(), 1, 10)
            os.writev(file.fileno(), [b"a", b"b"])
            os.fchmod(file.fileno(), 0o600)
        shutil.copy2(path, path.with_name("b"))
        os.link(path, f"{place}/link")
        os.symlink(path, f"{place}/symbolic")
        os.rename(f"{place}/link", f"{place}/renamed")
        os.utime(path, (1, 2))
        os.chmod(path, 0o644)
        os.readlink(f"{place}/symbolic")
        os.access(path, os.R_OK)
        os.mkfifo(f"{place}/fifo")
        os.makedirs(f"{place}/x/y/z")
        os.statvfs(place)
        assert len(glob.glob(f"{place}/**", recursive=True)) > 6
        shutil.copytree(f"{place}/x", f"{place}/copy")
        shutil.make_archive(f"{place}/packed", "zip", f"{place}/x")
        os.chdir(place)
        os.chdir("/box")
        descriptor = os.memfd_create("x")
        with contextlib.suppress(OSError):  # between file systems
            os.copy_file_range(os.open(path, os.O_RDONLY), descriptor, 100)
        os.sendfile(descriptor, os.open(path, os.O_RDONLY), 0, 100)
    os.closerange(3, 20)


def processes():
    assert subprocess.run(["sh", "-c", "cat; ls / | sort | wc -l >&2"], input=b"x", capture_output=True).stdout == b"x"
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as cat:
        assert cat.communicate(b"more")[0] == b"more"
    with multiprocessing.Pool(2) as pool:
        assert pool.map(square, range(10))[9] == 81
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert sum(pool.map(square, range(4))) == 14
    q = multiprocessing.Queue()
    child = multiprocessing.Process(target=fill, args=(q,))
    child.start()
    assert [q.get() for _ in range(3)] == [0, 1, 2]
    child.join()
    shared = multiprocessing.Value("i", 1)
    with shared.get_lock():
        shared.value += 1
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.nice(1)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1])


def threads():
    q, seen = queue.Queue(), []
    workers = [threading.Thread(target=lambda: seen.append(q.get(timeout=5)), name=f"worker {n}") for n in range(3)]
    for worker in workers:
        worker.start()
    for n in range(3):
        q.put(n)
    for worker in workers:
        worker.join()
    assert sorted(seen) == [0, 1, 2]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert list(pool.map(square, range(3))) == [0, 1, 4]
    timer = threading.Timer(0.01, seen.clear)
    timer.start()
    timer.join()


def signals():
    got = []
    signal.signal(signal.SIGALRM, lambda *_: got.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    signal.alarm(1)
    signal.alarm(0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os.kill(os.getpid(), signal.SIGUSR1)
    assert signal.sigwait([signal.SIGUSR1]) == signal.SIGUSR1
    os.kill(os.getpid(), signal.SIGUSR1)
    assert signal.sigtimedwait([signal.SIGUSR1], 1).si_signo == signal.SIGUSR1
    assert got


async def asynchronous():
    async def serve(reader, writer):
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    async with await asyncio.start_unix_server(serve, "/tmp/socket"):
        reader, writer = await asyncio.open_unix_connection("/tmp/socket")
        writer.write(b"hello\n")
        assert await reader.readline() == b"hello\n"
        writer.close()
    process = await asyncio.create_subprocess_exec("echo", "x", stdout=asyncio.subprocess.PIPE)
    assert (await process.communicate())[0] == b"x\n"
    assert await asyncio.gather(*(asyncio.sleep(0.01, n) for n in range(3))) == [0, 1, 2]
    assert await asyncio.to_thread(square, 3) == 9


def waiting():
    a, b = socket.socketpair()
    a.settimeout(1)
    a.sendall(b"x" * 100)
    assert select.select([b], [], [], 1)[0] and b.recv(10)
    poll = select.poll()
    poll.register(b, select.POLLIN)
    assert poll.poll(100)
    with selectors.DefaultSelector() as selector:
        selector.register(b, selectors.EVENT_READ)
        assert selector.select(1)
    socket.send_fds(a, [b"x"], [0])
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    a.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
    a.getpeername(), a.getsockname()
    a.shutdown(socket.SHUT_WR)
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        c, d = socket.socketpair(socket.AF_UNIX, kind)
        c.send(b"x"), d.recvfrom(1)
    try:
        socket.create_connection(("127.0.0.1", 80))
    except OSError:
        pass
    os.eventfd_read(os.eventfd(1))
    master, slave = os.pipe()
    os.set_blocking(master, False)
    os.get_inheritable(slave)


def machine():
    os.cpu_count(), os.sched_getaffinity(0), os.getloadavg(), os.uname(), os.getrandom(8), os.times(), random.random()
    os.umask(0o022), os.getgroups(), os.getpriority(os.PRIO_PROCESS, 0), os.getsid(0)
    os.sched_yield(), os.isatty(0), os.getresuid(), os.ctermid()
    time.sleep(0.01), time.clock_getres(time.CLOCK_MONOTONIC), time.process_time(), time.thread_time()
    import platform, resource
    platform.platform(), resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_STACK, resource.getrlimit(resource.RLIMIT_STACK))
    ctypes.CDLL(None).getpid()


if __name__ == "__main__":
    for part in (databases, files, processes, threads, signals, waiting, machine):
        part()
    asyncio.run(asynchronous())
    print("ok")
