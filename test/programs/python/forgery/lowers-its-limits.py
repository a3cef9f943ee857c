"""Tries to set smaller file and CPU limits for itself, then exceeds the first. Neither may affect the verdict."""
import resource
import sys

for what in resource.RLIMIT_FSIZE, resource.RLIMIT_CPU:
    try:
        resource.setrlimit(what, (1, 1))
        print("lowered")
    except (ValueError, PermissionError):
        print("refused")
try:
    with open("file", "wb") as file:
        file.write(b"abc")
except OSError:
    print("too big")
sys.exit(1)
