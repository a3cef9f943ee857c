"""A line for each random number, from each source: in the program, its threads, children, grandchildren and copies."""
import ctypes
import multiprocessing
import os
import random
import secrets
import ssl
import subprocess
import sys
import tempfile
import threading
import uuid
from concurrent.futures import ProcessPoolExecutor

libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_void_p


def filled(function, *more):
    buffer = ctypes.create_string_buffer(8)
    function(buffer, ctypes.c_size_t(8), *more)
    return buffer.raw.hex()


def read_urandom():
    with open("/dev/urandom", "rb") as file:
        return file.read(8).hex()


SOURCES = {
    "urandom": lambda: os.urandom(8).hex(),
    "getrandom": lambda: os.getrandom(8).hex(),
    "device": read_urandom,
    "libc getrandom": lambda: filled(libc.getrandom, 0),
    "libc getentropy": lambda: filled(libc.getentropy),
    "libc arc4random": lambda: filled(libc.arc4random_buf),
    "random": random.random,
    "Random": lambda: random.Random().random(),
    "SystemRandom": lambda: random.SystemRandom().random(),
    "secrets": lambda: secrets.token_hex(8),
    "uuid4": uuid.uuid4,
    "uuid1": uuid.uuid1,
    "OpenSSL": lambda: ssl.RAND_bytes(8).hex(),
    "temporary": lambda: os.path.basename(tempfile.mktemp()),
}


def drawn(who):
    return "".join(f"{who} {name}\t{draw()}\n" for name, draw in SOURCES.items())


def show(who):
    sys.stdout.write(drawn(who))
    sys.stdout.flush()


def beget(who, *others):
    pid = os.fork()
    if pid == 0:
        show(who)
        if others:
            beget(*others)
        os._exit(0)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    if sys.stdin.read() == "copy":
        show("copy")
        sys.exit()
    show("program")
    print("kernel's bytes\t" + ctypes.string_at(libc.getauxval(25), 16).hex(), flush=True)
    for number in range(3):
        beget(f"child {number}", f"grandchild {number}")
    for number in range(2):
        thread = threading.Thread(target=show, args=[f"thread {number}"])
        thread.start()
        thread.join()
    thread = threading.Thread(target=beget, args=["child of a thread"])
    thread.start()
    thread.join()
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(*pool.map(drawn, [f"{method} {number}" for number in range(4)], chunksize=1), sep="", end="", flush=True)
    with ProcessPoolExecutor(2) as pool:
        print(*pool.map(drawn, [f"executor {number}" for number in range(4)]), sep="", end="", flush=True)
    # The same command continues from the same state.
    with open("input", "w+") as file:
        file.write("copy")
        file.flush()
        for number in range(2):
            file.seek(0)
            print(subprocess.run([sys.executable, "main.py"], stdin=file, capture_output=True, text=True, check=True).stdout, end="", flush=True)
    # After all the others have drawn.
    show("program again")
