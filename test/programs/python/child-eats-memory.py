import os

child = os.fork()
if child == 0:
    hoard = []
    while True:
        hoard.append(b"x" * 1_000_000)
_, status = os.waitpid(child, 0)
raise SystemExit(0 if os.WIFSIGNALED(status) else 1)
