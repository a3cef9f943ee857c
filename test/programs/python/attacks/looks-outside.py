# Reads a path and a port. Prints whether it can read the file, connect to the port and write to the image, and what it sees.
import os
import socket


def word(attempt, done):
    try:
        attempt()
        return done
    except OSError:
        return "cannot"


path, port = input(), int(input())
print("file:", word(lambda: open(path).read(), "read"))
print("tcp:", word(lambda: socket.create_connection(("127.0.0.1", port)), "connected"))
print("image:", word(lambda: open("/usr/attack", "w"), "written"))
print("processes:", sum(name[0].isdigit() for name in os.listdir("/proc")))
print("environment:", *os.environ)
