import os

os.kill(os.getpid(), int(input()))
