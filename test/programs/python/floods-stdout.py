import sys

line = b"x" * 1023 + b"\n"
for _ in range(50 * 1024):
    sys.stdout.buffer.write(line)
